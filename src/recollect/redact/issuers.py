"""The issuers of tokens, read from `issuers.toml` when the first text is masked.

A rule's patterns are compiled when its anchor first occurs in a text, which for most is never.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache, cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

from recollect.redact.plausible import decoded, is_filler, is_random

# A token may begin after an escape in source text (`\n`), in a URL (%3D), or after a colour (`\x1b[1m`).
START = (
    r"(?:(?<![A-Za-z0-9_])|(?<=\\[nrtbf])|(?<=%[0-9A-Fa-f]{2})|(?<=\\u00[0-9A-Fa-f]{2})"
    r"|(?<=\[m)|(?<=\[[0-9]m)|(?<=\[[0-9]{2}m))"
)
# The same, but not inside a run of base64, where any few letters occur.
ALONE = r"(?<![+/-])" + START
PARTS = r"(?:\.(?=[A-Za-z_-]{0,20}[0-9])[A-Za-z0-9_-]++)*+"  # after a dot, if no sentence begins there

# Between the lines of a key: line ends, also as escapes, and what a listing or a quotation puts there.
BETWEEN = r"(?:\\{1,8}[nrt]|[\s\"',>|#*:→]|\+(?=\s)|(?<=[\n\"])[+-](?!-)|[0-9]{1,6}(?=[\t→:|]))"
KEY_TAIL = (
    rf"[A-Za-z0-9+/=_-]*+(?:{BETWEEN}*+[A-Za-z0-9+/=_-]{{16,}}+)*+"
    rf"(?:(?:{BETWEEN}*+[A-Za-z0-9+/=]{{1,80}}+)?{BETWEEN}*+-{{4,5}} ?END [A-Za-z0-9 ]{{0,40}}-{{4,5}})?"
)

LETTERS = {"alnum": "A-Za-z0-9", "word": "A-Za-z0-9_-", "hex": "0-9a-f", "base64": "A-Za-z0-9+/=_-"}
FILE = Path(__file__).with_name("issuers.toml")


@dataclass(frozen=True)
class Rule:
    """One form: `head` is matched where an anchor begins, `tail` goes on from the secret to its end.

    Of the head's groups, `secret` is what gets masked and `body` what is judged.
    """

    kind: str
    anchors: tuple[str, ...]
    head_text: str
    tail_text: str
    believed: str
    follows: str = ""  # what comes after any of the anchors: a short one would hint at too much

    @property
    def is_bounded(self) -> bool:
        return self.head_text.startswith((START, ALONE))

    @cached_property
    def head(self) -> re.Pattern[str]:
        return re.compile(self.head_text)

    @cached_property
    def tail(self) -> re.Pattern[str]:
        return re.compile(self.tail_text)

    def accepts(self, match: re.Match[str]) -> bool:
        return is_believed(self.believed, match["body"])


@dataclass(frozen=True)
class SearchedRule:
    """A form without a beginning of its own: looked for all over a text that holds the anchor."""

    kind: str
    anchor: str
    pattern: re.Pattern[str]
    believed: str
    follows: str = ""

    def accepts(self, match: re.Match[str]) -> bool:
        return is_believed(self.believed, match["body"])


@dataclass(frozen=True)
class Group:
    """Rules, and `hints`: one of these finds something in any text where one of the rules could.

    What a hint finds ends with an anchor, unless it is the pattern of the group's only rule.
    """

    hints: tuple[re.Pattern[str], ...]
    rules: tuple[Rule, ...] = ()
    searched: tuple[SearchedRule, ...] = ()
    finders: tuple[re.Pattern[str], ...] = ()  # find every anchor, where the hints find one: slower

    def anchors_in(self, runs: str) -> set[str]:
        """The anchors that may be in the runs: some more than are, and none that is not of these rules."""
        found = {match[0] for finder in self.finders or self.hints for match in finder.finditer(runs)}
        return {anchor for each in found for anchor in self.ending(each)}

    @cache  # noqa: B019 (there are a few groups, and they stay)
    def ending(self, found: str) -> frozenset[str]:
        """The anchors that what was found ends with, and those that go on from it: `apk_user_` for `apk_`."""
        names = [anchor for rule in self.rules for anchor in rule.anchors]
        names += [rule.anchor for rule in self.searched]
        ends = [found[at:] for at in range(len(found))]
        return frozenset(name for name in names for end in ends if name.startswith(end) and end in self.words)

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(anchor for rule in self.rules for anchor in rule.anchors) | {
            rule.anchor for rule in self.searched
        }


@cache
def issuers() -> tuple[Group, ...]:
    """The rules of the file, by what hints at them, else in its order."""
    data = tomllib.loads(FILE.read_text("utf-8"))
    rules = (*map(_prefixed, data["prefixed"]), *map(_form, data["form"]))
    searched = tuple(map(_searched, data["searched"]))
    # An anchor of one letter hints at nothing, unless something follows it; its pattern does.
    lone = [each for each in searched if len(each.anchor) == 1 and not each.follows]
    return (
        _bounded(tuple(rule for rule in rules if rule.is_bounded)),
        _free(
            tuple(rule for rule in rules if not rule.is_bounded),
            tuple(each for each in searched if each not in lone),
        ),
        *(Group((each.pattern,), searched=(each,)) for each in lone),
    )


def _bounded(rules: tuple[Rule, ...]) -> Group:
    """Rules whose anchors must stand where a token may begin, as few letters of a text do."""
    anchors = _any_of(_followed(rules))
    # After an escape: one class of letters first, which `re` looks for faster than for a choice of them.
    escape = r"(?<=[\n\\])(?:[nrtbf]|u00[0-9A-Fa-f]{2})|(?<=[\n\[])[0-9]{0,3}m|(?<=%)[0-9A-Fa-f]{2}"
    escaped = re.compile(rf"[\n\\\[%](?:{escape}){anchors}")
    hint, finder = (re.compile(before + anchors) for before in ("[^A-Za-z0-9_]", "(?<![A-Za-z0-9_])"))
    return Group((hint, escaped), rules, finders=(finder, escaped))


def _free(rules: tuple[Rule, ...], searched: tuple[SearchedRule, ...]) -> Group:
    anchors = _followed(rules) | {each.anchor: each.follows for each in searched}
    return Group((re.compile(_any_of(anchors)),), rules, searched)


def _followed(rules: tuple[Rule, ...]) -> dict[str, str]:
    """Every anchor with what follows it in one of the rules; "" where they differ."""
    found: dict[str, str] = {}
    for rule in rules:
        for anchor in rule.anchors:
            found[anchor] = rule.follows if found.get(anchor, rule.follows) == rule.follows else ""
    return found


# -- a row as a rule --------------------------------------------------------------------------------


def _prefixed(row: dict[str, Any]) -> Rule:
    anchors, letters, least = tuple(row["prefixes"].split()), row["letters"], row["least"]
    letters = LETTERS.get(letters, letters)
    start = ALONE if any(each.isalnum() or len(each) <= 3 for each in anchors) else START
    head = rf"{start}(?P<secret>(?:{'|'.join(map(re.escape, anchors))})(?P<body>[{letters}]{{{least}}}))"
    tail = rf"[_{letters.rstrip('-')}-]*+{PARTS}"
    follows = f"(?=[{letters}]{{{min(least, 16)}}})"
    # After a prefix that says little, a name with its version has digits too.
    short = "mixed" if "_" in letters and min(map(len, anchors)) <= 4 else "digits"
    return Rule(row["kind"], anchors, head, tail, "real" if least >= 30 else short, follows)


def _form(row: dict[str, Any]) -> Rule:
    head, tail = (_fill(row[name]) for name in ("head", "tail"))
    return Rule(
        row["kind"],
        tuple(row["anchors"].split()),
        head,
        tail,
        row["believed"],
        _ahead(row.get("follows", "")),
    )


def _ahead(pattern: str) -> str:
    return f"(?={pattern})" if pattern else ""


def _fill(pattern: str) -> str:
    for name, part in (("{start}", START), ("{alone}", ALONE), ("{parts}", PARTS), ("{key_lines}", KEY_TAIL)):
        pattern = pattern.replace(name, part)
    return pattern


def _searched(row: dict[str, Any]) -> SearchedRule:
    follows = _ahead(row.get("follows", ""))
    return SearchedRule(row["kind"], row["anchor"], re.compile(row["pattern"]), row["believed"], follows)


def _any_of(words: dict[str, str]) -> str:
    """A pattern for any of the words, with what follows it, that looks at each letter once.

    Three times as fast as `a|b|c`.
    """
    by_letter: dict[str, dict[str, str]] = {}
    for word in sorted(filter(None, words)):
        by_letter.setdefault(word[0], {})[word[1:]] = words[word]
    choices = [re.escape(letter) + _any_of(rest) for letter, rest in by_letter.items()]
    if "" in words:
        if not words[""] or not choices:
            return words[""]
        choices.insert(0, words[""])
    return "(?:" + "|".join(choices) + ")"


# -- what makes the body of a form believable -------------------------------------------------------


def is_believed(how: str, body: str) -> bool:
    """Whether a body of the right form is a token: `how` is the word in the file."""
    if how == "number":  # of a bot, in base64
        return decoded(body).isdigit()
    if how == "wif":
        return _is_checked(body)
    if how == "real":
        return not is_filler(body)
    if is_random(body) or how == "random":
        return is_random(body)
    # Digits at all, or again and again among letters: no class of a style sheet, no name with its version.
    has_digits = any(map(str.isdigit, body)) if how == "digits" else len(_TURN.findall(body)) > 2
    return has_digits and not is_filler(body)


_BASE58 = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"


def _is_checked(body: str) -> bool:
    """Whether the last bytes of a number to the base of 58 are its checksum."""
    number = 0
    for letter in body:
        number = number * 58 + _BASE58.index(letter)
    data = number.to_bytes((number.bit_length() + 7) // 8)
    return sha256(sha256(data[:-4]).digest()).digest()[:4] == data[-4:]


_TURN = re.compile(r"[A-Za-z](?=[0-9])")
