"""What of an entry is indexed, and as what: pure functions from an entry to terms.

    body    what a person would read; of a tool call its arguments, not their JSON, and each line once
    whole   what the word analyzer would break, in one piece: `token_store.py`, `std::io::Error`, `v1.2.3`
    parts   what it would not break: the humps of `getUserName`
    cjk     Chinese, Japanese and Korean by pairs of characters, and by single ones
    file    paths that a tool call names, by every suffix; `dir` the same for the folders they are in

Identifiers of many texts are found at once, with numpy over their joined bytes: regular
expressions, ours or the index's, take longer than everything else together.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import re
import string
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import orjson

from recollect.agents.registry import all_tools
from recollect.store.contract import Array
from recollect.values.records import HIDDEN, Entry, Flag, Kind

BODY_CHARS_MAX = 2_000_000  # of one entry; what lies behind is found by /regex/ only
PATHS_MAX = 200  # of one tool call
TERM_CHARS_MAX = 100
EXPORTED_TERM = "exported"  # among the flags of a document; nobody asks for it by name
_GIST_CHARS = 1000
_NO_LETTERS = b"0123456789 \t\r\n"


@dataclass(frozen=True, slots=True)
class Identifiers:
    """The identifiers in a text, as terms separated by blanks."""

    whole: str = ""
    parts: str = ""


def is_indexed(entry: Entry) -> bool:
    """Whether an entry is searched: repetitions, and what Recollect itself put there, are not."""
    return not entry.flags & HIDDEN


def body_of(entry: Entry) -> str:
    """The words of an entry, valid Unicode, no longer than `BODY_CHARS_MAX`."""
    text = entry.text[:BODY_CHARS_MAX]
    if entry.kind == Kind.CALL and text.startswith("{"):
        text = _arguments(text)
    elif "\\n" in text and (text[:1] in ("{", "[", '"') or '\\"' in text):
        text = _unescaped(text)
    return encodable(text)


def encodable(text: str) -> str:
    """The text with lone surrogates replaced: an index takes UTF-8 only."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return text.encode("utf-8", "replace").decode()
    return text


def gist_of(body: str, *, exact: bool = False) -> int:
    """A number that texts share that begin alike but for digits, blanks and case; 0 for no text.

    `exact`: that are the same, as notes are of which each was saved on purpose.
    """
    if not body:
        return 0
    begin = body.encode() if exact else body[:_GIST_CHARS].lower().encode()
    letters = begin if exact else begin.translate(None, _NO_LETTERS) or begin
    return int.from_bytes(hashlib.blake2b(letters, digest_size=8).digest()) >> 1


def flags_of(entry: Entry) -> list[str]:
    """The names by which an entry's flags are asked for."""
    return [name for bit, name in _FLAGS.items() if entry.flags & bit] if entry.flags else []


def mark_term(value: str) -> str:
    """A tag or a channel as it is compared: in any case."""
    return encodable(value.casefold())


def files_of(entry: Entry) -> list[str]:
    """The paths a tool call names, as written but with `/`; a shell's command names none, a patch does."""
    if entry.kind != Kind.CALL:
        return []
    found = _named_paths(entry) + [path for patched in all_tools().patched for path in patched(entry.text)]
    paths = dict.fromkeys(encodable(path.replace("\\", "/")) for path in found)
    return [path for path in paths if path_term(path)][:PATHS_MAX]


@functools.lru_cache(4096)
def file_terms(path: str) -> tuple[str, ...]:
    """Every suffix of a path, by component: `c.py`, `b/c.py`, `a/b/c.py`."""
    names = path_term(path).split("/")[-_DEPTH_MAX:]
    return tuple(["/".join(names[at:]) for at in range(len(names))])


@functools.lru_cache(4096)
def dir_terms(path: str, itself: bool = False) -> tuple[str, ...]:
    """The same for every folder above a path, and for the path itself if it is a folder."""
    names = path_term(path).split("/")[-_DEPTH_MAX:]
    ends = range(1, len(names) + itself)
    return tuple([term for end in ends for term in file_terms("/".join(names[:end]))])


def names_folder(entry: Entry) -> bool:
    """Whether the paths of a call may be folders: a search in one, a listing."""
    return entry.tool.lower() in all_tools().look_in


def path_term(path: str) -> str:
    """A path as it is compared: lower case, `/` between names, no drive, root or dots in front."""
    names = path.replace("\\", "/").lower().split("/")
    kept = [name for name in names if name not in ("", ".", "..", "~")]
    return "/".join(kept[1:] if kept and _DRIVE.fullmatch(kept[0]) else kept)


def cjk_terms(text: str) -> str:
    """Pairs of neighbouring characters in order, then each character; blanks between them."""
    runs = _cjk_runs(text)
    pairs = [a + b for run in runs for a, b in pairwise(run)]
    return " ".join([*pairs, *dict.fromkeys("".join(runs))])


