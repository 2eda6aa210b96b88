"""How a value is given to a name, by what stands between and around both; `names` says what each is worth.

Certain are: `env` (an environment), `option` (of a command), `listed` (a line among settings), `pair` (one of
several, or all of a string), `string` (a literal; `assigned` by an equals sign), `element` (of XML), `key`
(of JSON), `set` (by a statement or a call that sets it), `header`. Less so: `config` (a line of its own),
`told` (quoted in a sentence), `quoted` (a string in a call or a list), `prose`, and `code`: that is a name.
"""

from __future__ import annotations

import re

from recollect.redact.listing import LINE_START, is_beside, is_listed

LINE_CHARS = 200  # how much of its line is looked at before a name

GIVEN = re.compile(
    r"""(?P<quoted>\]?\\{0,15}["'`]|&quot;|%22)? (?:[\])}]{1,2}|\[[0-9]{0,4}\])? \*{0,2}
    (?P<aside>[ ]\[\w{0,12}\](?=:)|[ ]\([^()\n]{1,24}\)(?=:)
      |[ ](?:for|für|pour|para|of)[ ][^\n:="']{1,60}(?=:[ ]|[ ](?:is|lautet|ist)[ ])
      |[ ]for[ ](?:\w{1,20}[ ])?['"][^'"\n]{1,80}['"](?=:)|[ ]again(?=:))?
    (?: [ \t]{0,20} (?: :[ \t]{0,2}&?(?:'\w{1,20}[ ])?[A-Za-z_][\w\[\]|.?]{0,30}+[ \t]{0,2}=(?!=)
                      | (?:As[ ])?string[ ]=(?!=) | ::(?=[ ]["']) | \?=(?!=) | <-(?=[ ]["'])
                      | ={1,3}>? | :(?![?+])[-=]? | -> | %3[AaDd] | \\u003[ad]
                      | (?P<else>\|\|=?|\?\?=?|or[ ]|\{(?=[ ]["'])) ) \*{0,2} [ \t]{0,20}
        (?: [&!][\w!]{1,20}[ \t]{1,4} | \\\r?\n[ \t]{0,20}
          | (?P<block>[|>][+-]?[0-9]?[ \t]{0,4}(?:\r?\n|\\n)[ \t]{1,20})
          | \s{1,20}string\([0-9]{1,4}\)[ ] | \r?\n[ \t]{0,20}-[ ](?=["']?[^\s"':]{1,128}["']?(?:\s|\Z))
          | (?P<held>\{\s{0,40}(?:["'](?:sensitive|type)["']:[^\n]{1,40}\n\s{0,20}){0,2}
              ["'](?:value|S|secret|plaintext)["'][ ]?:[ ]?)(?=["'])
          | (?:PASSWORD|Some|Just|(?:new[ ])?Secret\w{0,12}(?:::new|::from)?|Zeroizing::new
              |(?:new[ ])?String(?:::from|\.valueOf)?)? [(\[]? \s{0,40}+ (?=[frbuN@]?\\{0,15}["']) )?
      | (?P<filled>["'\])]{0,3}\.(?:send_?keys|fill|type|set_?value)\([ \t]{0,4}|,[ ]with:[ ])
      | (?P<beside>(?:[ ][\w:-]{1,20}="[^"\n]{0,60}"){0,4},?(?:\s|\\{1,8}n){0,40}+\\{0,15}["']?
          (?:parameter)?value\\{0,15}["']?[ \t]{0,4}[:=][ \t]{0,4})
      | (?P<argument>,?(?:\r?\n|\\n|\\0)[ \t]{0,24}(?:-[ ]|\w{0,12}\[[0-9]{1,3}\][ ]?(?:=>?|:)[ ]?)?)
      | (?P<default>,[^()\n"']{0,60}\bdefault[ ]?=[ ]?(?=["'])
          |[ ]\{\s{1,20}(?:(?:type|description|sensitive)[^\n]{0,80}\n\s{0,20}){0,3}
          default[ ]{1,20}=[ ])
      | (?P<set>[ ]FOR[ ]\S{1,60}[ ]=[ ](?:PASSWORD\()?)
      | (?P<element></key>\s{0,40}<string>|(?:[ ][\w:-]{1,20}="[^"\n]{0,60}"){0,4}>)
          (?:<!\[CDATA\[)?(?=[^\s<@])
      | (?P<comma>,[ \t]{0,4}) | (?P<call>\([ \t]{0,4})
      | (?P<told>[ \t]{1,3}(?:is|was|lautet|ist|est|es|to|from)[ \t]?:?[ \t]{1,3}
          (?:now[ ]|still[ ]|(?:re)?set[ ]to[ ]|changed[ ]to[ ])?)
      | (?P<blank>[ \t]{1,4}(?:[057][ ](?=\S{4}))?(?P<value>(?<=token[ ])(?=[A-Za-z0-9_!.-]{24}))?) )
    """,
    re.IGNORECASE | re.VERBOSE,
)
# What puts a name and its value side by side, with nothing but a blank between.
_VERB = re.compile(
    r"(?P<set>\b(?:set(?:env|x)?|ENV|ARG|config(?:ure)?[ ]set|git[ ]config)"
    r"(?:[ ]-{1,2}\w{1,12}){0,2}[ ]{1,4}"
    r"|\#define[ ]{1,8}|\((?:setq|setf|def|define|defvar|defconst|defparameter)[ ]{1,4}"
    r"|\b(?:WITH|ENCRYPTED|LOGIN|SUPERUSER|CREATEDB|wifi[ ][^\n]{1,80})[ ]"
    r"|(?<![\w:.][ ])(?-i:enable)[ ]"
    r"|\b(?:role|user|username)[ ](?!and|or|with|has)[^\s,;]{1,64}[ ](?:privilege[ ][0-9]{1,2}[ ])?"
    r"|\blogin\s{1,4}\S{1,64}\s{1,8})"
    r"(?:[\"']?(?:[\w./@-]{0,80}[:/])?)$"
    r"|(?:(?:USING|(?:connect|login)[ ][^\s,;]{1,64}|-u[ ]?root)[ ]|\bexport[ ])"
    r"[\"']?(?:[\w./@-]{0,80}[:/])?$",
    re.IGNORECASE,
)
_CHANGED = re.compile(r"\b(?:set|chang(?:e|ed|ing)|reset|updated?|rotated?)\b[^\n.]{0,40}$", re.IGNORECASE)
_TOLD_BEFORE = re.compile(r"\b(?:the|with|and|a|using|by|default|initial|root|admin)[ ]$", re.IGNORECASE)
_WITH_BEFORE = re.compile(r"\b(?:with|and|using|use)[ ](?:the[ ])?$", re.IGNORECASE)
# Settings that are written as a name and a value on a line: of Redis, of LDAP.
_DIRECTIVES = frozenset({"require", "root", "bind"})


