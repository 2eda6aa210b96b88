"""What stands in a secret's place and is none: types, nothing, labels, messages, references, names of things.

The lists are data: `nonvalues.toml`. A rule that is certain that a value stands here (a string
given to a password's name, a line of configuration, an option) asks `is_given`: anything but these.
"""

from __future__ import annotations

import re
import tomllib
from functools import lru_cache
from pathlib import Path

from recollect.redact.plausible import is_filler, without_filler

GIVEN_LEAST = 5  # shorter words are read as labels, flags and names


@lru_cache(4096)
def is_given(value: str) -> bool:
    """Whether a value that stands where a password is given can be one, of whatever it is made."""
    if len(value) < GIVEN_LEAST or not _LETTER.search(value) or _REFERENCE.search(value):
        return False
    if _STAND_IN.search(value) or not _ASCII.search(value):
        return False
    parts = _parts(value)
    if is_filler(value) and all(len(without_filler(part)) < _OWN_LETTERS for part in parts):
        return False
    if any(part in NAMES for part in parts) or all(part in WORDS or part.isdigit() for part in parts):
        return False
    return not _BLANK.search(value) or is_phrase(value)


def is_nonvalue(value: str) -> bool:
    """Whether a value is a word of the lists, or made of nothing else."""
    if value.lower() in WORDS or value.lower() in NAMES:
        return True
    parts = _parts(value)
    return not any(part.isdigit() for part in parts) and all(part in WORDS or part in NAMES for part in parts)


def is_phrase(value: str) -> bool:
    """Whether words with blanks between are a passphrase: few, and none that a message is made of."""
    words = value.split()
    if not 2 <= len(words) <= 8 or not _PHRASE.fullmatch(value) or value[-1] in ".:":
        return False
    return not any(word.lower().strip("'-.!?") in MESSAGES for word in words)


def is_told(value: str) -> bool:
    """Whether a word of a sentence can be a password: joined from words or numbered, and no adjective."""
    if not is_given(value) or not _JOINED.search(value):
        return False
    return not any(part in ADJECTIVES or part.endswith(_ADJECTIVE_ENDS) for part in _parts(value))


def is_reference(value: str) -> bool:
    """Whether a value refers to another one: a variable, a call, a member of something."""
    return bool(_REFERENCE.search(value) or _MEMBER.fullmatch(value))


def _parts(value: str) -> list[str]:
    """The words that a value is made of, in small letters: at signs, digits and capitals a new one begins."""
    return [part.lower() for part in _PART.findall(value)]


_OWN_LETTERS = 4  # a word has a meaning of its own if so many letters are left of it: `rootbeer`
_LETTER = re.compile(r"[^\W\d_]")
_ASCII = re.compile(r"[A-Za-z0-9]")  # a label in another script has none
_STAND_IN = re.compile(
    r"change.?(?:me|this|it)|replace|example|placeholder|dummy|todo|xxxx|asdf|your[_.-]|password|passwd|passwort"
    r"|passphrase|pa?sword|pswd|secret(?!a)|(?:pass|pwd)$|^(?:pass|pwd|my|the|new|old)?pass(?-i:(?=[A-Z_0-9-]))",
    re.IGNORECASE,
)
_BLANK = re.compile(r"\s")
_PART = re.compile(r"[^\W\d_]?[^\W\d_A-Z]+|[A-Z]+|[0-9]+")
_PHRASE = re.compile(r"[\w!?*.'#-]{1,24}(?: [\w!?*.'#-]{1,24}){1,7}")
_JOINED = re.compile(r"[^\W_][\d_@#!$%^&+=~-]+[^\W_]|[^\W\d_][\d!#$%^&*+=~]+\Z")
_REFERENCE = re.compile(
    r"\$[\w{(]|^--?[a-z]|^[$%@&*<>{(\[.,:;|!#/\\~]|\{\{|\}\}|\{%|%[sdvq]|^%\w*%?$|\(\)|[(\[]$|::|->|=>|==|://|[<>]"
    r"|\.\.\.|…|\*\*\*|•|\?$|:$|\)$|^[A-Z][A-Z0-9]*_[A-Z0-9_]*$|^[^\s@]+@[^\s@]+\.[a-z]+$|^ENC\[|^\w:\\|\.(?:com|org|net|io|py|js|ts|go|rs|json|ya?ml|toml|txt|pem|key|crt|env|md|sh|html|php|java|local|internal)(?::[0-9]+)?$"
    r"|^[\w.-]*/[\w./-]*$|^[0-9a-f]{7,40}$|^[0-9.,:]+$|^\w+\[|^(?:[a-z]+ )?from\b"
)
_MEMBER = re.compile(r"[A-Za-z_]\w*(?:(?:\.|->|::)[A-Za-z_]\w*)+")

# -- the lists --------------------------------------------------------------------------------------

FILE = Path(__file__).with_name("nonvalues.toml")
_LISTS = {name: frozenset(words.split()) for name, words in tomllib.loads(FILE.read_text("utf-8")).items()}
NAMES, WORDS = _LISTS["names"], _LISTS["words"]
MESSAGES, ADJECTIVES = _LISTS["messages"], _LISTS["adjectives"]
_ADJECTIVE_ENDS = ("ed", "able", "ible", "less", "ing", "ful", "ive")