def cjk_query(text: str) -> list[str]:
    """The terms that together mean this text: pairs, and a character where it stands alone."""
    return [term for run in _cjk_runs(text) for term in ([a + b for a, b in pairwise(run)] or [run])]


def is_grammar(term: str) -> bool:
    """Whether a Japanese term has no character of a word's own: an ending, a particle, "was", "why"."""
    return _HIRAGANA.fullmatch(term) is not None


def whole_query(text: str) -> list[str]:
    """The identifiers of a query, each as one term."""
    found = [_clean(run.decode().lower()) for run in _runs([text])[0]]
    return [term for term in dict.fromkeys(found) if _is_compound(term)]


def split_humps(text: str) -> str:
    """The text with blanks where a word changes case as `getUserName` does."""
    return _HUMP.sub(" ", text)


def identifiers(texts: Sequence[str]) -> list[Identifiers]:
    """The identifiers in each of many texts, each once."""
    found = []
    for runs in _runs(texts):
        known = [_terms(run) for run in dict.fromkeys(runs)]
        whole = dict.fromkeys(term for each, _ in known for term in each)
        found.append(Identifiers(" ".join(whole), " ".join(parts for _, parts in known if parts)))
    return found


# -- words ----------------------------------------------------------------------------------


def _arguments(text: str) -> str:
    """The values of a tool's input, without the names that every call of the tool has."""
    try:
        return "\n".join(_once(_leaves(orjson.loads(encodable(text)))))
    except (ValueError, RecursionError):
        return _unescaped(text)


def _once(values: Iterable[str]) -> Iterator[str]:
    """The lines of some values; what a value shares with those before it only next to what is new in it.

    An edit has the text around a change twice. The lines beside a new one stay, so that a phrase goes on.
    """
    known: set[str] = set()
    for value in values:
        lines = value.split("\n")
        fresh = [line not in known for line in lines]
        beside = zip([False, *fresh], fresh, [*fresh[1:], False], strict=False)
        yield from (line for line, near in zip(lines, beside, strict=True) if any(near))
        known.update(lines)