def is_idle(text: str, start: int, given: re.Match[str], stem: str, quoted: bool) -> bool:
    """Whether what stands between gives nothing: a comma or a bracket before code, a blank in a sentence."""
    if given["told"] and given["told"].strip().startswith(("to", "from")):
        return not _CHANGED.search(text, max(0, start - 60), start)
    if given[0].startswith("):"):  # the head of a function, and what it says of itself
        return True
    if given["argument"]:
        return not stem.startswith("-")
    if given["comma"]:
        return not quoted or given["quoted"] in (None, "`")
    if given["blank"]:
        if (_TOLD_BEFORE if quoted else _WITH_BEFORE).search(text, max(0, start - 40), start):
            return False
        keyword = quoted and text[start - 1 : start] == ":"  # :password "..."
        known = (
            stem.startswith("-") or keyword or stem.lower() in _DIRECTIVES or is_directive(text, start, stem)
        )
        return not (
            known or given["value"] is not None or _VERB.search(text, max(0, start - LINE_CHARS), start)
        )
    return bool((given["call"] or given["else"]) and not quoted)


def is_directive(text: str, start: int, stem: str) -> bool:
    """Whether a line begins with a name that no sentence has, or is one of a login: `storePassword "..."`."""
    line = text[max(0, start - LINE_CHARS, text.rfind("\n", 0, start) + 1) : start]
    if line.strip(" \t+-"):
        return bool(_BLOCK_BEFORE.search(line))
    return bool(_COMPOUND.search(stem) or _LOGIN_LINE.search(text, max(0, start - LINE_CHARS), start))


_LAST_WORD = re.compile(r"pass(?:w(?:or)?d|phrase)?$|[\w-]$", re.IGNORECASE)
_COMPOUND = re.compile(r"[a-z](?:_|(?=$))$|[a-z]-$")
_LOGIN_LINE = re.compile(
    r"(?:^|\n)[ \t]{0,20}(?:user(?:name)?|login|account|host)[ ]{1,8}"
    r"[\"']?[\w.@-]{1,60}[\"']?[ \t]{0,8}\r?\n[ \t+-]{0,20}$",
    re.IGNORECASE,
)
_BLOCK_BEFORE = re.compile(r"[{;][ ]{0,4}(?:username|user)[ ][\"'][^\"'\n]{1,60}[\"'][;,]?[ ]{1,4}$")

