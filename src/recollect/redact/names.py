"""Names of secrets: which word makes `DB_PASSWORD` one, of what kind, and how far its value is believed.

A token must look random. A password may be anything but a non-value where it is certain that one is given
(`SURE`), must look like a word that somebody chose where it is likely, and like no name where code gives it.
"""

from __future__ import annotations

import re
from functools import lru_cache

from recollect.redact.nonvalues import is_given, is_nonvalue, is_phrase, is_told
from recollect.redact.plausible import is_password, is_random, is_worded

STEM_CHARS = 40  # how much of a name is read before the word that matters

# The forms in which a value is certain: in an environment, as an option, in a list of settings, as one of
# several pairs, as a string, in JSON, by a statement that sets a password.
SURE = frozenset({"env", "option", "listed", "pair", "string", "assigned", "element", "key", "set"})

WORD = re.compile(
    r"(?:pass(?:w(?:or)?[dt]|phrase|[ ]phrase|code|e)?|pwd?|secret|token|key|credentials?"
    r"|_pat|_auth|_salt|_psk)"
    r"(?:[_-]?(?:key|base|value|val|base64|b64|data|string|str|raw|plain|text|prod(?:uction)?|stag(?:e|ing)|dev"
    r"|live|test|main|old|new|private|[0-9]{1,3})){0,2}"
    r"(?:s(?=[\"']?\s?[:=]\s?(?:[\[{]|\r?\n\s{1,20}- )))?(?![A-Za-z0-9_])",  # several, in a list
    re.IGNORECASE,
)
# Words that are told from a part of another one by what stands before them.
SHORT = re.compile(r"_(?:pat|auth|salt|psk)(?![a-z0-9])")

KINDS = (
    ("pa", "password"),
    ("pw", "password"),
    ("_pat", "token"),
    ("_p", "password"),
    ("secret", "secret"),
    ("_salt", "secret"),
    ("token", "token"),
    ("_", "token"),
    ("key", "key"),
    ("cred", "credential"),
)


@lru_cache(4096)
def split(name: str) -> tuple[str, str]:
    """A name as what comes before the word that matters, and that word; "" if there is none."""
    for word in WORD.finditer(name):
        if word.end() == len(name):
            return name[: word.start()], word[0]
    return name, ""


def kind_of(stem: str, word: str) -> str:
    kind = next(kind for start, kind in KINDS if word.lower().startswith(start))
    return "aws-secret" if kind in ("secret", "key") and "aws" in stem.lower() else kind


def is_believed(stem: str, word: str, value: str, form: str) -> bool:
    """Whether this is a secret's name, and its value can be one in the form that gives it."""
    low = word.lower()
    if value.lower() in (stem + low).lower():
        return False
    kind = kind_of("", word)
    if kind == "key" and not _is_key_name(stem, value, form):
        return False
    if kind == "token" and not low.startswith("_pat") and _NOT_TOKENS.search(stem):
        return False
    if kind == "password" or (kind == "credential" and _LOGINS.search(stem)):
        return _is_password_name(stem, word, form) and _is_password_given(stem, low, value, form)
    if low.startswith("secret"):
        return _is_secret_given(stem, low, value, form)
    if form == "header" and is_told(value):
        return True
    return is_random(value) or (kind == "key" and form in SURE and _is_strong(value))


# -- keys, tokens, secrets --------------------------------------------------------------------------

_KEYS = re.compile(
    r"(?:api|app(?:lication)?|access|secret|private|auth|account|encrypt(?:ion)?|sign(?:ing|ature)?|master|service"
    r"|admin|client|deploy|consumer|shared|webhook|subscription|license|insert|ingest"
    r"|instrumentation|validation|decryption|hmac|jwt|ssh|aes)[_.\- ]?$",
    re.IGNORECASE,
)
_NOT_KEYS = re.compile(
    r"(?:public|pub|primary|foreign|partition|sort|cache|group|index|unique|idempotency|hash|row|column|object|bucket"
    r"|map|storage|config|host|known|registry|h|hot|press|site|anon|publishable|query|route|lookup|dedup|message)[_-]$",
    re.IGNORECASE,
)
_NOT_TOKENS = re.compile(
    r"(?:page|next|prev(?:ious)?|continu(?:e|ation)|cancel(?:lation)?|sync|resume|cursor|stop|special|pad|eos|bos|unk"
    r"|mask|max|min|num|image|public[_-]?key|jsonweb)[_.\- ]?$",
    re.IGNORECASE,
)
# What a secret is for, where it is nothing but a string: a session's, a signature's.
_TELLING = re.compile(
    r"(?:jwt|session|cookie|api|app|client|sign(?:ing|ature)?|hmac|webhook|hook|shared|encrypt(?:ion)?|auth|csrf|access"
    r"|refresh|consumer|oauth2?|master|token|state|crypto?|hash|totp|otp|mfa)[_.-]?$",
    re.IGNORECASE,
)
_LOGINS = re.compile(r"(?:bind|login|basic|proxy|admin|root|db|service)[_.-]?$", re.IGNORECASE)


