"""The issuers of tokens, read from `issuers.toml` when the first text is masked.

A rule's patterns are compiled when its anchor first occurs in a text, which for most is never.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from recollect.redact.plausible import decoded, is_filler, is_random

# A token may begin after an escape in source text (`\n`), in a URL (%3D), or after a colour (`\x1b[1m`).
START = r"(?:(?<![A-Za-z0-9_])|(?<=\\[nrtbf])|(?<=%[0-9A-Fa-f]{2})|(?<=\\u00[0-9A-Fa-f]{2})|(?<=[0-9\[]m))"
PARTS = r"(?:\.(?=[A-Za-z_-]{0,20}[0-9])[A-Za-z0-9_-]++)*+"  # after a dot, if no sentence begins there

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

    @property
    def is_bounded(self) -> bool:
        return self.head_text.startswith(START)

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

    def accepts(self, match: re.Match[str]) -> bool:
        return is_believed(self.believed, match["body"])


@dataclass(frozen=True)
class Group:
    """Rules, and `hints`: one of these finds something in any text where one of the rules could."""

    hints: tuple[re.Pattern[str], ...]
    rules: tuple[Rule, ...] = ()
    searched: tuple[SearchedRule, ...] = ()


@cache
def issuers() -> tuple[Group, ...]:
    """The rules of the file, by what hints at them, else in its order."""
    data = tomllib.loads(FILE.read_text("utf-8"))
    rules = (*map(_prefixed, data["prefixed"]), *map(_form, data["form"]))
    searched = tuple(map(_searched, data["searched"]))
    # An anchor of one letter hints at nothing; its pattern does.
    lone = [each for each in searched if len(each.anchor) == 1]
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
    anchors = _any_of([each for rule in rules for each in rule.anchors])
    # After an escape: one class of letters first, which `re` looks for faster than for a choice of them.
    escape = r"(?<=[\n\\])(?:[nrtbf]|u00[0-9A-Fa-f]{2})|(?<=[\n\[])[0-9]{0,3}m|(?<=%)[0-9A-Fa-f]{2}"
    hints = (rf"(?<![A-Za-z0-9_]){anchors}", rf"[\n\\\[%](?:{escape}){anchors}")
    return Group(tuple(map(re.compile, hints)), rules)


def _free(rules: tuple[Rule, ...], searched: tuple[SearchedRule, ...]) -> Group:
    anchors = [each for rule in rules for each in rule.anchors] + [each.anchor for each in searched]
    return Group((re.compile(_any_of(anchors)),), rules, searched)


# -- a row as a rule --------------------------------------------------------------------------------


def _prefixed(row: dict[str, Any]) -> Rule:
    anchors, letters, least = tuple(row["prefixes"].split()), row["letters"], row["least"]
    letters = LETTERS.get(letters, letters)
    head = rf"{START}(?P<secret>(?:{'|'.join(map(re.escape, anchors))})(?P<body>[{letters}]{{{least}}}))"
    tail = rf"[_{letters.rstrip('-')}-]*+{PARTS}"
    return Rule(row["kind"], anchors, head, tail, "real" if least >= 30 else "digits")


def _form(row: dict[str, Any]) -> Rule:
    head, tail = (row[name].replace("{start}", START).replace("{parts}", PARTS) for name in ("head", "tail"))
    return Rule(row["kind"], tuple(row["anchors"].split()), head, tail, row["believed"])


def _searched(row: dict[str, Any]) -> SearchedRule:
    return SearchedRule(row["kind"], row["anchor"], re.compile(row["pattern"]), row["believed"])


def _any_of(words: list[str]) -> str:
    """A pattern for any of the words that looks at each letter once: three times as fast as `a|b|c`."""
    if "" in words:
        return ""
    by_letter: dict[str, list[str]] = {}
    for word in sorted(words):
        by_letter.setdefault(word[0], []).append(word[1:])
    return "(?:" + "|".join(re.escape(letter) + _any_of(rest) for letter, rest in by_letter.items()) + ")"


# -- what makes the body of a form believable -------------------------------------------------------


def is_believed(how: str, body: str) -> bool:
    """Whether a body of the right form is a token: `how` is the word in the file."""
    if how == "number":  # of a bot, in base64
        return decoded(body).isdigit()
    if how == "real":
        return not is_filler(body)
    if is_random(body) or how == "random":
        return is_random(body)
    # Digits at all, or again and again among letters: no class of a style sheet, no name with its version.
    has_digits = any(map(str.isdigit, body)) if how == "digits" else len(_TURN.findall(body)) > 2
    return has_digits and not is_filler(body)


_TURN = re.compile(r"[A-Za-z](?=[0-9])")