# -- of a bare value --------------------------------------------------------------------------------------

_LINE_END = re.compile(r"[\"'`]?(?:[ \t]{0,20}(?:[│┃║|][ ]{0,4})?(?:\r?\n|\Z|\\n)|[ \t]{1,20}(?:#|-->|\*/))")
_HEADER = re.compile(r"(?:^|[\s\"'`])(?:-H[ ]{0,2}[\"']?|--header[ =][\"']?)$")


def bare_form(text: str, start: int, span: tuple[int, int], given: re.Match[str], name: str) -> str:
    """How a bare value is given."""
    end, sign = span[1], given[0]
    if name.startswith("-"):
        return "option" if sign.strip() else "string"
    if given["element"]:
        return "element"
    if name.lower() == "pwd" and "=" in sign and is_beside(text, start, end):
        return "pair"
    if given["blank"]:
        return _blank_form(text, start, end, name)
    if given["beside"]:
        return "env" if name.isupper() else "pair" if "=" in sign else "prose"
    if sign == "->":
        return "code"
    if sign.endswith("- "):  # the first of a list
        return "listed"
    if "=" not in sign and ":" not in sign:
        return "prose"
    line = text[max(0, start - LINE_CHARS, text.rfind("\n", 0, start) + 1) : start]
    if form := _pair_form(text, line, end, sign):
        return "env" if form == "pair" and name.isupper() and "_" in name else form
    if ":" in sign and _HEADER.search(line) and "-" in name:
        return "header"
    if (
        sign.strip(" ") in ("=", ":", "=\\\n", ":-", ":=", "?=")
        and sign[0] != " "
        and (name.isupper() or name.startswith("TF_VAR_"))
    ):
        return "env"
    return _line_form(text, start, span, given, line)


def _blank_form(text: str, start: int, end: int, name: str) -> str:
    verb = _VERB.search(text, max(0, start - LINE_CHARS), start)
    if not _LINE_END.match(text, end):
        return "prose"
    if text[start - 1 : start] in ("", "\n") and name.lower().startswith(tuple(_DIRECTIVES)):
        return "set"
    if is_directive(text, start, name[: -len(_LAST_WORD.search(name)[0])]) and text[end - 1].islower():  # type: ignore[index]
        return "set"
    return "set" if verb and verb["set"] else "prose"


def _line_form(text: str, start: int, span: tuple[int, int], given: re.Match[str], line: str) -> str:
    """The form of a value that ends its line, or of one in the middle of it."""
    sign, end = given[0], span[1]
    if _LINE_END.match(text, end):
        if given["aside"] and ":" in sign:  # a prompt
            return "listed"
        if ":" in sign and (_PROMPT.fullmatch(line) or (not line and _OUTCOME.match(text, end))):
            return "listed"
        if LINE_START.fullmatch(line):
            if is_listed(text, start, end, sign) or _is_property(text, start, span, sign):
                return "listed"
            plain = end - span[0] >= 10 and text[span[0] : end].islower()
            if "=" in sign or plain or is_beside(text, start, end):
                return "config"
    return "code" if "=" in sign else "prose"


_PROMPT = re.compile(
    r"[?✔❯>$ ]{0,3}(?:please[ ])?"
    r"(?:(?:(?:re-?)?enter|new|retype|confirm|current|\(current\)|old|repeat|your|the|same|host"
    r"|unix|kerberos|become|ssh|ldap|vault|pem|export|import|keystore|key|truststore|encryption|decryption|admin|root"
    r"|temporary|initial|generated|default|master|database|db|sudo|smb|samba|verify|verifying[ ]-)[ ]"
    r"|[\w.-]{1,40}@[\w.-]{1,60}'s[ ]){1,5}",
    re.IGNORECASE,
)
# What is said after a password was read.
_OUTCOME = re.compile(
    r"\r?\n[ \t]{0,8}(?:last login|login |logged|welcome|access granted|authenticat|connected"
    r"|permission denied|sorry|passwd:|success|remote:|cloning|enumerating|fetching|mysql:)",
    re.IGNORECASE,
)
_PROPERTY = re.compile(
    r"(?!(?:this|self|req|request|res|ctx|user|config|options|data|props|state|body)\.)[a-z][\w-]{0,30}(?:\.[a-z][\w-]{0,30}){1,8}",
    re.IGNORECASE,
)
_ROOMS = frozenset(
    {
        "db",
        "database",
        "mail",
        "smtp",
        "jdbc",
        "datasource",
        "redis",
        "ldap",
        "signing",
        "ssl",
        "app",
        "admin",
        "keystore",
        "truststore",
        "kafka",
        "mqtt",
        "proxy",
        "ftp",
        "mysql",
        "postgres",
        "spring",
    }
)


