"""What stands in a secret's place and is none: types, nothing, labels, messages, references, names of things.

The lists are data, and the only home of such words. A rule that is certain that a value stands here (a string
given to a password's name, a line of configuration, an option) asks `is_given`: anything but these.
"""

from __future__ import annotations

import re
from functools import lru_cache

from recollect.redact.plausible import is_filler, without_filler

GIVEN_LEAST = 5  # shorter words are read as labels, flags and names


@lru_cache(4096)
def is_given(value: str) -> bool:
    """Whether a value that stands where a password is given can be one, of whatever it is made."""
    if len(value) < GIVEN_LEAST or not _LETTER.search(value) or _REFERENCE.search(value):
        return False
    if _STAND_IN.search(value) or not _ASCII.search(value):
        return False
    parts = _parts(value)
    if is_filler(value) and all(len(without_filler(part)) < _OWN_LETTERS for part in parts):
        return False
    if any(part in NAMES for part in parts) or all(part in WORDS or part.isdigit() for part in parts):
        return False
    return not _BLANK.search(value) or is_phrase(value)


def is_phrase(value: str) -> bool:
    """Whether words with blanks between are a passphrase: few, and none that a message or a label is made of."""
    words = value.split()
    if not 2 <= len(words) <= 8 or not _PHRASE.fullmatch(value) or value[-1] in ".:":
        return False
    return not any(word.lower().strip("'-.!?") in MESSAGES for word in words)


def is_told(value: str) -> bool:
    """Whether a word of a sentence can be a password: joined from words or numbered, and no adjective."""
    if not is_given(value) or not _JOINED.search(value):
        return False
    return not any(part in ADJECTIVES or part.endswith(_ADJECTIVE_ENDS) for part in _parts(value))


def is_reference(value: str) -> bool:
    """Whether a value refers to another one: a variable, a call, a member of something."""
    return bool(_REFERENCE.search(value) or _MEMBER.fullmatch(value))


def _parts(value: str) -> list[str]:
    """The words that a value is made of, in small letters: at signs, digits and capitals a new one begins."""
    return [part.lower() for part in _PART.findall(value)]


_OWN_LETTERS = 4  # a word has a meaning of its own if so many letters are left of it: `rootbeer`
_LETTER = re.compile(r"[^\W\d_]")
_ASCII = re.compile(r"[A-Za-z0-9]")  # a label in another script has none
_STAND_IN = re.compile(
    r"change.?(?:me|this|it)|replace|example|placeholder|dummy|todo|xxxx|asdf|your[_.-]|password|passwd|passwort"
    r"|passphrase|pa?sword|pswd|secret(?!a)|(?:pass|pwd)$|^(?:pass|pwd|my|the|new|old)?pass(?=[A-Z_0-9-])",
    re.IGNORECASE,
)
_BLANK = re.compile(r"\s")
_PART = re.compile(r"[^\W\d_]?[^\W\d_A-Z]+|[A-Z]+|[0-9]+")
_PHRASE = re.compile(r"[\w!?*.'#-]{1,24}(?: [\w!?*.'#-]{1,24}){1,7}")
_JOINED = re.compile(r"[^\W_][\d_@#!$%^&+=~-]+[^\W_]|[^\W\d_][\d!#$%^&*+=~]+\Z")
_REFERENCE = re.compile(
    r"\$[\w{(]|^--?[a-z]|^[$%@&*<>{(\[.,:;|!#/\\~]|\{\{|\}\}|\{%|%[sdvq]|^%\w*%?$|\(\)|[(\[]$|::|->|=>|==|://|[<>]"
    r"|\.\.\.|…|\*\*\*|•|\?$|:$|\)$|^[A-Z][A-Z0-9]*_[A-Z0-9_]*$|^[^\s@]+@[^\s@]+\.[a-z]+$|^ENC\[|^\w:\\|\.(?:com|org|net|io|py|js|ts|go|rs|json|ya?ml|toml|txt|pem|key|crt|env|md|sh|html|php|java|local|internal)(?::[0-9]+)?$"
    r"|^[\w.-]*/[\w./-]*$|^[0-9a-f]{7,40}$|^[0-9.,:]+$|^\w+\[|^(?:[a-z]+ )?from\b"
)
_MEMBER = re.compile(r"[A-Za-z_]\w*(?:(?:\.|->|::)[A-Za-z_]\w*)+")

# -- the lists --------------------------------------------------------------------------------------

# A value that has one of these among its words is the name of something.
NAMES = frozenset(
    ["pass", "passe", "passwd", "password", "passwords", "passphrase", "passwort", "pwd", "pw", "secret", "secrets", "token", "tokens", "credential", "credentials", "creds", "cred", "kennwort", "contrasena", "contraseña", "senha", "wachtwoord", "username", "config", "configuration", "settings", "getenv", "environ", "env", "param", "params", "arg", "args", "argv", "kwargs", "validator", "validators", "hashed", "encrypted", "decrypted", "regex", "schema", "varchar", "nullable", "required", "optional", "undefined", "null", "nil", "redacted", "masked", "generated"]
)

