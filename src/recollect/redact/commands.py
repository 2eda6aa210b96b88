"""Secrets on command lines: what an option of a known command takes, what is piped into one.

Which option takes a password depends on the command: `docker login -p` does, `docker run -p` takes ports. So
the option is found first, and then its command looked for in the line before it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from recollect.redact.nonvalues import is_given
from recollect.redact.plausible import decoded, is_filler, is_password, is_random
from recollect.redact.tokens import Span

GATES = ("echo ", "login")


def command_spans(text: str, present: tuple[str, ...]) -> Iterator[Span]:
    """Every secret that a command is given; `present` says which of the gates are in the text."""
    if " -" in text:
        yield from _option_spans(text, _OPTION)
    if len(text) < _LIST_CHARS:
        for mark, option in _QUOTED_OPTIONS:
            if mark in text:
                yield from _option_spans(text, option)
    if "echo " in present:
        yield from _piped_spans(text, _ECHO)
    if ("pass" in present or "secret" in present) and "printf " in text:
        yield from _piped_spans(text, _PRINTF)
    if ("pass" in present or "secret" in present or "key" in present) and "<<<" in text:
        yield from _here_spans(text)
    if "\\" in text and "net use" in text:
        yield from ((*match.span("secret"), "password") for match in _SHARE.finditer(text) if _is_word(match))
    if "login" in present:
        yield from (
            (*match.span("secret"), "token") for match in _AFTER.finditer(text) if is_random(match["secret"])
        )


def _option_spans(text: str, option: re.Pattern[str]) -> Iterator[Span]:
    for match in option.finditer(text):
        name, at = match["name"], match.end()
        line = text[max(0, match.start() - LINE_CHARS) : match.start()]
        line = line[_line_start(line) :]
        quote = match["quote"]
        if quote:
            line = _NEXT_WORD.sub(" ", line)
        for command, value in OPTIONS[name]:
            if command.search(line) and (found := value.match(text, at)) and _is_taken(name, found["secret"]):
                start, end = found.span("secret")
                yield start, _word_end(text, end, quote) if start == at else end, "password"
                break
        if name == "AsPlainText" and (found := _SECURE.search(line)) and _is_real(found["secret"]):
            start = match.start() - len(line) + found.start("secret")
            yield start, start + len(found["secret"]), "password"


def _word_end(text: str, end: int, quote: str) -> int:
    """Where a word in quotes ends that an option and its value are: '-pcorrect horse'."""
    closing = text.find(quote, end, end + LINE_CHARS) if quote else end
    return closing if closing >= 0 and "\n" not in text[end:closing] else end


LINE_CHARS = 300

_END = r"(?=[\s\"'`\\]|\Z)"
_BODY = r"[^\s\"'`\\<>|]"


def _value(before: str, body: str = rf"{_BODY}{{4,200}}") -> re.Pattern[str]:
    """A value, in quotes or bare, after what stands before it."""
    return re.compile(
        rf"{before}(?:\\{{0,3}}\"(?P<double>)|'(?P<single>))?(?P<secret>(?(double)[^\"\\\n]{{4,200}}"
        rf"|(?(single)[^'\n]{{4,200}}|{body})))"
    )


_NEXT = r"(?:[ =]{1,4}|[\"'],[ ]?(?=[\"']))"  # also in a list of strings
_PLAIN = _value(_NEXT)
_GLUED = _value("", r"[^\s\"'`\\<>|=-][^\s\"'`\\<>|]{3,200}")
_EITHER = _value(r"(?:[\"'],[ ]?(?=[\"'])|[ =]{0,4})", r"[^\s\"'`\\<>|=-][^\s\"'`\\<>|]{3,200}")
_LOGIN = _value(r"[ =]{0,4}['\"]?[^\s:\"'@/$%]{1,64}(?:@[\w.-]{1,64})?(?:/token)?:")
_LOGIN_ALONE = _value(r"[ ]{1,4}['\"]?(?=[A-Za-z0-9]{16,80}:)", r"[A-Za-z0-9]{16,80}")
_COMMA = _value(r"[ =]{1,4}['\"]?[^\s,\"'$%]{1,64},")
_PERCENT = _value(r"[ =]{0,4}['\"]?[\w.@\\-]{1,64}%")
_TOKEN = _value(r"[ =]{1,4}", r"[A-Za-z0-9_.-]{20,200}")
_HERE = _value(r"[ ][^\n|]{0,60}<<<[ ]?")
_AFTER_USER = _value(r"[cBnm]{0,3}[ ](?:\S{1,80}[ ]){1,2}")
_PASS = _value(r"[ ]{1,4}pass:")
_LITERAL = _value(r"[ =]{1,4}['\"]?[\w.-]{1,60}=")
_COOKIE = _value(r"[ =]{1,4}['\"]?[\w.-]{1,60}=", r"[^\s\"'`\\<>|;]{12,200}")


def _command(names: str) -> re.Pattern[str]:
    return re.compile(rf"(?:^|[\s/\"'`(|;&])(?:{names})(?:\.exe)?(?=[\"']?,?(?:\s|$))")


_ANY = re.compile("")
_REGISTRY = _command(
    r"(?:docker|podman|nerdctl|buildah|skopeo|crane|oras|helm registry|az|az acr|oc|cf|ibmcloud|singularity"
    r"|regctl|npm|argocd|rancher|databricks|heroku|snow)[ ](?:[^\n|;&]{1,100}[ ])?login"
)
_MYSQL = _command(r"(?:mysql|mariadb|mycli|mysqlsh|perror|xtrabackup)[a-z-]{0,12}")

_PUT = re.compile("put-parameter .{0,200}SecureString|secrets? (?:set|put|create)")

# By option: the commands that take a secret there, and how it is written.
OPTIONS: dict[str, tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]] = {
    "p": (
        (_REGISTRY, _PLAIN),
        (_MYSQL, _GLUED),
        (_command("sshpass|7z[az]?|rar|unrar"), _EITHER),
        (
            _command(
                "mongo[a-z]{0,12}|twine|nuget|rabbitmqadmin|cypher-shell|influx|psexec|winrs|cqlsh|rdesktop|snowsql"
            ),
            _PLAIN,
        ),
    ),
    "P": ((_command("zip|unzip|sqlcmd|bcp|mosquitto_[a-z]{3}|ipmitool"), _EITHER),),
    "N": ((_command("ssh-keygen"), _PLAIN),),
    "a": (
        (_command("redis-cli|valkey-cli"), _PLAIN),
        (_command("https?|xh|xhs"), _LOGIN),
        (_command("https?|xh|xhs"), _TOKEN),
    ),
    "t": ((re.compile(r"codecov"), _TOKEN), (_command("doctl|glab|netlify|surge|vercel"), _TOKEN)),
    "S": ((_command("sudo"), _HERE),),
    "w": ((_command(r"ldap[a-z]{3,10}|security|iscsiadm"), _PLAIN),),
    "u": ((_command("lftp"), _COMMA), (_command("curl"), _LOGIN), (_command("curl"), _LOGIN_ALONE)),
    "U": ((_command("curl"), _LOGIN), (_command("smbclient|rpcclient|net|nxc|crackmapexec"), _PERCENT)),
    "b": (
        (_command("curl"), _COOKIE),
        (_command("htpasswd"), _AFTER_USER),
        (_command("gh secret set [A-Z0-9_]{1,60}"), _PLAIN),
    ),
    "k": ((_command(r"openssl enc(?:[ ][^\n]{0,100})?|nuget push[^\n]{0,100}"), _PLAIN),),
    "pw": ((_command("plink|pscp|psftp|putty|winscp"), _PLAIN),),
    "-user": ((_command("curl|wget|http"), _LOGIN),),
    "-proxy-user": ((_ANY, _LOGIN),),
    "-cert": ((_command("curl"), _LOGIN),),
    "-cookie": ((_command("curl"), _COOKIE),),
    "-pass": ((_command("curl|redis-cli|valkey-cli|rclone|borg|restic"), _PLAIN),),
    "-from-literal": ((_ANY, _LITERAL),),
    "-body": ((_command("gh secret set [A-Z0-9_]{1,60}"), _PLAIN),),
    "-value": ((_PUT, _PLAIN),),
    "AsPlainText": (),
    "-secret-string": ((_ANY, _PLAIN),),
    **dict.fromkeys(
        ("storepass", "keypass", "srcstorepass", "deststorepass", "passwd", "-storepass", "-keypass"),
        ((_ANY, _PLAIN),),
    ),
    **dict.fromkeys(("passin", "passout", "-pass-in", "pass"), ((_ANY, _PASS),)),
}
_NAMES = "|".join(re.escape(name) for name in sorted(OPTIONS, key=len, reverse=True) if len(name) > 1)
_OPTION, *_QUOTED = (
    re.compile(
        rf"{before}(?P<quote>{quote})-(?P<name>(?:{_NAMES})(?![\w-])|[pPaUubwkNtS](?=[ ='\"A-Za-z0-9]))"
    )
    for before, quote in ((" ", ""), (" ", "'"), (" ", '"'), (",", '"'))
)
# An option in quotes, as in a list of a command's words: what is long is a program's file, and no such list.
_QUOTED_OPTIONS = tuple(zip((" '-", ' "-', ',"-'), _QUOTED, strict=True))
_NEXT_WORD = re.compile(r"[\"'],[ ]?[\"']")
_LIST_CHARS = 5_000
_CUT = re.compile(r"(?<!\\)\n|\|(?!\|)|&&|;")


def _line_start(line: str) -> int:
    """Where the command begins that the line ends in: a backslash before a line end continues it."""
    at = 0
    for cut in _CUT.finditer(line):
        at = cut.end()
    return at


def _is_taken(name: str, value: str) -> bool:
    """What else an option takes at times (the host of a service, as a repository's secret) is no password."""
    return _is_real(value) and (name not in _WEAK or is_password(value) or is_given(value))


_WEAK = frozenset({"b", "t", "-body", "-value", "-secret-string"})


def _is_real(value: str) -> bool:
    return not is_filler(value) and not value.isdigit() and not value.startswith(("$", "@", "/", "./", "<"))


# -- what is piped into a command, and what comes after one --------------------------------------

_PIPED = (
    r"[\"']?(?:[\w.@-]{1,40}:(?=[^\n]{4,100}(?:chpasswd|base64)))?"
    r"(?P<secret>[^\s\"'|$<>`]{4,300})[\"']?[ ]{0,4}\|[ ]{0,4}"
    r"(?:(?P<base64>base64\b)(?P<back>[ ](?:-d|-D|--decode))?"
    r"|sudo[ ](?:-\w[ ]){0,3}-\w{0,3}S|(?:sudo[ ])?chpasswd|(?:sudo[ ])?passwd[ ]--stdin"
    r"|[^\n|]{0,120}(?:--password-stdin|--with-token)"
    r"|(?:sudo[ ])?(?:cryptsetup|kinit|smbpasswd|vncpasswd)\b|(?:docker|podman)[ ]secret[ ]create\b"
    r"|(?:vercel|netlify|wrangler|gh|fly|secret-tool|pass|kubectl|vault|supabase|npx[ ]\w{1,30})[ ]"
    r"[^\n|]{0,60}(?:secrets?|env|store|insert|auth)\b)"
)
_ECHO = re.compile(r"echo[ ](?:-[neE]{1,3}[ ]){0,2}" + _PIPED)
_PRINTF = re.compile(r"printf[ ](?:[\"']?%s(?:\\n)?[\"']?[ ])?" + _PIPED)


def _piped_spans(text: str, pattern: re.Pattern[str]) -> Iterator[Span]:
    return ((*match.span("secret"), "password") for match in pattern.finditer(text) if _is_piped(match))


def _is_piped(match: re.Match[str]) -> bool:
    """Whether what is piped is a password: in base64 anything is, unless it is a login that is read back."""
    value = match["secret"]
    if match["back"]:
        return ":" in decoded(value)
    return is_password(value) or (not match["base64"] and is_given(value))


_READERS = re.compile(
    r"(?:cryptsetup|passwd|kinit|--password-stdin|--with-token|--passphrase-fd|--key-file"
    r"|secret[ ](?:set|create|put|add))[^\n|]{0,120}$"
)
_HERE_STRING = re.compile(r"<<<[ ]?[\"']?(?:[\w.-]{1,40}:)?(?P<secret>[^\s\"'/]{5,128})(?=[\s\"']|\Z)")
_SHARE = re.compile(r"net use [^\n]{1,120}?/user:\S{1,64} (?P<secret>[^\s\"'/]{5,128})(?=\s|\Z)")


def _here_spans(text: str) -> Iterator[Span]:
    """What a command is given as a string to read."""
    at = text.find("<<<")
    while at >= 0:
        match = _HERE_STRING.match(text, at)
        if match and _READERS.search(text, max(0, at - LINE_CHARS), at) and _is_word(match):
            yield (*match.span("secret"), "password")
        at = text.find("<<<", at + 3)


def _is_word(match: re.Match[str]) -> bool:
    return _is_real(match["secret"]) and (is_given(match["secret"]) or is_password(match["secret"]))


_AFTER = re.compile(
    r"login[ ](?:-{1,2}[\w-]{1,20}[ ]|access-token[ ]){0,2}(?P<secret>[A-Za-z0-9_.!-]{20,300})(?=[\s\"'`]|\Z)"
)
_SECURE = re.compile(r"SecureString[ ](?:-String[ ])?[\"'](?P<secret>[^\"'\n]{4,100})[\"']$")
