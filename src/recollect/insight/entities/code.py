"""What source code defines, calls and brings in, in whatever language: by line, never by understanding it."""

from __future__ import annotations

import re
from functools import lru_cache

from recollect.insight.entities.mention import Gathered
from recollect.insight.entities.prose import add_import
from recollect.insight.entities.shapes import is_verbal, shapes
from recollect.insight.entities.words import known_names, words

_NUMBERED = re.compile(
    r"^[ \t]*(?:[\w./@+-]{1,200}[:-])?\d{1,6}(?:→|:|\t|-|[ \t]{2}|[ \t]+\d+:)", re.MULTILINE
)
_NUMBERED_CHARS = 600  # in so many characters it shows whether lines are numbered

# One look at the beginning of each line says most of it: what is declared there, and how. It begins with a
# line break, which is found sooner than `^`.
_DECLARED = re.compile(
    r"\n[ \t+-]*(?:(?:export|default|declare|pub(?:\([\w: ]+\))?|public|private|protected|internal|static"
    r"|abstract|final|sealed|async|const|unsafe|override|open|data|inline)[ \t]+)*"
    r"(def|fn|func|function\*?|fun|class|struct|enum|trait|interface|impl|type|protocol|record|mod|use|from|import)\b"
    r"(?:<[^>\n]{0,60}>)?[ \t]*([^\n]{1,400})"
)
_FUNCTION = re.compile(r"(?:\([^)\n]{0,80}\)[ \t]*)?([A-Za-z_]\w*)[ \t]*[(<\[]")
_TYPE = re.compile(r"([A-Z]\w*)")
_GO_TYPE = re.compile(r"(\w+)[ \t]+(?:struct|interface)\b")
_FOR = re.compile(r"[\w:<>', ]{1,80}?[ \t]for[ \t]+([A-Z]\w*)")
_ARROW = re.compile(
    r"(?:const|let|var)[ \t]+([A-Za-z_]\w*)(?:[ \t]*:[^=\n]{0,80})?[ \t]*=[ \t]*"
    r"(?:async\b[ \t]*)?(?:\([^)\n]{0,160}\)[^=\n]{0,60}|[A-Za-z_]\w*[ \t]*)=>"
)
_DELLAC = re.compile(r"\((\w{3,60})(?![\w$])")  # a call, in a text that is read from its end
_TYPE_USED = re.compile(
    r"[A-Z](?:(?<=[:<&(][A-Z])|(?<=[:>&] [A-Z])|(?<=new [A-Z])|(?<=nds [A-Z])|(?<= as [A-Z]))[A-Za-z0-9]+"
    r"(?=[>,)\]\[|;{?<(&\n:]| [=|{&])"
)
_COMPONENT = re.compile(r"<([A-Z]\w+)(?=[\s/>])")
_JS_FROM = re.compile(r"from\s*['\"]([^'\"\n]{1,120})['\"]")
_JS_LOADED = re.compile(r"(?:require|import)\(\s*['\"]([^'\"\n]{1,120})['\"]")
_JS_NAMES = re.compile(r"import\s+(?:type\s+)?(?:\w+\s*,\s*)?\{([^{}]{1,600})\}\s*from")
_QUOTED = re.compile(r"['\"]([^'\"\n]{1,120})['\"]")
_PY_NAMES = re.compile(r"([\w.]+)[ \t]+import[ \t]+([^\n#;]{1,300})")
_PY_MODULES = re.compile(
    r"([\w.]+(?:[ \t]+as[ \t]+\w+)?(?:,[ \t]*[\w.]+(?:[ \t]+as[ \t]+\w+)?)*)[ \t]*(?:[;#].*)?$"
)
_RUST_USE = re.compile(r"((?:\w+::)*\w+)(?:::\{([^{}]{1,400})|::\*|;|\s+as\b)")
_REIFILAUQ = re.compile(r"::([a-z0-9_]*[a-z_])(?![\w:])")  # read from the end, too
_GO_IMPORT = re.compile(r"^[+-]?[ \t]*(?:import[ \t]+)?(?:[\w.]+[ \t]+)?\"([a-z][\w./-]*)\"$", re.MULTILINE)
_ROUTED = re.compile(
    r"\.(?:get|post|put|patch|delete|route|all|GET|POST|PUT|PATCH|DELETE|Handle|HandleFunc|api_route)"
    r"\(\s*['\"`](?:[A-Z]+ )?(/[\w/:{}.*\[\]-]*)['\"`]"
)
_ENVIRONMENT = re.compile(
    r"env(?:\.|\[['\"]|\.get\(['\"])([A-Z][A-Z0-9_]+)|\$env:([A-Za-z_]\w+)"
    r"|(?:environ(?:\.get|\.setdefault)?|[gG]etenv|LookupEnv|[sS]etenv|delenv|env::var(?:_os)?)[\[(]\s*['\"]([A-Z]\w+)"
)
_TABLE = re.compile(
    r"\b(?:FROM|JOIN|INTO|UPDATE|TABLE(?: IF (?:NOT )?EXISTS)?|REFERENCES|INDEX(?: IF NOT EXISTS)? \w+ ON)"
    r"\s+[\"`\[]?([A-Za-z_]\w*(?:\.\w+)?)"
)
_STATEMENTS = ("SELECT", "INSERT INTO", "CREATE ", "UPDATE ", "DELETE FROM", "ALTER TABLE", "DROP TABLE")
_HUMP = re.compile(r"[a-z0-9][A-Z]|[A-Za-z0-9]_[A-Za-z0-9]")
_MARKUP = frozenset(("tsx", "jsx", "astro", "vue", "svelte", "mdx", "js"))
_SCRIPTS = frozenset(("ts", "tsx", "js", "jsx", "mjs", "cjs", "mts", "astro", "vue", "svelte"))


