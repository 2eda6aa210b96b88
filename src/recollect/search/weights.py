"""What counts how much in the order of hits: every number of it, in one table.

Set by `python -m benchmarks.retrieval` and `benchmarks.realq`, all sets together
(docs/decisions/015-fusion.md), unless a line says otherwise. `tests/search/test_rank.py` holds what each does
to an order, so that a number can be tuned while its effect stays.
"""

from __future__ import annotations

from dataclasses import dataclass

from recollect.values.records import Kind


@dataclass(frozen=True, slots=True)
class Weights:
    """The parts of a score. All of it is smooth: a fifth more or less of any one is within the noise."""

    dense: float = 0.42  # share of meaning where words separate the hits as well as they usually do
    dense_by_ties: float = 0.35  # more where the ten best by words score alike, less where one stands out
    ties_usual: float = 0.4  # score of the tenth by words over that of the first
    dense_min: float = 0.2
    dense_max: float = 0.6  # words that are all there must not be outvoted: an exact match stays first
    dense_exchanged: float = 0.1  # less of it where exchanges are asked: they hold more of the words
    text_beside: float = 0.5  # of the better neighbour's text: the answer often stands beside the words
    dense_beside: float = 0.15
    short_chars: float = 1200.0  # an entry of this length leans on its neighbours half as much as a tiny one
    session: float = 0.3  # of the mean of the session's best three: where there is more, it is about that
    exchange: float = 1.5  # a word in an exchange, which is long, beside one in an entry, which mostly is not
    course: float = 0.75  # what a closing answer came of, beside it
    complete: float = 0.25  # holds every word of the question that says something
    spread: float = 0.2  # option: what is related to the question's things; set by `benchmarks.memory_graph`
    exact: float = 2.0  # holds the question itself, word for word: whoever knows it wants just that
    time: float = 0.5  # told within the time the question names
    newer: float = 0.5  # asked what counts now: the latest of the closing answers that speak of the same,
    alike: float = 0.75  # that is, are so near in meaning to the best; below, they are of something else,
    as_good: float = 0.7  # and fit the question nearly as well as the best
    project: float = 1.0  # option: of the project one works in; 1 to 5 do the same


# A person's own words are the best key to a conversation, and tool output is mostly bulk.
# Measured for prompt and answer alone; the others by judgement.
KINDS = {
    Kind.PROMPT: 1.0,
    Kind.NOTE: 1.0,
    Kind.ANSWER: 0.95,
    Kind.SUMMARY: 0.95,
    Kind.THOUGHT: 0.9,
    Kind.CALL: 0.9,
    Kind.RESULT: 0.9,
    Kind.IMAGE: 0.8,
    Kind.CONTEXT: 0.7,
    Kind.EVENT: 0.7,
    Kind.UNKNOWN: 0.7,
}

# What leads to a closing answer, and seldom says what came out.
COURSE = (Kind.ANSWER, Kind.THOUGHT, Kind.CALL, Kind.RESULT)

# Bounds that bring both sides to one scale.
BM25_MAX = 2.2  # k1 + 1 of the text index: what a word's rarity is multiplied by at most
DENSE_FLOOR = 0.2  # cosine of a question and a random entry, with the default embedder
RRF_K = 60.0  # of the usual form; not tuned
TIES = 10  # hits by words that are compared to see whether words tell them apart

# How far an entry looks for what lifts it.
SESSION_BEST = 3
NEIGHBOURS_OF = 8  # of the best of each side: 4 and 16 rank alike
PROMPTS_OF = 32  # of the best exchanges: without, a right session first is lost; 64 are no better
REACH = 2  # rows: between two entries of a conversation there may be one that is not searched
CANDIDATES = 64  # of each side; 60 rank as well as 300

# Time.
RECENCY_PER_DAY = 0.007  # half after a hundred days; by judgement
DAY_MS = 86_400_000.0
EARLY_MS = DAY_MS  # before the window: a day, for time zones and plans
LATE_MS_MIN = 7 * EARLY_MS  # after it: things are told later, the longer ago the vaguer

# What a match is worth beside one of a word in the text.
PARTS_WEIGHT = 0.6  # parts of identifiers: found, but no match for the words themselves
WHOLE_WEIGHT = 0.05  # an identifier as written; more would let project names outvote what is asked of them
FILE_WEIGHT = 1.0  # the file that a call is about
ABOUT_FILE = 2  # telling words of a question, its file among them, that asks what was done to a file
PHRASE_WEIGHT = 0.5  # two or three words next to each other, in order; for more there is `exact`
SENTENCE_TERMS = 4  # from so many words on, a question that stands somewhere word for word is a quotation

NOT_NEAR_WEIGHT = 0.5  # of what is not to be near, beside what is; by judgement
