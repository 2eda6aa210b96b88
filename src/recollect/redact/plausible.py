"""Is this value a secret, or does it only stand for one? Asked of short values, without a dictionary.

A random token changes between capitals, small letters and digits all the time, or puts letters together
that no word does; a name that somebody made up does neither. `YOUR_API_KEY`, `xxxx`, `${TOKEN}` and the keys
that AWS prints in its manual are no secrets, whatever they stand behind.
"""

from __future__ import annotations

import base64
import binascii
import re

_OWN_LETTERS = 3  # so many are left of a word that is no stand-in
VALUE_CHARS = 128  # so much of a value is judged; what is masked may be longer


def is_filler(value: str) -> bool:
    """Whether a value only stands for one."""
    if _VARIABLE.search(value):
        return True
    rest = {each for each in _FILLER.sub("", value) if each.isalnum()}
    if any(map(_is_own, _LETTERS.findall(value))):
        return False
    return len(rest) < min(8 if len(value) >= 16 else 6, (len(value) + 1) // 2)


def _is_own(word: str) -> bool:
    """Whether a word only has one of the fillers inside: `thistle`, `monkey`."""
    left = len(_FILLER.sub("", word))
    return _OWN_LETTERS <= left < len(word) and left * 5 >= len(word) * 2


def without_filler(value: str) -> str:
    """What is left of a value without the words that stand-ins are made of."""
    return _FILLER.sub("", value)


def is_random(value: str) -> bool:
    """Whether a value looks drawn by lot: long, and neither a name nor a path nor a number."""
    if len(value) < 12 or len(set(value)) < 8 or is_filler(value) or "cdefghij" in value.lower():
        return False
    letters = sum(map(str.isalpha, value))
    digits = sum(map(str.isdigit, value))
    if _HEX.fullmatch(value) and letters >= 3 and len(value) >= 32:
        return digits > 0
    if letters * 5 < digits or letters + digits < len(value) * 0.7:
        return False
    if _HEX.fullmatch(value):
        return digits > 0 and len(value) >= 16
    if not digits:
        return len(value) >= 16 and _is_unspeakable(value)
    joined = len(value) - letters - digits > len(value) / 10  # as the words of names and paths are
    changing = letters + digits < len(_CHUNK.findall(value)) * (2.3 if joined else 2.9)
    return changing or (not joined and len(value) >= 16 and _is_unspeakable(value))


def is_password(value: str) -> bool:
    """Whether a value could be a password that somebody made up: no ordinary word, name or path."""
    if len(value) < 6 or any(map(str.isspace, value)) or is_filler(value):
        return False
    if is_random(value):
        return True
    if _PATH.match(value) or not any(map(str.isalpha, value)):
        return False
    return not _NAME.fullmatch(value) or (len(value) >= 8 and value.isalnum() and _is_odd(value))


def is_worded(value: str) -> bool:
    """Whether a value can be a password made of words, where nothing but a password would stand.

    Told from a name in a program by what such names are made of: `user_password`, `config.value`.
    """
    if len(value) < 6 or not _WORDED.fullmatch(value) or is_filler(value) or _CODE.search(value):
        return False
    return len(value) >= 8 or any(map(str.isdigit, value))


def decoded(value: str) -> str:
    """Base64 of either alphabet, read back; "" unless it begins as text does."""
    plain = value.rstrip("=").translate(_STANDARD)
    plain = plain[:-1] if len(plain) % 4 == 1 else plain
    try:
        if not plain.isascii() or not _is_text(binascii.a2b_base64(_padded(plain[:16]))):
            return ""
        return base64.b64decode(_padded(plain)).decode("utf-8", "replace")
    except binascii.Error:
        return ""


_LETTERS = re.compile(r"(?<![A-Za-z])[A-Za-z]?[a-z]{5,24}(?![A-Za-z])")
_HEX = re.compile(r"[0-9a-fA-F-]+")
_CHUNK = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_NAME = re.compile(r"[A-Za-z]*+(?:[_.\-: ]++[A-Za-z]*+)*+[0-9]?")
_PATH = re.compile(  # also a host with its port, and an address
    r"\.{0,2}[/\\]|~|[*&]|[A-Za-z]{1,8}:[\\/]|[a-z][a-z0-9+.-]{1,20}://|[\w.-]++/[\w./-]++$"
    r"|(?:[\w.+-]++@)?[a-z][a-z0-9.-]*+(?:(?<=\.[a-z]{2})|(?<=\.[a-z]{3})|:[0-9]{2,5})(?::[0-9]{2,5})?$"
)
_VARIABLE = re.compile(
    r"\$\{|\$\(|\{\{|\}\}|%\(|<[a-z]|\.\.\.|…|\*\*\*|•|^[<{]|^\$[A-Z_]\w*$|^%[A-Z_]*%?$|^\[[a-z]|process\.env|\benviron"
    r"|(?<![A-Za-z0-9])redacted(?![A-Za-z0-9])",
    re.IGNORECASE,
)
_FILLER = re.compile(
    r"""example|sample|dummy|fake|mock|place.?holder|change.?(?:me|this|it)|replace|insert|enter|removed|hidden
    |masked|your|some|here|goes|this|that|test(?:ing)?|foo|bar|baz|qux|abc(?:d(?:ef(?:gh(?:ij)?)?)?)?|super|default
    |pass(?:word|wd)?|pwd|secret|token|api|key|value|string|none|null|undefined|todo|user(?:name)?|admin|root|demo
    |fixture|invalid|valid|wrong|(?:no)?(?:upper|lower)case|0?123(?:4(?:5(?:6(?:7(?:89?0?)?)?)?)?)?|(.)\1{3,}""",
    re.IGNORECASE | re.VERBOSE,
)

_WORDED = re.compile(r"[A-Za-z]++(?:[_-]?[A-Za-z0-9]++){0,8}[!?*.#]?")
_CODE = re.compile(
    r"""pass|pwd|^pw|pw$|secret|token|(?<![a-z]{3})key|(?:api|cret|vate|auth|cess)key|cred|auth|user|login|conf|env|setting|option|arg|param|input|value|string|text
    |data|hash|field|form|null|none|true|false|require|encrypt|decrypt|plain|generat|valid|default|file|path|prompt|read
    |^(?:new|old|raw|get|set|is|has|my|self|this|admin|postgres|mysql|redis|mongo|root|guest|hidden|never|optional)
    |sha[0-9]|md5|base64|utf|varchar|bool|missing|wrong|incorrect|blank|empty|unset|mismatch|policy|length""",
    re.IGNORECASE | re.VERBOSE,
)

# Pairs of letters that make up most of English, and of names in programs.
_PAIRS = frozenset(
    re.findall(
        r"[a-z]+",
        "th he in er an re nd at on nt ha es st en ed to it ou ea hi is or ti as te et ng of al de se le "
        "sa si ar ve ra ld ur ro ri io ne me li el la ta co no ce ec ic us ss ie em ac ma om il ee ch ll "
        "be pr ct ca so di ge id tr un ho sh wi fo po pe ai ut lo ns rs ad ke ey ol mo ot ow pa am ig ap "
        "im su ul ir op ts cl ci ck ab bl ex qu",
    )
)


def _is_unspeakable(value: str) -> bool:
    """Whether hardly any two letters stand together as they do in words."""
    low = value.lower()
    pairs = [low[at : at + 2] for at in range(len(low) - 1) if low[at : at + 2].isalpha()]
    return len(pairs) >= 5 and sum(pair in _PAIRS for pair in pairs) < len(pairs) * 0.36


def _is_odd(value: str) -> bool:
    return _is_unspeakable(value) or len(value) < len(_CHUNK.findall(value)) * 2.4


_STANDARD = str.maketrans("-_", "+/")
_PRINTABLE = bytes(range(0x20, 0x7F)) + b"\t\n\r"


def _padded(plain: str) -> str:
    return plain + "=" * (-len(plain) % 4)


def _is_text(head: bytes) -> bool:
    return not head.translate(None, _PRINTABLE)
