"""What a character is read as: by people, and by a model that knows every script.

A tag can be written in letters of another alphabet, in wide, round or mathematical ones, with marks above
them and with characters between them that nobody sees. `reading` gives each character as the plain one it
passes for, and "" for what is not seen at all. It is for comparing, never for showing.
"""

from __future__ import annotations

import functools
import unicodedata

OPENING = "<\uff1c\ufe64\u2039\u3008\u27e8\u2329\u276e\u02c2\u1438\u226e\u2770\u29fc\u2cf6"
CLOSING = ">\uff1e\ufe65\u203a\u3009\u27e9\u232a\u276f\u02c3\u1433\u226f\u2771\u29fd"

_CACHED = 8192  # characters: more than any text has that is not made to fill it


@functools.lru_cache(_CACHED)
def reading(character: str) -> str:
    """The plain characters that this one is read as.

    "<" and ">" for brackets, "-" for what joins words, "/" for slashes, "|" for bars, " " for blanks, small
    letters and digits; "" for what cannot be seen, or only stands on another one.
    """
    if character in _SIGNS:
        return _SIGNS[character]
    if character.isspace():
        return " "
    if is_unseen(character):
        return ""
    return "".join(_plain(each) for each in unicodedata.normalize("NFKD", character))


def is_unseen(character: str) -> bool:
    """Whether a character takes no room of its own: controls, formats, selectors, fillers, marks."""
    code = ord(character)
    if code in _FILLERS or 0xE0000 <= code <= 0xE0FFF or 0xFFF0 <= code <= 0xFFF8:
        return True
    return unicodedata.category(character) in ("Cc", "Cf", "Cs", "Mn", "Me")


def _plain(character: str) -> str:
    """One character of a decomposed text."""
    if character in _SIGNS:
        return _SIGNS[character]
    if is_unseen(character):
        return ""
    if character in _LETTERS:
        return _LETTERS[character]
    folded = character.casefold()
    return "".join(_SIGNS.get(each) or _LETTERS.get(each, each) for each in folded if not is_unseen(each))


def _lettered(*rows: tuple[str, str]) -> dict[str, str]:
    return {strange: plain for plain, many in rows for strange in many}


_FILLERS = frozenset({0x115F, 0x1160, 0x3164, 0xFFA0, 0x2800, 0x2065, 0x1D159})

_SIGNS = {
    **dict.fromkeys(OPENING, "<"),
    **dict.fromkeys(CLOSING, ">"),
    **dict.fromkeys("/\\\u2044\u2215\uff0f\uff3c\ufe68\u29f8\u29f9\u2571\u2572\u27cb\u27cd", "/"),
    **dict.fromkeys("|\uff5c\u00a6\u01c0\u2223\u2502\u2503\u2758\u23d0\u05c0\u2016\u2225", "|"),
    **dict.fromkeys("-_:\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u2043\u02d7\ufe58\ufe63\uff0d", "-"),
    **dict.fromkeys("\u058a\u05be\u1400\u1806\u2e17\u2e1a\u2e3a\u2e3b\u2e40\u301c\u3030\u30a0\u30fc", "-"),
    **dict.fromkeys(
        "\uff70\u2796\u2500\u2501\u203f\u2040\u2054\u2581\ufe33\ufe34\ufe4d\ufe4e\ufe4f\uff3f", "-"
    ),
    **dict.fromkeys("\u02d0\u05c3\u0589\u2236\ua789\uff1a\ufe13\ufe55", "-"),
}

# Letters that pass for a Latin one, capitals by what capitals look like. Not every one there is: those of
# the alphabets and the Latin extensions that keyboards and converters have.
_LETTERS = _lettered(
    ("a", "\u0430\u0410\u03b1\u0391\u0251\u1d00\u0561\u237a\u15c5\ua4ee\u13aa"),
    ("b", "\u0432\u0412\u0392\u044c\u042c\u0299\u0180\u0253\u15af\ua4d0\u13f4"),
    ("c", "\u0441\u0421\u03f2\u03f9\u1d04\u0188\u217d\u216d\ua4da\u13df\u2ca5\u2ca4"),
    ("d", "\u0501\u0500\u1d05\u0111\u0110\u0257\u0256\u00f0\u00d0\ua4d3\u13a0\u15de"),
    ("e", "\u0435\u0415\u0454\u0404\u03b5\u0395\u1d07\u0247\u212e\u0257\u04bd\u0259\ua4f0\u13ac"),
    ("f", "\ua730\u0192\u017f\u03dd\u03dc\ua4dd\u15b4\ua799"),
    ("g", "\u0581\u0261\u0262\u01e5\u0260\u050d\u050c\ua4d6\u13c0"),
    ("h", "\u04bb\u04ba\u043d\u041d\u0397\u029c\u0127\u0126\u0570\ua4e7\u13bb"),
    ("j", "\u0458\u0408\u03f3\u037f\u1d0a\u0249\u0575\ua4d9\u13ab"),
    ("k", "\u043a\u041a\u03ba\u039a\u1d0b\u0199\ua4d7\u13e6\u049b\u049a"),
    ("l", "iI1\u0131\u0456\u0406\u0457\u0407\u03b9\u0399\u026a\u0269\u0268\u0197\u04cf\u04c0\u029f"
          "\u0142\u0141\u026b\u019a\u2170\u2160\u217c\u216c\ua4e1\ua4f2\u13de\u13a5\u2113"),
    ("m", "\u043c\u041c\u039c\u1d0d\u217f\u216f\ua4df\u13b7\u0271"),
    ("n", "\u039d\u03b7\u0274\u0578\u057c\u019e\u0272\ua4e0\u0438\u0418\u043f"),
    ("o", "0\u043e\u041e\u03bf\u039f\u03c3\u1d0f\u00f8\u00d8\u0585\u0555\u0275\u019f\ua4f3\u3007\u25cb"),
    ("p", "\u0440\u0420\u03c1\u03a1\u1d18\u01bf\u2ca3\u2ca2\ua4d1\u13e2\u00fe"),
    ("q", "\u051b\u051a\u0566\u024b\u02a0"),
    ("r", "\u0433\u0280\u024d\u027c\u027d\ua4e3\u13a1\u13d2\u1d26"),
    ("s", "\u0455\u0405\u0282\ua731\u054f\u0584\ua4e2\u13da\u10bd"),
    ("t", "\u0442\u0422\u03c4\u03a4\u1d1b\u0167\u0166\u01ad\u0288\ua4d4\u13a2"),
    ("u", "\u03c5\u057d\u054d\u1d1c\u0289\u0244\u03bc\u00b5\u028b\ua4f4\u0446"),
    ("v", "\u03bd\u0475\u0474\u1d20\u2174\u2164\ua4e6\u13d9\u2228"),
    ("w", "\u051d\u051c\u03c9\u0461\u0460\u1d21\u0561\u026f\ua4ea\u13b3"),
    ("x", "\u0445\u0425\u03c7\u03a7\u2179\u2169\u00d7\ua4eb\u2d5d"),
    ("y", "\u0443\u0423\u03b3\u03a5\u04af\u04ae\u028f\u024f\u01b4\u04b1\ua4ec\u13a9"),
    ("z", "\u0396\u1d22\u01b6\u0225\u0290\ua4dc\u13c3"),
)  # fmt: skip
for _first in (0x1F150, 0x1F170, 0x1F1E6):  # letters in dark circles, in dark squares, of flags
    _LETTERS |= {chr(_first + n): chr(0x61 + n) if n != 8 else "l" for n in range(26)}
