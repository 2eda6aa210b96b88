"""What settings and manifests hold: their keys and sections, and the packages that a project needs."""

from __future__ import annotations

import re

from recollect.insight.entities.lines import lines_with
from recollect.insight.entities.mention import Gathered
from recollect.insight.entities.shell import read_command
from recollect.insight.entities.words import known_names, words

LINES_MAX = 400

_JSON_KEY = re.compile(r"\s*\"([\w@./$: -]{1,80})\"\s*:\s*(.*)")
_JSON_ITEM = re.compile(r"\s*\"([@\w./-]{1,80})\",?\s*$")
_SECTION = re.compile(r"\s*\[\[?\s*([\w.\"'@/ -]{1,80}?)\s*\]\]?\s*$")
_ASSIGNED = re.compile(r"\s*([\w.-]{1,60}|\"[^\"]{1,60}\")\s*=\s*(.*)")
_YAML_KEY = re.compile(r"( {0,4})([\w-]{2,50}):(?: (.*)|$)")
_ALLOWED = re.compile(r"Bash\(([a-z][\w ./-]{1,80})")  # what an agent may run without asking
_KEY = re.compile(r"[\w.@-]{2,60}")
_PACKAGE = re.compile(r"(?:@[\w.-]+/)?[A-Za-z][\w.-]*")
_VERSION = re.compile(r"\"?[\^~>=<v]*\s*\d|\"?(?:workspace|npm|file|latest|\*)|\{")
_SETTINGS = re.compile(
    r".*\.(?:toml|ini|cfg|jsonc)|\.\w+rc(?:\.json|\.ya?ml)?|.*(?:config|settings)[\w.-]*\.(?:json|ya?ml)"
    r"|\..*\.ya?ml"
)
_REQUIRED = re.compile(r"([A-Za-z][\w.-]*)(?:\[[\w,]+\])?\s*(?:[=<>~!]=|>|<|$)")
_GO_REQUIRED = re.compile(r"\s*(?:require )?([a-z][\w.-]*\.[a-z]+/[\w./-]+) v\d")


_ENDINGS = (".json", ".toml", ".yml", ".yaml", ".ini", ".cfg")
_FILE = r"[\w./@~-]*\w\.(?:jsonc?|toml|ya?ml|ini|cfg)\b"
_TICKED = r"((?:`[A-Za-z][\w.-]*`(?:/|, | and |、|と)?){1,6})"
_FILES = re.compile(_FILE)
_KEY_IN = re.compile(
    rf"{_TICKED}(?: (?:key|field|entry|section|option|setting|block|entries|\w+s))?"
    rf" (?:in|of|to|from|inside) (?:the |your |my |our )?\[?`?({_FILE})"
)
_KEY_OF = re.compile(rf"({_FILE})`?(?: ?の ?|\'s ){_TICKED}")
_KEY_SET = re.compile(
    r"`([A-Za-z][\w.-]*)(?: ?= ?|: )(\"[^\"`\n]*\"|'[^'`\n]*'|\d[\d.]*(?=`)|true(?=`)|false(?=`)|[\[{])"
)
_KEY_BELOW = re.compile(r"`((\w+)\.[\w.-]+)`")
_BRACKETED = re.compile(r"(?<=[ `(*/])(\[{1,2}[a-z][\w-]*(?:\.[\w-]+)*\]{1,2})(?![(\w\[:])")


def is_settings(path: str) -> bool:
    """Whether a file holds settings, by its name."""
    name = path.replace("\\", "/").rpartition("/")[2]
    if name in words("config names") or name in words("manifest names"):
        return True
    return bool(_SETTINGS.fullmatch(name)) or ".github/workflows/" in path


def settings_named(text: str) -> str:
    """The file of settings that a text names last, "" for none."""
    return next((each for each in reversed(_FILES.findall(text)) if is_settings(each)), "")