def without_numbers(text: str) -> str:
    """Lines without what a reader put in front of them: their number, the name of their file."""
    return _NUMBERED.sub("", text) if _NUMBERED.search(text, 0, _NUMBERED_CHARS) else text


def read_code(text: str, found: Gathered, *, language: str = "") -> None:
    """What code defines, calls, imports, asks of the environment and of a database."""
    for keyword, rest in _DECLARED.findall(f"\n{text}"):
        _read_declared(keyword, rest, found, language)
    _read_imports(text, found, language)
    if "=>" in text:
        for name in _ARROW.findall(text):
            _add_function(name, found)
    if "(" in text:
        _read_calls(text, found, is_go=language == "go" or "\nfunc " in text or ":= " in text)
        for path in _ROUTED.findall(text):
            found.add("api_endpoint", path)
    for name in dict.fromkeys(_TYPE_USED.findall(text)):
        if not name.isupper():
            _add_class(name, found)
    if language in _MARKUP and "<" in text:
        for name in dict.fromkeys(_COMPONENT.findall(text)):
            _add_class(name, found)
    if "env" in text:
        for groups in _ENVIRONMENT.findall(text):
            found.add("env_var", "".join(groups))
    read_statements(text, found)


def read_statements(text: str, found: Gathered) -> None:
    """The tables that statements of SQL speak of."""
    if any(each in text for each in _STATEMENTS):
        for name in _TABLE.findall(text):
            if name.lower() not in words("sql words") and len(name) > 1:
                found.add("database", name)


# -- declarations ------------------------------------------------------------------------------------


def _read_declared(keyword: str, rest: str, found: Gathered, language: str) -> None:
    if keyword in ("def", "fn", "func", "fun") or keyword.startswith("function"):
        named = _FUNCTION.match(rest)
        if named:
            _add_function(named[1], found)
    elif keyword == "mod":
        name = rest.rstrip(" ;{")
        if name.isidentifier() and rest.rstrip()[-1:] in ";{":
            found.add("module", name)
    elif keyword == "use":
        used = _RUST_USE.match(rest)
        if used:
            _add_rust(used[1], used[2] or "", found)
    elif keyword == "from":
        if language not in _SCRIPTS:
            named = _PY_NAMES.match(rest)
            if named:
                _add_python(named[1], found)
                _add_names(named[2].strip("( )\\"), found)
    elif keyword == "import":
        _read_import(rest, found, language)
    else:
        implemented = _FOR.match(rest) if keyword == "impl" else None
        named = implemented or _TYPE.match(rest) or (_GO_TYPE.match(rest) if keyword == "type" else None)
        if named:
            _add_class(named[1], found)


def _read_import(rest: str, found: Gathered, language: str) -> None:
    if rest[:1] in "'\"":
        quoted = _QUOTED.match(rest)
        if quoted:
            (_add_go if language == "go" else add_javascript)(quoted[1], found)
    elif language not in _SCRIPTS and language != "go":
        modules = _PY_MODULES.match(rest)
        for each in modules[1].split(",") if modules else ():
            _add_python(each.split(" as ")[0].strip(), found)


