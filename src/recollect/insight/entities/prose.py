"""What sentences speak of: words by their shape, names that are known, what stands in backticks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from recollect.insight.entities.lines import lines_with
from recollect.insight.entities.mention import Gathered
from recollect.insight.entities.shapes import SHAPES, TOKEN, Shape, is_verbal, shapes
from recollect.insight.entities.words import Known, known_names, known_phrases, ordered_words, words

_AS_THEY_ARE = frozenset(
    (
        "file",
        "folder",
        "url",
        "repository",
        "library",
        "module",
        "branch",
        "api_endpoint",
        "function",
        "person",
    )
)
_TICKED = re.compile(r"`([^`\n]{2,160})`")
_CALLED = re.compile(r"([A-Za-z_$][\w$]*(?:(?:\.|::|\?\.)[A-Za-z_$][\w$]*)*)!?\(.*\)?;?")
_NAMED = re.compile(r"[A-Za-z_][\w]*(?:(?:\.|::)[A-Za-z_]\w*)*")
_PARTED = re.compile(r"\.|::")
_CLASS = re.compile(r"[A-Z][a-z0-9]+[A-Za-z0-9]*|[A-Z]{2,}[a-z]+\w*")
_SLASH = re.compile(r"/[a-z][\w-]*(?:[:.][\w-]+)*")
_ROUTE = re.compile(r"\b(GET|POST|PUT|PATCH|DELETE|HEAD) (/[\w/:{}.\[\]*-]*)")
_METHODS = ("GET /", "POST /", "PUT /", "PATCH /", "DELETE /", "HEAD /")
_SUBCOMMAND = re.compile(r" ([a-z][a-z-]{1,15})(?![\w./=])(?: ([a-z][\w:-]{1,24})(?![\w./=]))?")
_BRANCH = re.compile(
    r"`([\w./-]+)` (?:feature )?branch\b|(main|master|develop) branch\b"
    r"|branch(?:es)?:? `([\w./-]+)`|branch '([\w./-]+)'"
)
_NAMED_BRANCH = re.compile(r"(?<![\w./-])(\w+[/-][\w./-]*\w)\Z")
_TRUNK = re.compile(r"(?<=[no]) `?(main|master)\b(?![\w./(-]| \w)")  # to, into, onto, on
_MODULE = re.compile(
    r"`([\w.:-]+)` (?:module|crate)\b|\b(?:module|crate) `([\w.:/-]+)`|No module named '([\w.]+)'"
)
_TABLE = re.compile(r"`(\w+)` (?:table|collection)\b|\b(?:table|collection) [`'](\w+)[`']")
_FOLDER = re.compile(r"(?:`|\b(?:[Tt]he|your|this|our) )([\w.-]*[\w])/?`? (?:folder|directory)\b")
_SETTING = re.compile(
    r"`([\w.-]+)` (?:setting|config|configuration|config key|key|section)\b"
    r"|\b(?:setting|config key) `([\w.-]+)`"
)
_FUNCTION = re.compile(
    r"`(\w+)` (?:function|method|helper|hook|handler)\b|\b(?:function|method|helper|hook|test) `(\w+)`"
)
_TYPE = re.compile(r"([A-Z][a-z0-9]+\w*)`? (?:class|struct|interface|enum|trait|component)\b")
_TYPE_WORDS = (" class", " struct", " interface", " enum", " trait", " component")
_AGENT_TOOL = re.compile(
    r"\b(Bash|Read|Edit|Write|Grep|Glob|Task|Agent|Skill|LS|WebFetch|WebSearch)[`*]* tool\b"
    r"|\b([a-z]\w*_\w+)`?\*{0,2} [Tt]ool\b"
)
_NUMBERED_ISSUE = re.compile(r"(?:PR|[Ii]ssue|[Pp]ull request|MR) (\d{1,6})\b(?![.:]\d)")
_ISSUE_WORDS = ("PR ", "ssue ", "equest ", "MR ")
_FUNCTION_WORDS = ("function", "method", "helper", "hook", "handler", "test `")
_TICKET = re.compile(r"(?:bead|issue|ticket|epic)s? `([a-z]{2,5}-[a-z0-9.]{2,8})`")
_REPOSITORY = re.compile(r"(?:\b(?:[Tt]he|our|my|in|of|from|to|this|for) `?|`)([\w.-]{3,}(?:/[\w.-]+)?)`?\Z")
_NAME_BEFORE = 80
_RUN = re.compile(
    r"[A-Z][A-Z0-9_]+=\S+ [a-z][\w-]+( |$)|(?:\./)?[a-z][\w./-]+ (?:[a-z][\w:-]* ){0,2}--?[a-z]"
)
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z][a-z0-9]+")
_NAME_SIGN = re.compile(r"[\w./-]")
_HUMPS = re.compile(r"[a-z0-9][A-Z]|[A-Z]{2}[a-z]")
_TWO = re.compile(r"[a-z][a-z0-9-]+(?: [a-z][a-z0-9:-]+){1,2}")
_ELEMENT = re.compile(r"<([A-Z]\w+)[ />]")
_GREY = re.compile(r"#(\d)\1\1(?:\1{3})?")
_PRIVATE = re.compile(r"_[a-z]+(?:_[a-z0-9]+){2,}")
_BEFORE_INSIDE = re.compile(r"[a-z,)] \Z|[(/]\Z")
_APART = re.compile(r"(?:^|[^\w./@\\$-]|(?:^|[\s(])[a-z-]+/)\Z")  # one of a list with slashes, too
_GOES_ON = re.compile(r"[\w/@=:\\-]|\.\w")
_NEXT = re.compile(r" ([a-z-]+)")
_ORDINARY = re.compile(r"[a-z]+(?:ing|ion|er|ers|or|ed|s|ment|ness|al|ity|ive|ory|ent)")
_README = re.compile(r"\bthe (readme|changelog|license)\b(?! file)?", re.IGNORECASE)


def read_words(text: str, found: Gathered, *, prose: bool) -> None:
    """What the words of a text are by their shape; in `prose` also what only a sentence makes a name."""
    known: dict[str, Known | None] = {}
    for several in filter(None, map(SHAPES.__getitem__, dict.fromkeys(TOKEN.findall(text)))):
        for shape in several:
            if shape.kind == "known":
                known[shape.name] = known_names().get(shape.name)
            else:
                _take(shape, shape.written, text, found, prose)
    if known:
        _take_known(known, text, found, prose)


def _take(shape: Shape, token: str, text: str, found: Gathered, prose: bool) -> None:
    kind = shape.kind
    if kind in _AS_THEY_ARE:
        found.add(kind, shape.name, shape.written)
    elif kind == "issue":
        if not _is_counted(text, token):
            found.add(kind, shape.name, shape.written)
    elif kind == "commit":
        if not _is_other_id(text, token):
            found.add(kind, shape.name, shape.written)
    elif kind == "range":
        at = text.find(token)
        if "index " not in text[max(0, at - 24) : at]:
            found.add("commit", shape.name, shape.written)
    elif kind == "import":
        add_import(shape.name, found)
    elif kind == "env_var":
        if "_" in shape.name or shape.written.startswith("$") or f"`{token}`" in text:
            found.add(kind, shape.name, shape.written)
    elif kind == "qualified":
        if prose and "::" in shape.name:
            _read_name(shape.name, found, several=True)
    elif kind == "pair":
        if _is_repository(text, token):
            found.add("repository", shape.name, shape.written)
    elif prose and kind in ("snake", "camel"):
        if (
            (is_verbal(shape.name) or _PRIVATE.fullmatch(shape.name))
            and shape.name not in words("builtins")
            and not found.has("module", shape.name)
        ):
            found.add("function", shape.name, shape.written)
    elif prose and kind == "maybe file":
        found.add("file", shape.name, shape.written)
    elif kind == "pascal" and (not prose or _is_type(shape.name)):
        found.add("class", shape.name, shape.written)


def _is_type(name: str) -> bool:
    """Whether a name in a sentence is that of a type and not of a product: by its parts, or how it ends."""
    parts = _WORDS.findall(name)
    return len(parts) > 2 or (len(parts) == 2 and parts[1] in words("type endings"))


def _is_counted(text: str, token: str) -> bool:
    """Whether a number is that of a step or an item, or a colour."""
    at = text.find(token)
    before = text[max(0, at - 24) : at]
    if _GREY.fullmatch(token):
        return True
    if len(token) in (4, 7) and (
        before[-1:] in ('"', "'", ":", "}") or before[-2:] == ": " or "color" in before
    ):
        return True
    return before.rstrip(" *`(:").rpartition(" ")[2].strip("*`([#\n").lower() in words("numbered things")


def _is_other_id(text: str, token: str) -> bool:
    """Whether what looks like a commit is said to be the id of something else."""
    at = text.find(token)
    before = text[max(0, at - 24) : at].rstrip(" `'\"*:=(").lower()
    return before.endswith(
        ("id", "checkpoint", "session", "uuid", "key", "chunk", "token", "agent", "sha256", "digest", "index")
    )


def _is_repository(text: str, token: str) -> bool:
    """Whether two words with a slash between them are said to be a repository."""
    at = text.find(token)
    around = text[max(0, at - 24) : at].lower() + text[at + len(token) : at + len(token) + 12].lower()
    return not any(map(str.isupper, token.split("/"))) and any(word in around for word in _REPOSITORY_WORDS)


_REPOSITORY_WORDS = (
    "repo",
    "action",
    "fork",
    "clone",
    "github",
    "uses:",
    "upstream",
    "plugin",
    "marketplace",
)


def add_import(path: str, found: Gathered) -> None:
    """An import path with a host in it: a package, or a part of the project itself."""
    package = "/".join(path.split("/")[:3])
    own = found.own
    if not found.has("module", path):
        found.add("module" if own and package.endswith("/" + own) else "library", package, path)


# -- known names -------------------------------------------------------------------------------------


def _take_known(seen: dict[str, Known | None], text: str, found: Gathered, prose: bool) -> None:
    inside: dict[str, int] = {}  # how often a word is part of a longer name
    for first in seen:
        for phrase, known in known_phrases().get(first, ()):
            count = text.count(phrase)
            if count and count > inside.get(phrase, 0):
                found.add(known.type, known.name, phrase)
                for part in (first, *_beginnings(phrase)):
                    inside[part] = inside.get(part, 0) + count
    for word, thing in seen.items():
        if thing is None or text.count(word) <= inside.get(word, 0):
            continue
        if _counts(word, thing, text, prose):
            found.add(thing.type, thing.name, word)


def _beginnings(phrase: str) -> Iterator[str]:
    """The shorter names that a name begins with."""
    parts = phrase.split(" ")
    for length in range(2, len(parts)):
        yield " ".join(parts[:length])


def _counts(word: str, thing: Known, text: str, prose: bool) -> bool:
    if not prose:
        return not thing.vague and not word.islower()
    if thing.vague:
        return _stands_inside(word, text)
    return not word.islower() or _stands_alone(word, text)


def _stands_inside(word: str, text: str) -> bool:
    """Whether a word stands somewhere inside a sentence."""
    at = text.find(word)
    while at >= 0:
        before, after = text[max(0, at - 2) : at], text[at + len(word) : at + len(word) + 1]
        if _BEFORE_INSIDE.search(before) and not (after.isalnum() or after == "_"):
            return True
        at = text.find(word, at + len(word))
    return False


def _stands_alone(word: str, text: str) -> bool:
    """Whether a lower-case name stands somewhere as a word of its own that is not the start of a command."""
    subcommands = words(f"subcommands {word}")
    at = text.find(word)
    while at >= 0:
        before, end = text[max(0, at - 20) : at], at + len(word)
        if _APART.search(before) and not _GOES_ON.match(text, end) and not _is_argument(before):
            follows = _NEXT.match(text, end)
            if not (follows and follows[1] in subcommands):
                return True
        at = text.find(word, end)
    return False


def _is_argument(before: str) -> bool:
    """Whether a program stands before a word that is told to do it, or what announces a command."""
    last = before[:-1].rpartition(" ")[2].strip("`")
    return before.endswith(("Usage: ", "$ ", "> ")) or (
        before.endswith(" ") and last in words("programs with subcommands")
    )


# -- sentences ---------------------------------------------------------------------------------------


def read_prose(text: str, found: Gathered) -> None:
    """What sentences say: routes with their method, commands by name, what is called a branch or a folder."""
    for line in lines_with(text, _METHODS) if " /" in text else ():
        for method, path in _ROUTE.findall(line):
            found.add("api_endpoint", path, f"{method} {path}")
    for name in ordered_words("named programs"):
        if name in text:
            _read_program(f"{name} ", text, found)
    for sign, pattern, kind in _SAID:
        for line in lines_with(text, (sign,)) if sign in text else ():
            for groups in pattern.findall(line):
                name = next(filter(None, groups), "") if isinstance(groups, tuple) else groups
                if name.lower() not in words("no names"):
                    found.add(kind, name)
    _read_before(" repo", _REPOSITORY, "repository", text, found)
    _read_before(" branch", _NAMED_BRANCH, "branch", text, found)
    _read_own(text, found)
    for line in lines_with(text, _TYPE_WORDS):
        for name in _TYPE.findall(line):
            if (
                name not in known_names()
                and name not in words("builtin types")
                and name.lower() not in words("no names")
            ):
                found.add("class", name)
    for line in lines_with(text, (" tool", " Tool")):
        for groups in _AGENT_TOOL.findall(line):
            found.add("tool", "".join(groups))
    for line in lines_with(text, _ISSUE_WORDS):
        for number in _NUMBERED_ISSUE.findall(line):
            found.add("issue", f"#{number}", number)
    if "`" in text:
        ticked = dict.fromkeys(each.strip() for each in _TICKED.findall(text))
        several = sum(bool(_CLASS.fullmatch(each)) for each in ticked) > 1
        is_go = ".go" in text or "olang" in text
        for line in lines_with(text, _FUNCTION_WORDS):
            for groups in _FUNCTION.findall(line):
                if len("".join(groups)) > 2:
                    found.add("function", "".join(groups))
        for snippet in ticked:
            read_ticked(snippet, found, several=several, is_go=is_go)


def _read_program(program: str, text: str, found: Gathered) -> None:
    """The commands of a program that a text names, by its subcommands."""
    known = words(f"subcommands {program[:-1]}")
    at = text.find(program)
    while at >= 0:
        end = at + len(program) - 1
        named = _SUBCOMMAND.match(text, end)
        if named and named[1] in known and not _NAME_SIGN.match(text, max(0, at - 1), at):
            deeper = named[2] if named[2] and named[1] in words("deeper subcommands") else ""
            found.add("command", f"{program}{named[1]} {deeper}".rstrip())
        at = text.find(program, end)


_SAID = (
    ("branch", _BRANCH, "branch"),
    (" main", _TRUNK, "branch"),
    (" master", _TRUNK, "branch"),
    ("module", _MODULE, "module"),
    ("crate", _MODULE, "module"),
    ("table", _TABLE, "database"),
    ("bead", _TICKET, "issue"),
    ("issue", _TICKET, "issue"),
    ("ticket", _TICKET, "issue"),
    ("epic", _TICKET, "issue"),
    ("folder", _FOLDER, "folder"),
    ("directory", _FOLDER, "folder"),
    ("setting", _SETTING, "config_key"),
    ("` key", _SETTING, "config_key"),
    ("` config", _SETTING, "config_key"),
    ("` section", _SETTING, "config_key"),
)


def _read_before(noun: str, named: re.Pattern[str], kind: str, text: str, found: Gathered) -> None:
    """What is named right before a noun that says what it is."""
    at = text.find(noun)
    while at >= 0:
        name = named.search(text[max(0, at - _NAME_BEFORE) : at])
        if name and name[1].lower().strip("-.") not in words("no names") and not name[1][:1].isdigit():
            found.add(kind, name[1])
        at = text.find(noun, at + len(noun))


def _read_own(text: str, found: Gathered) -> None:
    """The project by its own name, and its commands."""
    own = found.own
    if (
        len(own) < 4
        or own not in text
        or own.lower() in words("generic projects")
        or _ORDINARY.fullmatch(own)
    ):
        return
    called, named = _own_patterns(own)
    for command in called.findall(text):
        found.add("command", f"{own} {command}")
    if named.search(text):
        found.add("repository", own)


@lru_cache(maxsize=64)
def _own_patterns(own: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    name = re.escape(own)
    return (
        re.compile(rf"{name} ([a-z][a-z-]{{2,15}}) (?:sub)?command\b"),
        re.compile(rf"{name}(?<![\w./@-]{name})(?![\w/-]|\.\w)(?! [a-z-]+ command)"),
    )


def read_ticked(snippet: str, found: Gathered, *, several: bool = False, is_go: bool = False) -> None:
    """What stands in backticks is code, a command or a name.

    `several` of them have the look of types; `is_go`: in that language functions have, too.
    """
    if _SLASH.fullmatch(snippet):
        name = snippet[1:].partition(":")[0]
        is_command = name in words("slash commands") or ":" in snippet or "." in snippet
        if name not in words("root folders") and not any(each.kind == "file" for each in shapes(snippet)):
            found.add("command" if is_command else "api_endpoint", snippet)
        return
    head, _, rest = snippet.partition(" ")
    if rest and (
        head in words("programs with subcommands") or head in words("plain programs") or head == "$"
    ):
        from recollect.insight.entities.shell import read_command

        read_command(snippet.removeprefix("$ "), found)
        return
    if rest and (_RUN.match(snippet) or (_TWO.fullmatch(snippet) and _is_program(head, found))):
        from recollect.insight.entities.shell import read_command

        read_command(snippet, found)
        return
    element = _ELEMENT.match(snippet)
    if element:
        found.add("class", element[1])
    if snippet in ("main", "master", "origin/main", "origin/master"):
        found.add("branch", snippet.removeprefix("origin/"), snippet)
        return
    called = _CALLED.fullmatch(snippet)
    if called:
        _add_called(called[1], found)
    elif _NAMED.fullmatch(snippet):
        if is_go and is_verbal(snippet) and "." not in snippet:
            found.add("function", snippet)
        elif not found.has("function", snippet):
            _read_name(snippet, found, several=several)


def _is_program(name: str, found: Gathered) -> bool:
    """Whether a word before another one is a program: the project's own, a known one, or no plain word."""
    known = known_names().get(name)
    return name == found.own or "-" in name or (known is not None and known.type in ("tool", "framework"))


def _add_called(name: str, found: Gathered) -> None:
    last = _PARTED.split(name)[-1]
    if last not in words("builtins") and len(last) > 1:
        kind = "class" if _CLASS.fullmatch(last) and last == name else "function"
        found.add(kind, name)


def _read_name(name: str, found: Gathered, *, several: bool) -> None:
    last = _PARTED.split(name)[-1]
    if name in known_names() or last in words("builtins") or last in words("builtin types"):
        return
    if _CLASS.fullmatch(last) and not last.isupper():
        if "::" in name or (name == last and (several or _HUMPS.search(name))):
            found.add("class", name)
    elif (("::" in name or (name == last and name.count("_") > 2)) and last.islower()) or (
        "." in name and is_verbal(last) and not any(each.kind == "file" for each in shapes(name))
    ):
        found.add("function", name)
    elif name in words("plain programs") and name not in words("idle programs") and len(name) > 1:
        found.add("tool", name)
