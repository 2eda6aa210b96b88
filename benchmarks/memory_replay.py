"""The workloads of two systems' published figures, as their descriptions have them.

`turns` and `documents` are those of agentic-conversations-hdf5 and its study of vectors, `random_rows` that
of EdgeHDF5. Numbers are drawn as they draw them; of texts only kind and length are known, and ours are real.
"""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np

from benchmarks.memory_subject import FIRST_MS, Note, Notes
from benchmarks.search_subject import Array

TURN_DIMS = 1536
RESULT_NUMBERS = 1000
DIMS = 384
SEED = 42
QUERY_SEED = 99
PROJECTS = ("alpha", "beta", "gamma", "delta")
FACTS = 3
FIELDS = ("request", "investigated", "learned", "completed", "next_steps", "notes")


def turns(subject: Notes, count: int, *, arrays: bool) -> list[tuple[Note, Array | None]]:
    """Turns of one session: texts alone, or each with an embedding and a result that is an array."""
    drawn = np.random.default_rng(SEED)
    made: list[tuple[Note, Array | None]] = []
    for note in subject.notes(count, prefix="t", vectors=False):
        vector = drawn.standard_normal(TURN_DIMS).astype(np.float32) if arrays else None
        result = drawn.standard_normal(RESULT_NUMBERS).astype(np.float32) if arrays else None
        made.append((_turn(note, vector), result))
    return made


def documents(count: int) -> list[Note]:
    """What claude-mem syncs: observations with their facts (70 %), summaries (20 %), prompts (10 %)."""
    return [
        Note(
            number,
            name,
            "",
            f"{kind} {field} of {project} number {number}",
            FIRST_MS + number * 1000,
            (kind,),
            "",
            {"doc_type": kind, "sqlite_id": number, "project": project, "field_type": field},
            hashed(name),
            project,
        )
        for number, (name, kind, field, project) in enumerate(islice(_documents(), count))
    ]


def hashed(text: str) -> Array:
    """A text's vector as their embedder makes it: a BLAKE2b stream as numbers from -1 to 1, of length 1."""
    drawn = b"".join(
        hashlib.blake2b(f"{block}:{text}".encode(), digest_size=64).digest()
        for block in range(DIMS * 4 // 64)
    )
    row = np.frombuffer(drawn, "<u4").astype(np.float64) / 2**31 - 1
    return (row / np.linalg.norm(row)).astype(np.float32)


def random_rows(count: int) -> tuple[Array, Array]:
    """Uniform numbers from -0.5 to 0.5, and the one query that they ask again and again."""
    rows = np.random.default_rng(SEED).random((count, DIMS), np.float32) - np.float32(0.5)
    asked = np.random.default_rng(QUERY_SEED).random(DIMS, np.float32) - np.float32(0.5)
    return _unit(rows), _unit(asked[np.newaxis])[0]


def batches(notes: Sequence[Note], size: int) -> list[Sequence[Note]]:
    return [notes[at : at + size] for at in range(0, len(notes), size)]


def _documents() -> Iterator[tuple[str, str, str, str]]:
    drawn = random.Random(SEED)
    for number in range(10**9):
        project, share = drawn.choice(PROJECTS), drawn.random()
        if share < 0.7:
            yield f"obs_{number}_narrative", "observation", "narrative", project
            for fact in range(FACTS):
                yield f"obs_{number}_fact_{fact}", "observation", "fact", project
        elif share < 0.9:
            for field in FIELDS:
                yield f"summary_{number}_{field}", "session_summary", field, project
        else:
            yield f"prompt_{number}", "user_prompt", "prompt", project


def _turn(note: Note, vector: Array | None) -> Note:
    role = {"role": "user" if note.number % 2 else "assistant"}
    return Note(note.number, note.id, "main", note.text, note.time_ms, (), "", role, vector)


def _unit(rows: Array) -> Array:
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True), np.float32)