def _add_function(name: str, found: Gathered) -> None:
    if len(name) > 1 and name not in ("function", "async"):
        found.add("function", name)


def _read_calls(text: str, found: Gathered, *, is_go: bool) -> None:
    for name in filter(None, map(_called_name, dict.fromkeys(_DELLAC.findall(text[::-1])))):
        if name[0].isupper() and not is_go and "_" not in name:
            if not found.has("function", name):
                _add_class(name, found)
        else:
            found.add("function", name)


@lru_cache(maxsize=1 << 16)
def _called_name(backward: str) -> str:
    """What is called, from what stands there backwards; "" for what tells nothing."""
    name = backward[::-1]
    is_telling = _HUMP.search(name) and name not in words("builtins")
    return name if is_telling and not name.isupper() and not name[0].isdigit() else ""


def _add_class(name: str, found: Gathered) -> None:
    if (
        len(name) > 2
        and name not in words("builtin types")
        and name not in known_names()
        and not name.isupper()
    ):
        found.add("class", name)


# -- imports -----------------------------------------------------------------------------------------


def _read_imports(text: str, found: Gathered, language: str) -> None:
    if "import" in text:
        if language == "go" or "import (" in text:
            for path in _GO_IMPORT.findall(text):
                _add_go(path, found)
        for names in _JS_NAMES.findall(text) if "{" in text else ():
            _add_names(names, found)
    if "from" in text:
        for path in _JS_FROM.findall(text):
            add_javascript(path, found)
    if "require(" in text or "import(" in text:
        for path in _JS_LOADED.findall(text):
            add_javascript(path, found)
    if "::" in text:
        for backward in dict.fromkeys(_REIFILAUQ.findall(text[::-1])):
            if backward[::-1] in words("rust crates"):
                found.add("library", backward[::-1])


def _add_python(module: str, found: Gathered) -> None:
    top = module.partition(".")[0]
    if not module.replace(".", "").replace("_", "").isalnum():
        return
    if top in words("python packages"):
        found.add("library", top, module)
    elif module.strip("."):
        found.add("module", module)


def _add_names(names: str, found: Gathered) -> None:
    """The names that an import brings in: types, and what has the look of a function."""
    for part in names.replace("\n", ",").split(","):
        name = part.strip().removeprefix("type ").split(" as ")[0].strip("( )\\")
        if not name.isidentifier() or name in words("builtins"):
            continue
        if name[0].isupper() and not name.isupper():
            _add_class(name, found)
        elif (is_verbal(name, weak=True) and not name.isupper()) or name == "main":
            found.add("function", name)


def add_javascript(path: str, found: Gathered) -> None:
    """What an import path of JavaScript names: the project's own module, one of Node's, or a package."""
    if "://" in path:
        return
    if " " in path or path.startswith(("./", "../", "~", "#", "$", "@/", "/")):
        if any(each.kind == "file" for each in shapes(path)):
            found.add("file", path)
        elif path[:1] != "$" and " " not in path and len(path) > 2:
            found.add("module", path)
        return
    first, _, rest = path.partition("/")
    package = f"{first}/{rest.partition('/')[0]}" if first.startswith("@") and rest else first
    if ":" in first or first in words("node standard") or first in words("path aliases"):
        found.add("module", path)
        return
    known = known_names().get(package)
    if known and known.type == "framework":
        found.add("framework", known.name, path)
    elif not package.startswith("."):
        found.add("library", package, path)


def _add_go(path: str, found: Gathered) -> None:
    host, _, rest = path.partition("/")
    if "." in host:
        add_import(path, found)
    elif rest or path in words("go standard"):
        found.add("module", path)


def _add_rust(path: str, names: str, found: Gathered) -> None:
    parts = path.split("::")
    top, last = parts[0], parts[-1]
    is_standard = top in ("std", "core", "alloc")
    if top in words("rust crates"):
        found.add("library", top)
    elif len(parts) > 1 or names:
        module = path if names or not (last[0].isupper() or len(parts) > 2) else "::".join(parts[:-1])
        if module not in ("crate", "super", "self", "std"):
            found.add("module", module)
    if is_standard:
        return
    if not names and last[0].isupper():
        _add_class(last, found)
    elif not names and len(parts) > 2 and "_" in last:
        found.add("function", last)
    _add_names(names, found)