def _is_property(text: str, start: int, span: tuple[int, int], sign: str) -> bool:
    """Whether a line by itself is a setting: `spring.datasource.password=...`, `wpa_passphrase=...`."""
    if sign.strip(" ") not in ("=", "=\\\n") and sign != ": ":
        return False
    name = _PROPERTY.match(text, start)
    if name:
        return name[0].count(".") > 1 or name[0].partition(".")[0] in _ROOMS
    return sign == "=" and bool(LINE_START.fullmatch(text, 0, start)) and not text[span[1] :].strip()


# -- of one of several pairs ------------------------------------------------------------------------------

_PAIR_BEFORE = re.compile(r"[\w.\-\] ]{1,40}=[^=\s,(){}]{0,80}[ ;&]{1,2}$|[?&;]$")
_PAIR_END = re.compile(r"[;&\"'`]|[ \t]|\r?\n|\\n|\Z")
_COMMA_BEFORE = re.compile(r"(?:^|[\s\"'=])[\w.-]{1,40}=[^\s=,(){}]{0,80},$")
_COMMA_END = re.compile(r"[,\s\"']|\Z")
_BRACE_END = re.compile(r"[,}\]]")
# Pairs in braces, a string that is one pair, an option that takes one.
_PAIR_OPEN = re.compile(
    r"(?:[{\[][^{}()\[\]\n]{0,120}[\w.-]=[^=,(){}\n]{0,60},[ ]?|[{][ ]?"
    r"|(?:^|[\s\[,(=])[\"'](?:[\w.-]{1,40}[.])?|(?:^|\s)-{1,2}[\w-]{1,30}[ =])$"
)
_ECHO = re.compile(r"(?:echo|printf)[ ](?:-\w[ ])?[\"']$")
_FLOW = re.compile(r"\s{0,40}(?:- |(?:- )?[\w.-]{1,40}: )\{(?:[\w.-]{1,40}: [^,{}()\"'\n]{1,60}, ){1,10}$")
# The words of a command before it, and no program: `vault write auth/x password=...`.
_SHELL = re.compile(
    r"^[\s$#+>%-]{0,8}(?!(?:let|const|var|val|local|my|our|final|static|if|and|or|where|set|return"
    r"|export|def|the)[ ])"
    r"[a-z][\w.-]{1,30}(?:[ ][^\s(){}=,;\"'|&<>]{1,80}|[ ][\w.-]{1,40}=[^\s(){}=,;]{1,80}){1,12}[ ]$"
)
_AFTER_COMMA = re.compile(
    r"(?:\S[^()\n]{0,80}[ ])?(?:(?P<name>[\w.-]{1,40})=(?!(?P=name),)[^\s=,(){}\"']{1,80},[ ]){1,8}"
)
_QUOTE_BEFORE = re.compile(r"(?:^|[\s=])[\"']$")
_NEXT_PAIR = re.compile(r"[ ;&][\w.-]{1,40}=")
# As Go prints what it holds: {Host:db User:app Password:...}, map[password:... user:ada].
_STRUCT = re.compile(r"[{\[](?:[\w.]{1,40}:[^\s,(){}\"']{0,80}[ ]){0,20}$")
_STRUCT_END = re.compile(r"[ ][\w.]{1,40}:[^\s,(){}\"']{0,80}(?:[ ]|[}\]])|(?<=[^\[{:][a-z0-9])[}\]]")
_LOGIN_BEFORE = re.compile(
    r"\b(?:user(?:name)?|login|account|e-?mail|wi-?fi|ssid|network)\*{0,2}[:=] ?"
    r"`?[\w.@-]{1,40}`?[ ,;/|-]{1,4}(?:and )?\*{0,2}$",
    re.IGNORECASE,
)