def _is_key_name(stem: str, value: str, form: str) -> bool:
    if _KEYS.search(stem):
        return True
    if "." in value:  # the name of a setting
        return False
    telling = (
        form in ("env", "option", "header")
        or stem[:2] in ("X-", "x-", "--")
        or (stem[-1:] == "_" and stem.isupper())
    )
    return telling and not _NOT_KEYS.search(stem)


def _is_secret_given(stem: str, word: str, value: str, form: str) -> bool:
    if stem == "--" and value.startswith("id="):  # where a build finds it
        return False
    if is_random(value) or (form != "code" and _is_made_up(value, form)):
        return True
    if form == "env" and is_worded(value) and not value.isalnum():
        return True
    if form not in SURE or not is_given(value):
        return False
    if _TELLING.search(stem) or (stem == "--" and form in ("option", "string")) or word.endswith("key"):
        return True
    if form == "listed" and not stem and value.isalpha():  # what refers to a secret has more than letters
        return True
    return not stem and form in ("string", "assigned") and is_phrase(value)


def _is_strong(value: str) -> bool:
    """Whether a value is drawn from all signs of a keyboard, as salts are."""
    signs = {each for each in value if not each.isalnum()}
    classes = (str.islower, str.isupper, str.isdigit)
    return (
        20 <= len(value) <= 200
        and len(signs) >= 6
        and not signs & set(" \n/")
        and all(any(map(each, value)) for each in classes)
        and not _BUILT.search(value)
    )


_BUILT = re.compile(r"\{\w|\(\?|\[[a-zA-Z0-9]-|\\|cdefgh|CDEFGH|://")


def _is_made_up(value: str, form: str) -> bool:
    signs = _DIGIT if form in ("prose", "quoted") else _SIGN
    return len(value) >= 8 and signs.search(value) is not None and is_password(value)


_DIGIT = re.compile(r"[0-9]")
_SIGN = re.compile(r"[0-9!#%^+~?$&=|]")


# -- passwords ----------------------------------------------------------------------------------------


def _is_password_name(stem: str, word: str, form: str) -> bool:
    """Whether `pass` or `pw` is the last word of a name (`smtpPass`) or all of it: no `bypass`."""
    if not _VERDICT.match(word):
        return True
    if stem.lower().lstrip("-") in ("require", "root", "bind"):
        return True
    if form == "quoted":  # a call, or a list
        return False
    if stem.strip("-"):
        return stem[-1] in "_-." or (stem[-1].islower() and word[0] == "P") or stem in _GLUED
    if form in ("config", "listed", "pair", "set", "element", "assigned"):
        return True
    return form in (("option", "string") if stem else ("key",)) or word.lower() == "pw"


_VERDICT = re.compile(r"pass(?!w|phrase|[ ]phrase|code|e)|pw(?!d)", re.IGNORECASE)
_GLUED = frozenset({"root", "bind", "ssh", "db", "user", "smtp", "ROOT", "SSH", "DB", "PG"})
# Names of messages, labels and switches, and of what is no password any more.
_MESSAGES = re.compile(
    r"(?:forg[eo]t|reset|change|confirm|show|hide|enter|invalid|wrong|incorrect|missing|no|bad|weak|update|requires?"
    r"|toggle|has|is|use|generate|validate|check|verify|hash(?:ed)?|encrypted|encoded|lost|set|ask|prompt|type|with)"
    r"[_.\- ]?$",
    re.IGNORECASE,
)


def _is_password_given(stem: str, word: str, value: str, form: str) -> bool:
    alone = not stem.strip("-") and word in ("pass", "pwd")
    if is_nonvalue(value) or (alone and form == "set"):  # set pass `x=1`
        return False
    if _is_certain(stem, word, form, alone) and is_given(value):
        return True
    if is_worded(value) and (not alone or form in ("config", "key")) and _is_likely(value, form):
        return True
    if not alone and (is_told(value) if form == "prose" else form == "told" and is_given(value)):
        return True
    return is_password(value) and (form != "code" or is_random(value) or not _IDENTIFIER.fullmatch(value))


def _is_certain(stem: str, word: str, form: str, alone: bool) -> bool:
    if form not in SURE or word.startswith("_") or (alone and form not in _ALONE[word]):
        return False
    return form == "set" or word == "pass" or not _MESSAGES.search(stem)


def _is_likely(value: str, form: str) -> bool:
    """Whether a worded value is believed in a form that gives no more than likely a password."""
    if form in ("key", "string", "assigned"):
        return any(map(str.isdigit, value)) or (len(value) >= 10 and value.islower())
    return form in ("env", "option", "config") or (form == "code" and bool(_NUMBERED.fullmatch(value)))


# Of `pass` and `pwd` alone: the first is a verb, the second a folder.
_ALONE = {
    "pass": frozenset({"option", "listed", "pair", "element", "assigned"}),
    "pwd": frozenset({"pair", "assigned"}),
}
_NUMBERED = re.compile(r"[A-Za-z]{4,}[0-9]{2,6}[A-Za-z]?")  # as hardly any name in a program is
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z_0-9]*(?:(?:\.|->|::)[A-Za-z_][A-Za-z_0-9]*)*")
