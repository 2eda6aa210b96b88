"""What a single word is by its shape alone: an address, a path, a hash, an identifier, a known name.

Words repeat, so what was found out about one is remembered, for a bounded number of them.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from recollect.insight.entities.words import known_names, known_phrases, words

TOKEN = re.compile(r"[A-Za-z0-9_./\\:@#$%&+~?=*-]{2,}", re.ASCII)

_REMEMBERED = 200_000
_TOKEN_CHARS = 400

_URL = re.compile(r"[a-z][a-z+]{1,9}://(?:[^/@\s]*@)?([\w.-]+(?::\d+)?)(/[^?#]*)?")
_HOST = re.compile(r"(?:[a-z0-9-]{1,63}\.)+([a-z]{2,5})(?::\d{2,5})?(/[\w./~-]*)?")
_LOCAL = re.compile(
    r"(?:localhost|127\.0\.0\.1|0\.0\.0\.0):\d{2,5}(/[\w./-]*)?|\d{1,3}(?:\.\d{1,3}){3}:\d{2,5}"
)
_EMAIL = re.compile(r"[\w.+-]{1,64}@([a-z0-9-]+(?:\.[a-z0-9-]+)*\.[a-z]{2,10})", re.IGNORECASE)
_REMOTE = re.compile(r"git@[\w.-]+:([\w.-]+/[\w.-]+?)(?:\.git)?")
_ISSUE = re.compile(r"(?:([\w.-]{1,60}/[\w.-]{1,60})?#|(?:GH|gh)-)(\d{1,6})")
_TICKET = re.compile(r"([A-Z]{2,10})-(\d{1,6})")
_HASH = re.compile(r"[0-9a-f]{7,12}|[0-9a-f]{40}")
_RANGE = re.compile(r"([0-9a-f]{7,40})\.{2,3}([0-9a-f]{7,40})")
_PACKAGE = re.compile(r"@[a-z0-9][\w.-]*/[a-z0-9][\w.-]*", re.IGNORECASE)
_VERSIONED = re.compile(r"((?:@[\w.-]+/)?[a-z][\w.-]*)@[\^~]?v?\d+(?:\.[\w-]+)*")
_ACTION = re.compile(r"([\w.-]+/[\w.-]+)@(?:v\d[\w.]*|main|master|[0-9a-f]{40})")
_ROUTE = re.compile(
    r"/(?:api|v\d|rest|graphql|auth|webhooks?)(?:/[\w:{}.\[\]~%-]+)*/?|/[\w-]+(?:/[\w.-]+)*/:\w+(?:/[\w:-]+)*"
)
_SEGMENTS = re.compile(r"[\w.@+~%:\[\]-]+(?:/[\w.@+~%\[\]-]+)*/?")
_GIT_HOST = re.compile(r"(?:www\.)?(?:github\.com|gitlab\.com|bitbucket\.org|codeberg\.org)")
_SCREAMING = re.compile(r"[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)*")
_SNAKE = re.compile(r"_{0,2}[a-z][a-z0-9]*(?:_[a-z0-9]+)+")
_CAMEL = re.compile(r"[a-z][a-z0-9]*(?:[A-Z][a-z0-9]*)+")
_PASCAL = re.compile(r"(?:[A-Z][a-z0-9]+){2,}[A-Z]{0,3}|[A-Z]{2,}[a-z]{2,}\w*|[A-Z](?:[A-Z][a-z0-9]{2,})+")
_CMDLET = re.compile(
    r"(?:Get|Set|New|Remove|Add|Invoke|Update|Test|Start|Stop|Write|Read|Enable|Disable|Import|Export|Install|Register)-[A-Z]\w+"
)
_QUALIFIED = re.compile(r"[A-Za-z_]\w*(?:(?:\.|::)[A-Za-z_]\w*)+")
_LOGIN = re.compile(r"[\w.-]+@\d{1,3}(?:\.\d{1,3}){3}")
_TELLING = re.compile(r"[-_/0-9]")
_FOUND_IN = re.compile(r"([^:]+):\d+:(.*[A-Za-z].*)")  # as searches print what they found
_COMPOUND = re.compile(
    r"(.+)-(?:based|style|like|only|side|specific|native|compatible|powered|backed|managed|hosted)"
)
_POSITION = re.compile(r"(?::\d+(?:-\d+)?){1,2}$|#L\d+.*$")
_PARTS = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+")
_ENV_FILE = re.compile(r"\.env(?:\.\w+)*")
_EXTENSION = re.compile(r"(.*[^.]|)\.([A-Za-z0-9_]{1,10})")


class Shape(NamedTuple):
    """What a word may be. `kind` is a type of entity, or a shape that needs more to be one."""

    kind: str
    name: str
    written: str


class _Remembered(dict[str, tuple[Shape, ...]]):
    def __missing__(self, token: str) -> tuple[Shape, ...]:
        if len(self) >= _REMEMBERED:
            self.clear()
        found = self[token] = tuple(_shapes(token)) if len(token) <= _TOKEN_CHARS else ()
        return found


SHAPES = _Remembered()  # all that a word is by its shape; nothing for an ordinary one


def shapes(token: str) -> tuple[Shape, ...]:
    """All that a word is by its shape; nothing for an ordinary one."""
    return SHAPES[token]


def _shapes(token: str) -> list[Shape]:
    if token.isalpha() and token.isascii():
        return _plain(token) if len(token) > 1 else []
    found_in = _FOUND_IN.fullmatch(token) if token.count(":") > 1 else None
    if found_in:
        return [*_path(found_in[1]), *_shapes(found_in[2])]
    if "/*" in token or "*/" in token or "*." in token:
        return []  # a glob, or the frame of a comment
    word = token.strip("*").lstrip("=:&?%+").rstrip(".:?=&*\\-+")
    word = word if len(word) > 1 else ""
    if word.isalpha() and word.isascii():
        return _plain(word)
    if "..." in word and not _RANGE.fullmatch(word):
        return [shape for part in word.split("...")[:2] if part for shape in _shapes(part)]
    return _address(word) or _number(word) or _path(word) or _identifier(word)


def _plain(word: str) -> list[Shape]:
    if word in known_names() or word in known_phrases():
        return [Shape("known", word, word)]
    if word.islower():
        return []
    return _identifier(word)


def _address(word: str) -> list[Shape]:
    if "://" in word:
        found = _URL.match(word)
        if not found or len(found[1]) < 3 or not word.startswith(("http", "ws", "ssh://git@")):
            return []
        written = word.rstrip("/")
        name = found[1].lower() + (found[2] or "").rstrip("/")
        return [Shape("url", name, written), *_hosted(found[1].lower(), found[2] or "", written)]
    if "@" in word:
        return _at(word)
    if ":" in word and _LOCAL.fullmatch(word):
        return [Shape("url", word, word)]
    host = _HOST.fullmatch(word) if "." in word else None
    if host and host[1] in words("domains") and word not in known_names():
        if _hosted(word.partition("/")[0], host[2] or "", word):
            return [Shape("import", word, word)]
        return [Shape("url", word, word)] if not (host[2] or "") or host[1] in ("com", "org", "net") else []
    return []


def _hosted(host: str, path: str, written: str) -> list[Shape]:
    """What an address at a host of repositories speaks of besides."""
    parts = [part for part in path.split("/") if part]
    if (
        not _GIT_HOST.fullmatch(host)
        or len(parts) < 2
        or parts[0] in ("orgs", "features", "settings", "apps")
    ):
        return []
    repository = f"{parts[0]}/{parts[1].removesuffix('.git')}"
    found = [Shape("repository", repository, "/".join(parts[:2]))]
    if len(parts) > 3 and parts[2] in ("pull", "issues", "pulls") and parts[3].isdigit():
        found.append(Shape("issue", f"{repository}#{parts[3]}", f"{parts[2]}/{parts[3]}"))
    if len(parts) > 3 and parts[2] == "commit" and _HASH.fullmatch(parts[3]):
        found.append(Shape("commit", parts[3][:7], parts[3]))
    return found


def _at(word: str) -> list[Shape]:
    remote = _REMOTE.fullmatch(word)
    if remote:
        return [Shape("repository", remote[1], word)]
    email = _EMAIL.fullmatch(word)
    if email:
        name = word.partition("@")[0]
        if name in ("root", "ubuntu", "git", "admin", "deploy", "ec2-user") and not word.startswith("git@"):
            return [Shape("url", email[1].lower(), email[1])]
        return [Shape("person", word.lower(), word)] if name not in ("git", "noreply") else []
    if word[0] == "@" and _is_file(word):
        scope, slash, rest = word[1:].partition("/")
        if not slash or scope in words("folder names") or scope in ("~", ""):
            return [Shape("file", word[1:], word[1:])]
        package = f"@{scope}/{rest.partition('/')[0]}"
        return [Shape("library", package, package)] if "/" in rest else []
    if _LOGIN.fullmatch(word):
        return [Shape("url", word.partition("@")[2], word.partition("@")[2])]
    versioned = _VERSIONED.fullmatch(word)
    if versioned:
        return [Shape("library", versioned[1], versioned[1])]
    if word.endswith("@origin") and len(word) > 7:
        return [Shape("branch", word.removesuffix("@origin"), word)]
    action = _ACTION.fullmatch(word)
    if action:
        return [Shape("repository", action[1], action[1])]
    if _PACKAGE.fullmatch(word) and "." not in word.partition("/")[2]:
        kind = "module" if word.partition("/")[0] in words("path aliases") else "library"
        return [Shape(kind, word, word)]
    if word[0] == "@" and "/" in word and word.partition("/")[0] in words("path aliases"):
        return [Shape("module", word, word)]
    if word[0] == "@" and len(word) > 2 and not word[1:2].isspace():
        return [each for each in _path(word[1:]) if each.kind in ("file", "folder")]
    return []


def _number(word: str) -> list[Shape]:
    issue = _ISSUE.fullmatch(word) if "#" in word or word[2:3] == "-" else None
    if issue:
        number = Shape("issue", f"{issue[1] or ''}#{issue[2]}", word)
        return [number, Shape("repository", issue[1], issue[1])] if issue[1] else [number]
    ticket = _TICKET.fullmatch(word) if "-" in word else None
    if ticket:
        return [Shape("issue", word, word)] if ticket[1] not in words("not tickets") else []
    if 7 <= len(word) <= 40 and _HASH.fullmatch(word) and not word.isdigit() and not word.isalpha():
        return [Shape("commit", word[:7], word)]
    between = _RANGE.fullmatch(word) if ".." in word else None
    if between:
        return [Shape("range", each[:7], each) for each in between.groups() if not each.isdigit()]
    return []


# -- paths -------------------------------------------------------------------------------------------


def _path(word: str) -> list[Shape]:
    if ":\\" in word[1:4] or ("\\" in word and "/" not in word):
        return _windows(word)
    bare = _POSITION.sub("", word) if (":" in word and word[-1].isdigit()) or "#L" in word else word
    if "/" not in bare:
        return _bare_name(bare)
    if _ROUTE.fullmatch(word.partition("?")[0]):
        return [Shape("api_endpoint", word.partition("?")[0], word)]
    if not _SEGMENTS.fullmatch(bare.lstrip("/")) or "//" in bare:
        return []
    return _slashed(bare)


def _windows(word: str) -> list[Shape]:
    path = re.sub(r"(\.\w{1,10})[-:]\d+(?:[-:].*)?$", r"\1", word.replace("\\\\", "\\"))
    slashed = path.replace("\\", "/")
    if path[1:2] == ":":
        return [Shape(_path_kind(slashed), path, path if path in word else word)]
    return [Shape("file", slashed, path)] if _SEGMENTS.fullmatch(slashed) and _is_file(slashed) else []


def _slashed(path: str) -> list[Shape]:
    first, _, rest = path.lstrip("~").removeprefix("/").partition("/")
    if path.startswith(("/", "~/")):
        if path.startswith("/") and first not in words("root folders"):
            return [Shape("route", path, path)] if not _is_file(path) else [Shape("file", path, path)]
        return [Shape(_path_kind(path), path, path)] if rest else []
    if path.startswith(("./", "../")):
        return [Shape(_path_kind(path), path, path)] if path.strip("./") else []
    if _is_file(path):
        bare = rest if first in ("a", "b") and rest else path  # as a diff writes it
        return [Shape("file", bare, bare)]
    if path.startswith("origin/") and rest:
        return [Shape("branch", rest, path)] if rest != "HEAD" else []
    if path.endswith("/"):
        return [Shape("folder", path, path)] if not path[:1].isdigit() and path.count("/") < 12 else []
    if first in words("branch prefixes") and _TELLING.search(rest):
        return [Shape("branch", path, path)]
    if first in words("folder names"):
        return [Shape("folder", path, path)]
    parts = path.split("/")
    known = [each for part in parts for each in _plain(part) if each.kind == "known"]
    if known:
        return known
    return [Shape("pair", path, path)] if len(parts) == 2 else []


def _path_kind(path: str) -> str:
    parts = path.rstrip("/").split("/")
    if not path.endswith("/") and (_is_file(path) or "bin" in parts[-2:-1]):
        return "file"
    return "folder"


def _is_file(path: str) -> bool:
    name = path.rpartition("/")[2]
    if name in words("file names") or name.startswith(".env"):
        return True
    found = _EXTENSION.fullmatch(name)
    return found is not None and (
        found[2].lower() in words("extensions") or found[2] in words("weak extensions")
    )


def _bare_name(name: str) -> list[Shape]:
    if name in words("file names") or _ENV_FILE.fullmatch(name):
        return [Shape("file", name, name)]
    if name in words("bare folders"):
        return [Shape("folder", name, name)]
    if "." not in name or name in known_names():
        return []
    found = _EXTENSION.fullmatch(name)
    if not found or not found[1] or found[1].replace(".", "").isdigit():
        return []
    base, extension = found[1], found[2]
    if "::" in base or base.startswith("$"):
        return []
    if base in words("file bases that are objects") and (
        extension in words("weak extensions") or extension == "json"
    ):
        return []
    if extension in words("weak extensions"):
        return [Shape("maybe file", name, name)] if len(base) > 1 else []
    return [Shape("file", name, name)] if extension in words("extensions") else []


# -- identifiers -------------------------------------------------------------------------------------


def _identifier(word: str) -> list[Shape]:
    if word in known_names() or word in known_phrases():
        return [Shape("known", word, word)]
    if "-" in word and _CMDLET.fullmatch(word):
        return [Shape("function", word, word)]
    compound = _COMPOUND.fullmatch(word) if "-" in word else None
    if compound and compound[1] in known_names():
        return [Shape("known", compound[1], compound[1])]
    if "." in word or ":" in word:
        return [Shape("qualified", word, word)] if _QUALIFIED.fullmatch(word) else []
    name = word.lstrip("$")
    if not name.isidentifier():
        return []
    if _SCREAMING.fullmatch(name):
        if name in words("env names") or ("_" in name and any(map(name.endswith, words("env endings")))):
            return [Shape("env_var", name, word)]
        return [Shape("screaming", name, word)]
    if "_" in word and _SNAKE.fullmatch(word):
        return [Shape("snake", word, word)]
    if _CAMEL.fullmatch(word):
        return [Shape("camel", word, word)]
    if _PASCAL.fullmatch(word):
        return [Shape("pascal", word, word)]
    return []


def is_verbal(name: str, *, weak: bool = False) -> bool:
    """Whether an identifier begins with something to do, as the names of functions do.

    Verbs that are nouns, too, make names of fields; they count only if asked for.
    """
    parts = [part.lower() for part in _PARTS.findall(name)]
    return (
        len(parts) > 1
        and parts[0] in words("verbs")
        and (
            weak
            or parts[0] not in words("weak verbs")
            or (len(parts) > 2 and parts[0] not in words("noun verbs"))
        )
    )