def _pair_form(text: str, line: str, end: int, sign: str) -> str:
    """`pair` where a bare value is one of several or all of a string, `listed` beside a user, or ""."""
    if "=" in sign:
        if _PAIR_BEFORE.search(line) and _PAIR_END.match(text, end):
            return "pair"
        if sign == "=" and _COMMA_BEFORE.search(line) and _COMMA_END.match(text, end):
            return "pair"
    if sign == "=" and (opened := _PAIR_OPEN.search(line)):
        first = opened[0].lstrip(" \t,([=")[:1]
        ends = {"{": _BRACE_END, "[": _BRACE_END, "-": _PAIR_END}.get(first)
        if ends.match(text, end) if ends else text[end : end + 1] == first:
            return "pair"
    if sign == "=" and (_SHELL.search(line) or _AFTER_COMMA.fullmatch(line)) and _COMMA_END.match(text, end):
        return "pair"
    if sign == "=" and _QUOTE_BEFORE.search(line) and _NEXT_PAIR.match(text, end):
        return "pair"
    if sign == ":" and _STRUCT.search(line) and _STRUCT_END.match(text, end):
        return "pair"
    if sign == ": ":
        if _ECHO.search(line) and text[end : end + 1] == line[-1]:
            return "pair"
        if _FLOW.match(line) and _BRACE_END.match(text, end):
            return "pair"
    return "listed" if ":" in sign and "{" not in line and _LOGIN_BEFORE.search(line) else ""


# -- of a string --------------------------------------------------------------------------------------------

_SETTER = re.compile(
    r"(?:^|[._])(?:set|with|and)_?pass(?:word|wd|phrase)?$|\.pass(?:word|wd)$|Set\w{0,12}Password$",
    re.IGNORECASE,
)
# A call that is told a name and its value.
_ARGUMENT = re.compile(r"\([ ]?[\"']$")
_PUT = re.compile(
    r"(?:\bset\w{0,24}|flag\.String"
    r"|\bput\w{0,12}|\bdefine|env|\.fill|\.type\w{0,8}|\bof)\([ ]?[\"'][#\w.\[=\"-]{0,40}$"
    r"|\bset[ ]:$",
    re.IGNORECASE,
)
_USER_BEFORE = re.compile(
    r"\b(?:user(?:name)?|login|e-?mail|uid)[\"']?\s?[:=]\s?[\"'][^\"'\n]{1,60}[\"'],?\s{0,40}[\"']?$",
    re.IGNORECASE,
)


def quoted_form(text: str, start: int, span: tuple[int, int], given: re.Match[str], name: str) -> str:
    """How a string is given."""
    if given["set"] or given["filled"] or (given["call"] and _SETTER.search(name)):
        return "set"
    if given["comma"]:
        return _argument_form(text, start, span, name)
    if given["argument"]:
        return "option"
    if given["beside"] or given["held"]:
        return "env" if name.isupper() else "key"
    if given["told"]:
        return "told"
    if given["blank"]:
        return _blank_quoted_form(text, start, name)
    if given["else"] or given["default"]:
        return "string"
    sign = given[0].replace("&quot;", "").replace("%22", "").strip("\"'`\\ [])}*")[:1]
    if given["aside"] or _TYPED.search(given[0]):  # what it is for, or its type
        sign = given[0].rstrip()[-1]
    if sign == "<":  # R assigns by an arrow
        sign = "="
    if sign in ("=", ":") and _USER_BEFORE.search(text, max(0, start - 120), start):
        return "pair"
    if given["quoted"] and sign == ":":
        return "key"
    if sign not in ("=", ":"):
        return "quoted"
    if name.isupper() and given[0] == "=":
        return "env"
    if is_beside(text, start, span[1] + 1):
        return "listed"
    return "assigned" if sign == "=" and text[span[0] - 1] != "`" else "string"


_TYPED = re.compile(r"string[ ]=[ ]$", re.IGNORECASE)


def _argument_form(text: str, start: int, span: tuple[int, int], name: str) -> str:
    if name.startswith("-"):  # in a list of a command's words
        return "option"
    told = name.isupper() and _ARGUMENT.search(text, max(0, start - 20), start)
    if told or _PUT.search(text, max(0, start - 80), start):
        return "quoted" if text[span[0] : span[1]].isupper() else "set"
    return "quoted"


def _blank_quoted_form(text: str, start: int, name: str) -> str:
    if name.startswith("-"):
        return "option"
    if text[start - 1 : start] == ":":  # :password "..."
        return "string"
    verb = _VERB.search(text, max(0, start - LINE_CHARS), start)
    if (verb and verb["set"]) or is_directive(text, start, name[: -len(_LAST_WORD.search(name)[0])]):  # type: ignore[index]
        return "set"
    return "told" if _TOLD_BEFORE.search(text, max(0, start - 40), start) else "quoted"