# A value that has nothing but these is a type, a word for nothing, a label, a state, a name that all use.
WORDS = frozenset(
    ["string", "str", "text", "bytes", "byte", "bool", "boolean", "int", "integer", "number", "float", "char", "object", "any", "none", "true", "false", "void", "unknown", "type", "types", "option", "optional", "required", "nullable", "default", "value", "values", "empty", "blank", "missing", "unset", "none", "null", "nil", "undefined", "never", "always", "yes", "no", "on", "off", "enabled", "disabled", "enable", "disable", "active", "inactive", "set", "reset", "forgot", "forgotten", "change", "changed", "update", "updated", "confirm", "confirmed", "confirmation", "new", "old", "current", "invalid", "valid", "incorrect", "correct", "wrong", "right", "bad", "good", "weak", "strong", "short", "long", "minimum", "maximum", "length", "mismatch", "match", "matches", "expired", "failed", "failure", "failing", "error", "errors", "ok", "success", "denied", "accepted", "rejected", "example", "sample", "dummy", "fake", "mock", "test", "tests", "testing", "demo", "placeholder", "todo", "tbd", "fixme", "changeme", "change", "me", "here", "your", "my", "our", "the", "this", "that", "some", "a", "an", "one", "it", "of", "for", "to", "in", "and", "or", "not", "with", "user", "users", "name", "names", "username", "email", "mail", "login", "logout", "account", "accounts", "admin", "administrator", "root", "guest", "postgres", "postgresql", "mysql", "mariadb", "redis", "mongo", "mongodb", "rabbitmq", "sqlite", "oracle", "elastic", "grafana", "docker", "host", "hostname", "port", "url", "uri", "path", "file", "files", "folder", "key", "keys", "id", "ids", "data", "form", "label", "title", "message", "description", "info", "details", "help", "hint", "show", "hide", "toggle", "visible", "hidden", "plain", "plaintext", "clear", "cleartext", "raw", "encrypted", "hashed", "hash", "bcrypt", "scrypt", "argon", "argon2", "sha", "md", "base", "utf", "pbkdf", "sha256", "sha512", "md5", "base64", "auth", "authentication", "authorization", "oauth", "basic", "bearer", "digest", "kerberos", "ldap", "saml", "sso", "mfa", "otp", "totp", "pin", "code", "manual", "auto", "automatic", "interactive", "stdin", "stdout", "keyring", "keychain", "vault", "kms", "ssm", "file", "env", "prompt", "include", "omit", "same", "origin", "inherit", "read", "write", "readonly", "only", "internal", "external", "public", "private", "local", "remote", "global", "static", "final", "const", "let", "var", "def", "function", "func", "class", "self", "this", "super", "return", "await", "async", "new", "secure", "insecure", "protected", "unprotected", "sensitive", "security", "policy", "strength", "strict", "lax", "loading", "saving", "saved", "submit", "continue", "cancel", "next", "back", "skip", "done", "ready", "pending", "options", "flag", "flags", "argument", "arguments", "parameter", "parameters", "switch", "instead", "define", "field", "fields", "entry", "input", "see", "above", "below", "n", "a", "na", "tbc", "xxx", "xxxx", "abc", "foo", "bar", "baz", "qux", "quux", "lorem", "ipsum"]
)

# Words of messages and labels: what has one of them is no passphrase.
MESSAGES = frozenset(
    ["must", "is", "are", "was", "were", "be", "been", "being", "should", "shall", "will", "would", "can", "cannot", "could", "may", "might", "do", "does", "did", "doesn't", "don't", "didn't", "isn't", "can't", "won't", "not", "no", "required", "requires", "require", "invalid", "incorrect", "wrong", "please", "enter", "type", "your", "you", "you're", "its", "our", "their", "to", "too", "at", "least", "most", "than", "characters", "character", "chars", "letters", "digits", "long", "short", "match", "matches", "matched", "forgot", "reset", "change", "set", "show", "hide", "confirm", "repeat", "again", "again:", "minimum", "maximum", "contain", "contains", "containing", "include", "includes", "use", "using", "used", "via", "for", "from", "with", "without", "if", "when", "or", "new", "old", "password", "passwords", "passphrase", "secret", "token", "key", "username", "user", "email", "login", "account", "sign", "log", "field", "value", "optional", "empty", "blank", "missing", "failed", "error", "expired", "updated", "saved", "protected", "encrypted", "hashed", "here", "example", "placeholder", "click", "press", "only", "has", "have"]
)

# What a sentence says of a password.
ADJECTIVES = frozenset(
    ["only", "read", "write", "well", "self", "auto", "pre", "post", "non", "re", "un", "case", "sensitive", "insensitive", "plain", "text", "clear", "one", "time", "two", "factor", "long", "short", "term", "base64", "base", "sha", "md5", "utf", "hex", "up", "down", "out", "in", "off", "on", "by", "end", "to", "be", "is", "per", "user", "side", "client", "server", "key", "value", "high", "low", "free", "safe", "proof", "like", "based", "level", "wide", "ready", "only", "specific", "friendly"]
)
_ADJECTIVE_ENDS = ("ed", "able", "ible", "less", "ing", "ful", "ive")
