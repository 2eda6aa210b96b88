"""Masking in rounds: secrets found, cut out, and what was found masked wherever else it stands.

Found by their own form (`tokens`), by where they stand (`contexts`) and by the name that they are given
(`assignments`), also inside base64 and percent-encoding. Twice is as once, and takes time in proportion to
the text. No promise that every secret is found. What carries a signature must not come here: a signed block
is kept or left out, never changed.
"""

from __future__ import annotations

import base64
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote

from recollect.redact.assignments import assigned_spans, field_kind
from recollect.redact.commands import command_spans
from recollect.redact.contexts import context_spans
from recollect.redact.places import OWN_CHARS, PLACE_CHARS, SHARED, gates, place_spans
from recollect.redact.plausible import decoded
from recollect.redact.readings import layered_parts, unlayered
from recollect.redact.statements import KEY_CHARS, key_spans, statement_spans
from recollect.redact.tokens import Span, token_spans
from recollect.redact.wrapped import wrapped_spans


def _nothing() -> Counter[str]:
    """What `Counter()` gives, in a tenth of its time: most texts hold no secret."""
    return Counter.__new__(Counter)


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text without its secrets, and how many of each kind were masked."""

    text: str
    found: Counter[str] = field(default_factory=_nothing)


def redact(text: str) -> Redacted:
    """The text with every secret in it masked."""
    if not has_secret(text):
        return Redacted(text)
    texts, found, _ = settle([text])
    return Redacted(texts[0], found)


def has_secret(text: str) -> bool:
    """Whether `redact` would change the text."""
    return any(map(_spans, _pieces(text)[::2])) if "[redacted:" in text else bool(_spans(text))


def redact_object(value: Any) -> tuple[Any, Counter[str]]:
    """Decoded JSON with every secret in its strings and keys masked, and nothing else changed."""
    holder, leaves, tables = [value], [], []
    todo: list[tuple[Any, Any]] = [(holder, 0)]
    while todo:
        place, key = todo.pop()
        item = place[key]
        if isinstance(item, str):
            leaves.append((place, key))
        elif isinstance(item, dict):
            place[key] = dict(item)
            tables.append(place[key])
            todo.extend((place[key], each) for each in item)
        elif isinstance(item, list):
            place[key] = list(item)
            todo.extend((place[key], each) for each in range(len(item)))
    found = _mask_in_place(leaves, tables)
    return holder[0], found


# -- objects ----------------------------------------------------------------------------------


def _mask_in_place(leaves: list[tuple[Any, Any]], tables: list[dict[Any, Any]]) -> Counter[str]:
    keys = list({key: None for table in tables for key in table if _may_hold(key)})
    kinds = [_field_kind(place, key) for place, key in leaves]
    texts, found, _ = settle([place[key] for place, key in leaves] + keys, kinds)
    for (place, key), text in zip(leaves, texts, strict=False):
        place[key] = text
    renamed = {old: new for old, new in zip(keys, texts[len(leaves) :], strict=True) if old != new}
    for table in tables if renamed else ():
        _rename(table, renamed)
    return found


def _may_hold(key: Any) -> bool:
    """Whether a key is more than the name of a field, which nearly all are."""
    return isinstance(key, str) and (len(key) >= 20 or not key.isidentifier())


def _field_kind(place: Any, key: Any) -> str:
    name = field_name(place, key)
    return field_kind(name, place[key]) if isinstance(name, str) else ""


def field_name(place: Any, key: Any) -> Any:
    """What a string is called: by its field, by the name beside it, or by the option before it.

    `{"name": "DB_PASSWORD", "value": ...}`, `["--token", ...]`
    """
    if isinstance(key, str):
        return place.get("name", place.get("key")) if key == "value" else key
    name = place[key - 1] if isinstance(key, int) and key > 0 else None
    return name if isinstance(name, str) and name.startswith("-") else None


def _rename(table: dict[Any, Any], renamed: dict[str, str]) -> None:
    items = list(table.items())
    table.clear()
    for key, value in items:
        new = renamed.get(key, key)
        while new in table:  # two secrets of a kind as keys stay two entries
            new += "'"
        table[new] = value


# -- rounds -----------------------------------------------------------------------------------

ROUNDS = 4
MASK = re.compile(r"(\[redacted:[a-z0-9-]{1,40}\])")


def settle(
    texts: Sequence[str], kinds: Sequence[str] = (), known: Mapping[str, str] | None = None
) -> tuple[list[str], Counter[str], dict[str, str]]:
    """The texts after as many rounds as it takes: a mask can lay bare what stood glued to the secret.

    `kinds` says which texts are a secret as a whole, `known` what else is one, with its kind. A text that
    does not settle was made not to, and is masked as a whole. Returns also what was found, with its kind.
    """
    settled, found = list(texts), Counter(filter(None, kinds))
    known = {**(known or {}), **{text: kind for text, kind in zip(texts, kinds, strict=False) if kind}}
    for at, kind in enumerate(kinds):
        settled[at] = _mask(kind) if kind else settled[at]
    stale, secrets = list(range(len(settled))), dict(known)
    for _ in range(ROUNDS):
        stale = _round(settled, stale, known, found)
        secrets |= known
        if not stale:
            break
        known = {}
    for at in stale:
        if has_secret(settled[at]):
            settled[at] = _mask("unsettled")
            found["unsettled"] += 1
    return settled, found, secrets


def _round(texts: list[str], stale: list[int], known: dict[str, str], found: Counter[str]) -> list[int]:
    """Masks what is found in the stale texts, and the same again in all; which texts that changed."""
    spans = {at: [_spans(piece) for piece in _pieces(texts[at])[::2]] for at in stale}
    for at, inside in spans.items():
        for piece, each in zip(_pieces(texts[at])[::2], inside, strict=True):
            for start, end, kind in each:
                value = piece[start:end]
                known[value] = kind
                if "\n" in value and kind != "private-key":  # it was broken over lines: each of them
                    known |= dict.fromkeys(value.split(), kind)
    forms = _forms(known)
    changed = [at for at, text in enumerate(texts) if any(spans.get(at, ())) or _holds(text, forms)]
    for at in changed:
        pieces = _pieces(texts[at])
        inside = spans.get(at) or [[] for _ in pieces[::2]]
        pieces[::2] = [
            _replace_spans(piece, _merge([*each, *_again(piece, forms, known)]), found)
            for piece, each in zip(pieces[::2], inside, strict=True)
        ]
        texts[at] = "".join(pieces)
    return changed


def _pieces(text: str) -> list[str]:
    """Text and masks by turns: what stands in a mask is read no more."""
    return MASK.split(text) if "[redacted:" in text else [text]


def _mask(kind: str) -> str:
    return f"[redacted:{kind}]"


def _replace_spans(text: str, spans: list[Span], found: Counter[str]) -> str:
    parts, at = [], 0
    for start, end, kind in spans:
        parts += [text[at:start], _mask(kind)]
        found[kind] += 1
        at = end
    return "".join(parts) + text[at:]


# -- spans ------------------------------------------------------------------------------------

_LEAST_CHARS = 6  # no value that is shorter is believed


def _spans(text: str) -> list[Span]:
    """Where secrets stand, as they are or encoded; in order, none overlapping."""
    if len(text) < _LEAST_CHARS:
        return []
    if _ONE_WORD.fullmatch(text):  # most strings of a log: ids, kinds, paths
        runs = "\n" + text if len(text) >= RUN_CHARS else ""
        spans = list(token_spans(text, runs)) if runs else []
    else:
        runs = _runs(text) if len(text) >= RUN_CHARS else ""
        spans = _plain_spans(text, runs, with_layers="\\" in text or "\x1b" in text, is_whole=True)
    if runs:
        if "\n" in text:
            spans += wrapped_spans(text, _inner_spans)
        if len(runs) > KEY_CHARS:
            spans += key_spans(text, runs)
        if _may_be_encoded(runs):
            spans += _encoded_spans(text)
    return _merge(spans) if spans else []


def _runs(text: str) -> str:
    """All of a text where a token could stand, each run of it after a line end, and once."""
    found = _RUN.findall(text)
    return "\n" + "\n".join(dict.fromkeys(found)) if found else ""  # most are paths, again and again


def _layered_spans(text: str, lowered: str, present: tuple[str, ...]) -> Iterator[Span]:
    """What shows in a text only as it reads, without colours and escapes."""
    for first, last in layered_parts(text, lowered, present):
        reading = unlayered(text[first:last])
        if reading.edits:
            # A token is cut by a colour or an escaped letter; by an escaped quote it only ends.
            cut = "\x1b" in text or text.find("\\u00", first, last) >= 0
            for start, end, kind in _plain_spans(reading.text, _runs(reading.text) if cut else ""):
                yield first + reading.start(start), first + reading.end(end), kind


def _string_spans(text: str, depth: int = 0) -> Iterator[Span]:
    """What shows in a string of JSON only if it is read by itself: its first line, and its last."""
    for match in _STRING.finditer(text):
        if _NAMED.search(match["held"]) and (" " in match["held"] or "\\" in match["held"]):
            reading = unlayered(match["held"])
            spans = _plain_spans(reading.text, "")
            if not depth and reading.text.startswith(_JSON):
                spans += _string_spans(reading.text, 1)
            for start, end, kind in spans:
                yield match.start("held") + reading.start(start), match.start("held") + reading.end(end), kind


_JSON = ("{", "[")
_NAMED = re.compile(r"pass|secret|cred|login|identified ", re.IGNORECASE)
_IN_STRINGS = frozenset({"pass", "secret", "cred", "login", "identified "})  # a word may be given to these
_STRING = re.compile(r"\"(?P<held>(?:[^\"\\]|\\.){12,4000})\"")


def _inner_spans(text: str) -> list[Span]:
    """What stands in a text that was made from another one, all of it taken for one run."""
    return _plain_spans(text, "\n" + text)


def _plain_spans(text: str, runs: str, *, with_layers: bool = False, is_whole: bool = False) -> list[Span]:
    spans = list(token_spans(text, runs)) if runs else []
    lowered = text.lower()
    if len(lowered) != len(text):  # some letters become two
        lowered = text.translate(_SMALL)
    # One search for each word serves all rules; most texts hold none of them.
    present = tuple(filter(lowered.__contains__, SHARED if len(text) >= OWN_CHARS else gates(text.isascii())))
    spans += context_spans(text, lowered, present)
    if present:
        spans += statement_spans(text, lowered, present)
        if len(text) < PLACE_CHARS:
            spans += place_spans(text, lowered, present)
    if present or "-" in text or "\\" in text or (len(text) < OWN_CHARS and "<<<" in text):
        spans += command_spans(text, present)
    if present or "_" in text:
        spans += assigned_spans(text, lowered, present)
    if with_layers:
        spans += _layered_spans(text, lowered, present)
    if (
        is_whole
        and text.startswith(_JSON)
        and len(text) < PLACE_CHARS
        and not _IN_STRINGS.isdisjoint(present)
    ):
        spans += _string_spans(text)
    return spans


_ONE_WORD = re.compile(r"[A-Za-z0-9_./-]*+")
RUN_CHARS = 20
_RUN = re.compile(rf"[A-Za-z0-9_%+/=.:~-]{{{RUN_CHARS},}}+")  # holds every token with a form of its own
_SMALL = {ord(each): each.lower() for each in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}


def _merge(spans: list[Span]) -> list[Span]:
    """Overlapping spans as one, of the kind that was named first: a form is more certain than a name."""
    merged: list[tuple[int, int, int]] = []
    for start, end, rank in sorted((start, end, rank) for rank, (start, end, _) in enumerate(spans)):
        if merged and start < merged[-1][1]:
            last = merged.pop()
            start, end, rank = last[0], max(last[1], end), min(last[2], rank)
        merged.append((start, end, rank))
    return [(start, end, spans[rank][2]) for start, end, rank in merged]


_BASE64_RUN = re.compile(r"[A-Za-z0-9+/_-]{24,}+={0,2}")
_PERCENT_RUN = re.compile(r"[A-Za-z0-9_.~%+/-]{8,}+")


# The beginning of text in base64, where a run may begin: the upper bit of each of three letters is not set.
_ENCODED = re.compile(
    r"[\n.:=~](?:[A-Za-f][A-HQ-Xg-nw-z0-3][ABEFIJMNQRUVYZcdghklopstwx014589][A-Za-z0-9+/_-]){4}"
    r"[A-Za-z0-9+/_-]{8}"
)


def _may_be_encoded(runs: str) -> bool:
    if "%" in runs:
        return True
    return bool(_ENCODED.search(runs)) and any(decoded(each[:24]) for each in _BASE64_RUN.findall(runs))


def _encoded_spans(text: str) -> Iterator[Span]:
    """Runs of base64 and of percent-encoding that hold a secret."""
    for match in _BASE64_RUN.finditer(text):
        inner = decoded(match[0])
        if inner and (spans := _inner_spans(inner)):
            yield (*match.span(), spans[0][2])
    for match in _PERCENT_RUN.finditer(text) if "%" in text else ():
        inner = unquote(match[0]) if "%" in match[0] else ""
        if inner and (spans := _inner_spans(inner)):
            yield (*match.span(), spans[0][2])


# -- what was found, once more ------------------------------------------------------------------

_KNOWN_CHARS = 8
_KNOWN_MAX = 64


def _forms(known: dict[str, str]) -> list[tuple[str, str]]:
    """How each secret that was found may be written elsewhere, with its kind; a plain word is left alone."""
    worth = [(value, known[value]) for value in known if len(value) >= _KNOWN_CHARS and not value.isalpha()]
    return [(form, kind) for value, kind in worth[:_KNOWN_MAX] for form in sorted(_written(value))]


def _written(value: str) -> set[str]:
    data = value.encode("utf-8", "surrogatepass")
    plain = {base64.b64encode(data).decode().rstrip("="), base64.urlsafe_b64encode(data).decode().rstrip("=")}
    login = decoded(value)  # read back, as a shell does it: all of it, for a plain word is left alone
    return {value, quote(data, safe=""), *plain, *([login] if _LOGIN.fullmatch(login) else [])}


_LOGIN = re.compile(r"[\w.@-]{1,40}:[^\s:]{4,100}")


_LOGIN_RUN = re.compile(r"[A-Za-z0-9+/_-]{8,400}+={0,2}")


def _holds(text: str, forms: list[tuple[str, str]]) -> bool:
    return any(form in piece for form, _ in forms for piece in _pieces(text)[::2])


def _again(text: str, forms: list[tuple[str, str]], known: dict[str, str]) -> Iterator[Span]:
    for match in _LOGIN_RUN.finditer(text) if known else ():
        login = decoded(match[0])
        kind = known.get(login.partition(":")[2]) if ":" in login else None
        if kind:
            yield (*match.span(), kind)
    for form, kind in forms:
        at = text.find(form)
        while at >= 0:
            yield at, at + len(form), kind
            at = text.find(form, at + len(form))