def read_settings(text: str, path: str, found: Gathered) -> None:
    """The keys of a file of settings, and the packages that it lists."""
    name = path.replace("\\", "/").rpartition("/")[2]
    lines = text.split("\n", LINES_MAX)[:LINES_MAX]
    if name == "go.mod":
        for line in lines:
            required = _GO_REQUIRED.match(line)
            if required:
                found.add("library", "/".join(required[1].split("/")[:3]), required[1])
    elif name.startswith("requirements"):
        for line in lines:
            required = _REQUIRED.match(line)
            if required:
                found.add("library", required[1])
    elif name.endswith((".toml", ".cfg", ".ini", "config")):
        _read_toml(lines, name in words("manifest names"), found)
    elif name.endswith((".yml", ".yaml")):
        _read_yaml(lines, found)
    else:
        _read_json(lines, name in words("manifest names"), found)


def read_named_keys(text: str, found: Gathered) -> None:
    """The keys of settings that sentences speak of beside the file that has them."""
    for line in lines_with(text, _ENDINGS):
        named = [each for each in _FILES.findall(line) if is_settings(each)]
        if not named or ("`" not in line and "[" not in line):
            continue
        for keys, path in (*_KEY_IN.findall(line), *((keys, path) for path, keys in _KEY_OF.findall(line))):
            if is_settings(path):
                for key in keys.split("`")[1::2]:
                    _add_named(key, found)
        is_manifest = any(each.rpartition("/")[2] in words("manifest names") for each in named)
        for key, value in _KEY_SET.findall(line):
            if is_manifest and _is_package(key, value):
                found.add("library", key)
            else:
                _add_named(key, found)
        for key, root in _KEY_BELOW.findall(line):
            if root in words("settings roots"):
                _add_named(key, found)
        if any(each.endswith((".toml", ".ini", ".cfg")) for each in named):
            for section in _BRACKETED.findall(line):
                _add_named(section.strip("[]"), found)


def _add_named(key: str, found: Gathered) -> None:
    if not is_settings(key) and not found.has("file", key) and not found.has("function", key):
        _add_key(key, found)


def _read_json(lines: list[str], is_manifest: bool, found: Gathered) -> None:
    section = ""
    for line in lines:
        for command in _ALLOWED.findall(line):
            read_command(command, found)
        key = _JSON_KEY.match(line)
        if key:
            name, value = key[1], key[2].rstrip(",")
            if value in ("{", "[") or (
                value.startswith(("{", "[")) and section not in words("dependency sections")
            ):
                section = name
                _add_key(name, found)
            elif section in words("dependency sections") or (
                _PACKAGE.fullmatch(name) and is_manifest and re.match(r"\"[\^~]\d", value)
            ):
                found.add("library", name)
            else:
                _add_key(name, found)
                if section == "scripts":
                    read_command(value.strip('"'), found)
        elif is_manifest and (section in words("dependency sections") or not section):
            item = _JSON_ITEM.match(line)
            if (
                item
                and _PACKAGE.fullmatch(item[1])
                and ("-" in item[1] or item[1][0] == "@" or section or item[1] in known_names())
            ):
                found.add("library", item[1])
        elif line.strip() in ("}", "},", "]", "],"):
            section = ""


def _read_toml(lines: list[str], is_manifest: bool, found: Gathered) -> None:
    section = ""
    for line in lines:
        opened = _SECTION.match(line)
        if opened:
            section = opened[1]
            _add_key(section, found)
            continue
        assigned = _ASSIGNED.match(line)
        if assigned:
            name = assigned[1].strip('"')
            listed = section.rpartition(".")[2] in words("dependency sections")
            if (listed or (is_manifest and not section)) and _is_package(name, assigned[2]):
                found.add("library", name)
            else:
                _add_key(name, found)


def _is_package(name: str, value: str) -> bool:
    return bool(_VERSION.match(value)) and name not in words("keys that are no packages")


def _read_yaml(lines: list[str], found: Gathered) -> None:
    for line in lines:
        key = _YAML_KEY.match(line)
        if key:
            _add_key(key[2], found)


def _add_key(name: str, found: Gathered) -> None:
    if _KEY.fullmatch(name) and not name.isdigit() and "/" not in name:
        found.add("config_key", name)
