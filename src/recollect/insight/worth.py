"""Whether a sentence is worth keeping: a gate in front of `save`, for agents that would keep everything.

Stock phrases, a word or two and sentences of empty words say nothing a year from now. What corrects something
is worth it however short. Pure; whether the same was said before is for the facade to ask.
"""

from __future__ import annotations

import re
from typing import Final

from recollect.values.stop_words import EVERYDAY, STOP_WORDS

WORDS_MIN: Final = 3
EMPTY_SHARE_MAX: Final = 0.8  # of words that say nothing
KNOWN_COSINE: Final = 0.75  # nearer than that, something that was said already says it
NEAREST: Final = 5

_WORD: Final = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_CORRECTS: Final = re.compile(
    r"(?:no|nope|wrong|actually|instead|rather|correction|i meant|i mean|that's not|thats not|not quite"
    r"|never mind)\b",
    re.IGNORECASE,
)
_STOCK: Final = frozenset(
    """
    all good|alright|any news|anything else|are you there|bye|carry on|cheers|cool|done|exactly
    fair enough|fine by me|fine with me|found it|give it a try|go ahead|go on|good bye|good evening
    good idea|good job|good morning|good night|got it|great|great job|great work|hello|hello there|hey
    hey there|hi|hi there|hold on|how are you|i agree|i see|im back|im here|it works|just a moment
    keep going|lets continue|lets do it|lets go|lets see|let me check|let me see|let me think|lgtm
    looks good|looks good to me|makes sense|much better|never mind that|nice|nice one|nice work
    no problem|no thanks|no worries|not yet|of course|oh i see|ok|okay|ok then|one moment|perfect
    please continue|please do|please do that|please go ahead|ready when you are|right|see you
    see you later|sorry about that|sounds good|sounds good to me|sounds right|sure|sure thing
    take your time|thank you|thank you so much|thank you very much|thanks|thanks a lot|thanks again
    that is all|that is fine|that works|that works for me|thats all|thats fine|thats great|thats it
    thats right|try again|try it again|very good|wait a moment|welcome back|well done|what is next
    whats next|will do|works for me|yes|yes do it|yes please|yep|you are right|you can go on
    youre welcome
    """.replace("\n", "|").split("|")
)
_PHRASES: Final = frozenset(" ".join(each.split()) for each in _STOCK if each.strip())
_EMPTY: Final = STOP_WORDS | EVERYDAY


def why_not(text: str) -> str:
    """Why a sentence is not worth keeping; "" where it is."""
    words = [word.casefold().replace("’", "'").replace("'", "") for word in _WORD.findall(text)]
    if _CORRECTS.match(text.lstrip()) and len(words) > 1:
        return ""
    if " ".join(words) in _PHRASES:
        return "a stock phrase"
    if len(words) < WORDS_MIN:
        return f"fewer than {WORDS_MIN} words"
    empty = sum(word in _EMPTY for word in words)
    return "nearly all of its words say nothing" if empty > EMPTY_SHARE_MAX * len(words) else ""