def _leaves(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _leaves(each)
    elif isinstance(value, list):
        for each in value:
            yield from _leaves(each)
    elif value is not None and not isinstance(value, bool):
        yield str(value)


def _unescaped(text: str) -> str:
    """JSON as text: without this, `\\nfoo` would be the word `nfoo`."""
    if "\\u" in text:
        with contextlib.suppress(ValueError, RecursionError):
            text = orjson.dumps(orjson.loads(encodable(text))).decode()
    # An escaped backslash first becomes what no JSON holds, or `C:\\new` would lose its `n`.
    text = text.replace("\\\\", "\0")
    for escape, meant in _ESCAPES:
        text = text.replace(escape, meant)
    return text.replace("\0", "\\")


def _cjk_runs(text: str) -> list[str]:
    # Most texts with other than ASCII hold arrows and dashes; the bytes say so sooner than a pattern.
    if text.isascii() or not any(lead in data for data in (text.encode(),) for lead in _CJK_LEADS):
        return []
    return _CJK.findall(text)


_ESCAPES = (("\\n", "\n"), ("\\t", "\t"), ("\\r", "\n"), ('\\"', '"'), ("\\/", "/"))
_FLAGS = {
    Flag.ERROR: "error",
    Flag.SIDECHAIN: "sidechain",
    Flag.META: "meta",
    Flag.BOUNDARY: "boundary",
    Flag.SPILLED: "spilled",
    Flag.EXPORTED: EXPORTED_TERM,
}
_CJK = re.compile(
    "[\u3005-\u3007\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff"
    "\U00020000-\U0003ffff]+"
)
_HIRAGANA = re.compile("[\u3041-\u309f\u30fc]+")
_CJK_LEADS = tuple(bytes([lead]) for lead in (*range(0xE3, 0xEE), 0xEF, 0xF0))  # how those begin in UTF-8


# -- paths ----------------------------------------------------------------------------------


def _named_paths(entry: Entry) -> list[str]:
    """The arguments of a tool that are paths by their name."""
    if not entry.text.startswith("{") or not any(name in entry.text for name in _path_hints()):
        return []
    try:
        value = orjson.loads(encodable(entry.text))
    except (ValueError, RecursionError):
        return []
    found = (value.get(name) for name in all_tools().paths)
    return [path for path in found if isinstance(path, str) and "\n" not in path]


@functools.cache
def _path_hints() -> tuple[str, ...]:
    """What a text holds that names such an argument: most hold none, and are then not decoded."""
    names = all_tools().paths
    return tuple(name for name in names if not any(other != name and other in name for other in names))


_DRIVE = re.compile("[a-z]:")
_DEPTH_MAX = 16


# -- identifiers ----------------------------------------------------------------------------


def _runs(texts: Sequence[str]) -> list[list[bytes]]:
    """The runs in each text that hold something the word analyzer breaks, or does not but should."""
    data = [text.encode() for text in texts]
    joined = b"\n".join([b"", *data, b""])
    starts, stops = _spans(joined)
    ends = np.cumsum([len(each) + 1 for each in data])
    counts = np.searchsorted(starts, ends, "right").tolist()
    runs = [joined[a:b] for a, b in zip(starts.tolist(), stops.tolist(), strict=True)]
    return [runs[a:b] for a, b in pairwise([0, *counts])]


def _spans(data: bytes) -> tuple[Array, Array]:
    """Where the interesting runs of identifier characters begin and end; at either end of `data` is none."""
    kinds = np.frombuffer(bytearray(data.translate(_KINDS)), np.uint8)
    # A joint counts only between two identifier characters, and a colon only beside another.
    joints = np.flatnonzero(kinds >= _JOINT)
    before, at, after = kinds[joints - 1], kinds[joints], kinds[joints + 1]
    kinds[joints[(at == _COLON) & (before != _COLON) & (after != _COLON)]] = 0
    kinds[joints[(kinds[joints - 1] == 0) | (kinds[joints + 1] == 0)]] = 0
    uppers = np.flatnonzero(kinds == _UPPER)
    kinds[uppers[kinds[uppers - 1] == _LOWER]] |= _HUMPED
    inside = kinds != 0
    edges = np.flatnonzero(inside[1:] != inside[:-1]) + 1
    starts, stops = edges[0::2], edges[1::2]
    if not len(starts):
        return starts, stops
    wanted = np.bitwise_or.reduceat(kinds, starts) >= _UNDERSCORE
    return starts[wanted], stops[wanted]


@functools.lru_cache(200_000)
def _terms(run: bytes) -> tuple[tuple[str, ...], str]:
    """What a run is indexed as: its terms in one piece, and the humps of its words."""
    text = run.decode()
    low = text.lower()
    humps = split_humps(text) if low != text else ""
    # What changes case at every turn is a random id, not a name.
    humps = humps if 0 < len(humps) - len(text) <= len(text) / 4 + 1 else ""
    whole = _clean(low)
    if whole.isalnum():
        return (), humps
    pieces = [whole]
    if "/" in whole:
        pieces += [name.strip(_JOINTS) for name in whole.split("/")[-_DEPTH_MAX:]]
    if "_" in whole:
        pieces += _IDENTIFIER.findall(whole)[-_DEPTH_MAX:]
    return tuple([piece for piece in pieces if _is_compound(piece)]), humps


def _clean(low: str) -> str:
    """A run as one term: without what only surrounds it, and the line number `grep -C` puts behind a name."""
    text = low.replace("\\", "/").strip(_JOINTS)
    return _NUMBERED.sub("", text) if text[-1:].isdigit() and "-" in text else text


def _is_compound(text: str) -> bool:
    """Whether a term is one that the word analyzer would break and that somebody could ask for."""
    if text.isalnum() or not 2 < len(text) <= TERM_CHARS_MAX:
        return False
    if text[0].isdigit() and _NUMBER.fullmatch(text):
        return bool(_VERSION.fullmatch(text))
    return bool(text.strip("_")) if len(text) != 36 else not _UUID.fullmatch(text)


# What a byte is to an identifier; whatever makes a run interesting is `_UNDERSCORE` or more.
_LOWER, _UPPER, _DIGIT, _UNDERSCORE, _JOINT, _HUMPED = 1, 2, 4, 8, 16, 32
_COLON = _JOINT | 64
_JOINTS = "./\\-@:"
_KIND_OF = {
    **dict.fromkeys(string.ascii_lowercase, _LOWER),
    **dict.fromkeys(string.ascii_uppercase, _UPPER),
    **dict.fromkeys(string.digits, _DIGIT),
    "_": _UNDERSCORE,
    **dict.fromkeys("./\\-@", _JOINT),
    ":": _COLON,
}
_KINDS = bytes(_KIND_OF.get(chr(byte), 0) for byte in range(256))
_HUMP = re.compile("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z][a-z])")
_IDENTIFIER = re.compile("[a-z0-9]*_[a-z0-9_]*")
_NUMBERED = re.compile(r"(?<=\.[a-z]{2})-\d+$|(?<=\.[a-z]{3})-\d+$|(?<=\.[a-z]{4})-\d+$")
# Times, measures, coordinates: numbers with at most two letters. Their digits are words already.
_NUMBER = re.compile(r"[\d./\-@:_]*(?:[a-z][\d./\-@:_]*){0,2}")
_VERSION = re.compile(r"\d{1,5}(?:\.\d{1,5}){2,3}")
_UUID = re.compile("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
