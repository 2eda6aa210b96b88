"""Text that would act on a terminal, and the eye that finds it."""

from __future__ import annotations

import unicodedata

ATTACKS = {
    "osc 0": "\x1b]0;owned\x07", "osc 8": "\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\",
    "osc 52": "\x1b]52;c;ZXZpbA==\x07", "dcs": "\x1bP+q544e\x1b\\", "csi ~": "\x1b[200~", "csi @": "\x1b[5@",
    "c1 csi": "\x9b2J", "c1 osc": "\x9d0;owned\x9c", "cr": "safe\rEVIL", "bidi": "\u202egnp.exe\u2066",
    "zero width": "pass\u200bword\ufeff", "backspace": "no\x08\x08yes", "delete": "\x7f", "bell": "\x07",
    "tags": "\U000e0041\U000e0042", "separators": "\u2028\u2029\x0b\x0c\x1c", "surrogate": "\ud800",
    "markup": "[bold red]x[/bold red][link=http://evil]y[/link]",
}  # fmt: skip
ATTACK = "".join(ATTACKS.values())


def scan(text: str) -> None:
    """Fail on every character that could act on a terminal."""
    for character in set(text):
        if character not in "\n\t":
            assert unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Zl", "Zp"), ascii(character)
