"""The calls that are put to chroma-mcp and to ours alike, in the order in which they are made.

Every tool, every operator of both filters, and what is refused. `different` says of an answer whether it
means something else than another one: numbers may differ in the last digits, objects in the order of their
keys, and equally near documents in theirs.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

NEAR = 2e-5  # distances that differ by less are the same

Call = tuple[str, dict[str, Any]]

_METADATAS: list[dict[str, Any]] = [
    {"n": 1, "s": "x", "t": True},
    {"n": 1.0, "s": "X", "t": False},
    {"n": 2, "s": "y"},
    {"n": 2.5},
    {"s": "1"},
    {"t": 1},
    {"l": ["p", "q"]},
    {"l": [1, 2]},
    {"n": True},
    {"n": "1"},
    {"l": [1.0]},
    {"l": [True]},
    {"n": 3_000_000_000},
    {"n": -1.5},
    {"n": 0},
    {"s": "", "project": "harbor"},
    {"n": 9_007_199_254_740_993, "merged_into_project": "harbor"},
    {"n": 9_007_199_254_740_992.0, "project": "other"},
]
_DOCUMENTS = [
    "the Quick brown fox", "100% sure_thing", "line one\nline two", "Ünïcode straße", "a.b*c", "",
    "tab\there", "aaa", "foo bar", "FOO BAR", "İstanbul",
    "token expiry in the login", "the session ends after an hour",
    "refresh tokens are valid for a week", "deploys go through staging", "users are logged out",
    "a clock skew",
    "pytest in the harbor",
]  # fmt: skip


@dataclass(frozen=True)
class Answer:
    """What a call came to."""

    texts: list[str]
    is_error: bool


def calls() -> Iterator[Call]:
    """All of them; each builds on those before."""
    yield from _collections()
    yield from _documents()
    yield from _filters()
    yield from _changes()
    yield from _arguments()


def _each(*values: Any) -> tuple[Any, ...]:
    return values


def _named(tool: str, **arguments: Any) -> Call:
    return f"chroma_{tool}", arguments


def _collections() -> Iterator[Call]:
    yield _named("list_collections")
    yield _named("list_collections", limit=1)
    yield _named("get_collection_count", collection_name="nope")
    yield _named("create_collection", collection_name="one")
    yield _named("create_collection", collection_name="one")
    for name in _each("a", "has space", "-ab", "ab-", "éab", "x" * 513, ""):
        yield _named("create_collection", collection_name=name)
    yield _named("create_collection", collection_name="what", embedding_function_name="nope")
    yield _named("list_collections")
    yield _named("list_collections", limit=0)
    yield _named("list_collections", limit=5, offset=1)
    yield _named("list_collections", limit=-1)
    yield _named("create_collection", collection_name="what", metadata={})
    yield _named("create_collection", collection_name="what", metadata={"a": None})
    yield _named("create_collection", collection_name="near", metadata={"hnsw:space": "cosine", "b": "x"})
    yield _named("add_documents", collection_name="near", documents=["a fox", "a dog"], ids=["f", "d"])
    yield _named("query_documents", collection_name="near", query_texts=["the fox"], include=["distances"])
    yield _named("modify_collection", collection_name="near", new_name="nearer")
    yield _named("get_collection_count", collection_name="near")
    yield _named("get_collection_count", collection_name="nearer")
    yield _named("modify_collection", collection_name="nearer", new_metadata={"z": 1})
    yield _named("modify_collection", collection_name="nearer")
    yield _named("modify_collection", collection_name="nearer", new_name="near", new_metadata={"q": 1})
    yield _named("modify_collection", collection_name="near", new_metadata={})
    yield _named("modify_collection", collection_name="near", new_metadata={"hnsw:space": "l2"})
    yield _named("modify_collection", collection_name="near", new_name="x")
    yield _named("modify_collection", collection_name="nope", new_name="other")
    yield _named("fork_collection", collection_name="nope", new_collection_name="other")
    yield _named("peek_collection", collection_name="nope")
    yield _named("get_collection_info", collection_name="nope")
    yield _named("delete_collection", collection_name="near")
    yield _named("delete_collection", collection_name="near")
    yield _named("list_collections")


def _documents() -> Iterator[Call]:
    ids = [f"d{number}" for number in range(len(_DOCUMENTS))]
    one = {"collection_name": "one"}
    yield _named("query_documents", **one, query_texts=["nothing yet"])
    yield _named("add_documents", **one, documents=_DOCUMENTS, ids=ids, metadatas=_METADATAS)
    yield _named("add_documents", **one, documents=["again", "new"], ids=["d1", "new"])
    yield _named("get_documents", **one, ids=["new"])
    yield _named("add_documents", **one, documents=["p", "q"], ids=["same", "same"])
    yield _named("add_documents", collection_name="auto", documents=["p", "q"], ids=["a", "b"])
    for metadata in _each(
        {},
        {"a": None},
        {"a": {"b": 1}},
        {"a": []},
        {"a": [1, "x"]},
        {"chroma:document": "x"},
        {"": 1},
        {"$x": 1},
        {"#x": 1},
    ):
        yield _named(
            "add_documents", collection_name="auto", documents=["x"], ids=["c"], metadatas=[metadata]
        )
    yield _named(
        "add_documents", collection_name="auto", documents=["x"], ids=["c"], metadatas=[{"a": 1}, {"a": 2}]
    )
    yield _named("add_documents", collection_name="auto", documents=["x"], ids=["c"], metadatas=[])
    yield _named("add_documents", collection_name="auto", documents=[], ids=["c"])
    yield _named("add_documents", collection_name="auto", documents=["x"], ids=[])
    yield _named("add_documents", collection_name="auto", documents=["x"], ids=[" "])
    yield _named("add_documents", collection_name="auto", documents=["x"], ids=["c", "d"])
    yield _named("add_documents", collection_name="b", documents=["x"], ids=["c"])
    yield _named(
        "add_documents", collection_name="auto", documents=["x"], ids=["c"], metadatas=[{"a": 2**63}]
    )
    yield _named("get_documents", collection_name="auto")
    yield _named("get_collection_count", collection_name="auto")
    yield _named("get_documents", **one)
    yield _named("get_documents", **one, ids=["d3", "d1", "zz"], include=[])
    yield _named("get_documents", **one, ids=[])
    yield _named("get_documents", **one, ids=["d1", "d1"])
    for include in _each(["distances"], ["bogus"], ["uris"], ["data"], ["metadatas"], ["documents"]):
        yield _named("get_documents", **one, include=include, limit=2)
    for limit, offset in ((0, None), (2, 1), (None, 16), (None, 100), (-1, None), (None, -1)):
        yield _named("get_documents", **one, limit=limit, offset=offset, include=[])
    yield _named("get_documents", collection_name="nope")
    yield _named("query_documents", **one, query_texts=["who is logged out", "a brown fox"], n_results=4)
    yield _named("query_documents", **one, query_texts=["fox"], n_results=50, include=[])
    yield _named("query_documents", **one, query_texts=["fox"], n_results=0)
    yield _named("query_documents", **one, query_texts=["fox"], n_results=10**30)
    yield _named("query_documents", **one, query_texts=[])
    yield _named("query_documents", **one, query_texts=["fox"], include=["bogus"])
    yield _named("query_documents", collection_name="nope", query_texts=["x"])


def _filters() -> Iterator[Call]:
    for where in _wheres():
        yield _named("get_documents", collection_name="one", where=where, include=[])
        yield _named(
            "query_documents",
            collection_name="one",
            query_texts=["token"],
            where=where,
            n_results=30,
            include=["distances"],
        )
    for where in _text_wheres():
        yield _named("get_documents", collection_name="one", where_document=where, include=[])
    yield _named(
        "query_documents",
        collection_name="one",
        query_texts=["fox"],
        where={"n": 1},
        where_document={"$contains": "o"},
    )


def _wheres() -> Iterator[Any]:
    for value in _each(
        1,
        1.0,
        True,
        False,
        "1",
        "x",
        0,
        2.5,
        -1.5,
        9_007_199_254_740_993,
        9_007_199_254_740_992,
        1e300,
        2**70,
        "",
    ):
        yield {"n": value}
        yield {"n": {"$ne": value}}
    for operator in _each("$gt", "$gte", "$lt", "$lte"):
        for value in _each(1, 1.0, 2.5, -1.5, -1, 0, True, "a", [1]):
            yield {"n": {operator: value}}
    for operator in _each("$in", "$nin"):
        for values in _each(
            [1],
            [1.0, 2.5],
            [1, 2],
            [1, 2.5],
            ["1", "x"],
            [True],
            [],
            [True, False],
            [1, "x"],
            [True, 1],
            [1, True],
            [[1]],
            [None],
            5,
        ):
            yield {"n": {operator: values}}
    for value in _each("p", 1, 1.0, True, "zz", ["p"], None):
        yield {"l": {"$contains": value}}
        yield {"l": {"$not_contains": value}}
    yield {"s": {"$nin": ["x"]}}
    yield {"s": {"$contains": "x"}}
    for key in _each("zzz", ""):
        yield {key: {"$ne": 1}}
        yield {key: 1}
    yield {"l": ["p", "q"]}
    yield {"l": {"$eq": ["p", "q"]}}
    yield {"l": {"$in": ["p"]}}
    yield {"$or": [{"project": "harbor"}, {"merged_into_project": "harbor"}]}
    yield {"$and": [{"n": 1}, {"s": "x"}]}
    yield {"$and": [{"$or": [{"n": 1}, {"s": "y"}]}, {"t": {"$ne": True}}]}
    yield {"$or": [{"n": {"$gt": 1}}, {"$and": [{"t": True}, {"s": {"$in": ["x", "z"]}}]}]}
    for odd in _each(
        {}, {"n": 1, "s": "x"}, {"$and": [{"n": 1}]}, {"$and": {"n": 1}}, {"$or": []}, {"n": None}, {"n": [1]}
    ):
        yield odd
    for odd in _each(
        {"n": {"$eq": None}}, {"n": {"$foo": 1}}, {"n": {"$eq": 1, "$ne": 2}}, {"n": {}}, {"n": {"$eq": {}}}
    ):
        yield odd
    for odd in _each({"$in": [1]}, {"$contains": "x"}, {"$not": {"n": 1}}, {"$and": [{"n": 1}, 5]}):
        yield odd
    yield {"#document": {"$contains": "fox"}}
    yield {"#document": {"$not_contains": "fox"}}
    yield {"#document": "x"}
    yield {"#document": {"$contains": 1}}
    yield {"chroma:document": "aaa"}


def _text_wheres() -> Iterator[Any]:
    for text in _each(
        "fox",
        "FOX",
        "100%",
        "%",
        "_",
        "e_t",
        "\n",
        "straße",
        "STRASSE",
        "ü",
        "",
        ".",
        "*",
        "aa",
        "İ",
        "'",
        "\\",
        1,
    ):
        yield {"$contains": text}
        yield {"$not_contains": text}
    for pattern in _each(
        "fox", "^the", "(?i)FOX", "fox$", "a.b", r"\d+", "line one.line", "(?s)one.line", "(?m)^line two",
        "(?m)one$", "one$",
        "a{2,}", "", "(?P<x>f)", "(?<x>f)", r"\bfoo\b", r"\w+ß", "Q.*x", "^$", r"\p{Lu}",
        "[[:alpha:]]+", r"\z", "x*",
        r"\x41", "$", "it's", "(?-s)a.b", "[^a-z]", r"[\w%]+_", "(fo|ba)+", "a|b|c", r"\s",
        "(?x) f o x # spaced",
    ):  # fmt: skip
        yield {"$regex": pattern}
        yield {"$not_regex": pattern}
    yield {"$and": [{"$contains": "fox"}, {"$not_regex": "z"}]}
    yield {"$or": [{"$contains": "fox"}, {"$and": [{"$regex": "a+"}, {"$not_contains": "."}]}]}
    yield from (
        {"$and": [{"$contains": "fox"}]},
        {},
        {"$contains": "a", "$regex": "b"},
        {"$eq": "a"},
        {"$and": "x"},
        {"$or": [1, 2]},
    )


def _changes() -> Iterator[Call]:
    one = {"collection_name": "one"}
    yield _named("update_documents", **one, ids=["d0", "zz"], metadatas=[{"m": 1, "s": None}, {"q": 1}])
    yield _named("update_documents", **one, ids=["d6"], metadatas=[{"l": None}])
    yield _named("update_documents", **one, ids=["d2"], documents=["brand new and shining"])
    yield _named(
        "update_documents",
        **one,
        ids=["d3", "d4"],
        documents=["both changed", "at once"],
        metadatas=[{"n": 7}, {"l": [1, 2]}],
    )
    yield _named("get_documents", **one, ids=["d0", "d2", "d3", "d4", "d6", "zz"])
    yield _named("query_documents", **one, query_texts=["shining"], n_results=2)
    for ids, parts in (
        (["d0"], {"metadatas": [{}]}),
        (["d0"], {"metadatas": [{"a": {}}]}),
        (["d0"], {"metadatas": [{"chroma:document": "x"}]}),
        (["d0", "d0"], {"documents": ["p", "q"]}),
        ([], {}),
        (["d0"], {}),
        (["d0"], {"documents": ["p", "q"]}),
        (["d0"], {"metadatas": []}),
        (["d0"], {"embeddings": [[1.0, 2.0]]}),
        (["d0"], {"embeddings": [[0.5] * 256]}),
    ):
        yield _named("update_documents", **one, ids=ids, **parts)
    yield _named("query_documents", **one, query_texts=["fox"], n_results=18, include=["distances"])
    yield _named("update_documents", collection_name="nope", ids=["d0"], documents=["p"])
    yield _named("delete_documents", **one, ids=["d1", "zz"])
    for ids in ([], ["d0", "d0"]):
        yield _named("delete_documents", **one, ids=ids)
    yield _named("delete_documents", collection_name="nope", ids=["d0"])
    yield _named("add_documents", **one, documents=["once more"], ids=["d1"])
    yield _named("get_documents", **one, include=["documents"])
    yield _named("get_collection_count", **one)
    yield _named("query_documents", **one, query_texts=["once"], n_results=3)
    yield _named("delete_collection", **one)
    yield _named("get_documents", **one)
    yield _named("add_documents", **one, documents=["a new life"], ids=["d1"])
    yield _named("get_documents", **one)


def _arguments() -> Iterator[Call]:
    yield "chroma_nope", {}
    yield _named("add_documents")
    yield _named("add_documents", collection_name=1, documents="x", ids=[1])
    for limit in _each("x", "3", 1.5, 2.0, True, [1], {}):
        yield _named("get_documents", collection_name="one", limit=limit, include=[])
    yield _named("get_documents", collection_name="one", ids='["d1"]', where="x")
    yield _named("get_documents", collection_name="one", ids='["d1"]', include="[]")
    yield _named("get_documents", collection_name="one", ids=[True, None], where=[1])
    yield _named("peek_collection", collection_name="one", limit=None)
    yield _named("get_collection_count", collection_name="one", unknown=1)
    yield _named("update_documents", collection_name="one", ids=["a"], embeddings=[["x"], [None]])
    yield _named(
        "add_documents",
        collection_name="one",
        documents=["q" * 200],
        ids=[{"a": "b" * 100}],
        metadatas=[None],
    )


# -- what is the same ------------------------------------------------------------------------------

_FOREIGN = (
    (re.compile(r"\n    For further information visit \S+"), ""),
    (re.compile(r"configuration: \{.*\}"), "configuration: {}"),
    (re.compile(r"(regex parse error:)[\s\S]*"), r"\1"),
)


def different(call: Call, seen: Answer, expected: Answer) -> str:
    """How an answer differs from the one that is expected; "" where it means the same."""
    if seen.is_error != expected.is_error:
        return f"{seen} instead of {expected}"
    told, wanted = [_normal(each) for each in seen.texts], [_normal(each) for each in expected.texts]
    if call[0] == "chroma_list_collections":  # theirs are in the order of random ids
        told, wanted = sorted(told), sorted(wanted)
    if len(told) == len(wanted) and all(map(_same, told, wanted)):
        return ""
    return f"{told} instead of {wanted}"


def _normal(text: str) -> Any:
    for pattern, to in _FOREIGN:
        text = pattern.sub(to, text)
    try:
        return json.loads(text)
    except ValueError:
        return text


def _same(seen: Any, expected: Any) -> bool:
    if not (isinstance(seen, dict) and isinstance(expected, dict) and seen.get("distances")):
        return bool(seen == expected)
    if seen.keys() != expected.keys() or seen["included"] != expected["included"]:
        return False
    mine, theirs = (list(_rankings(each)) for each in (seen, expected))
    return len(mine) == len(theirs) and all(map(_same_ranking, mine, theirs))


Ranking = tuple[list[float], dict[str, tuple[float, Any, Any]]]


def _rankings(answer: dict[str, Any]) -> Iterator[Ranking]:
    """Of each question the distances in order, and what is told of every document."""
    for at, (ids, distances) in enumerate(zip(answer["ids"], answer["distances"], strict=True)):
        empty = [None] * len(ids)
        parts = [
            answer[part][at] if answer[part] is not None else empty for part in ("documents", "metadatas")
        ]
        yield distances, dict(zip(ids, zip(distances, *parts, strict=True), strict=True))


def _same_ranking(mine: Ranking, theirs: Ranking) -> bool:
    """The same documents at the same distances, those equally near in whatever order."""
    near = all(abs(a - b) <= NEAR * max(1, a) for a, b in zip(mine[0], theirs[0], strict=False))
    if not near or mine[1].keys() != theirs[1].keys():
        return False
    return all(
        abs(told[0] - theirs[1][id_][0]) <= NEAR * max(1, told[0]) and told[1:] == theirs[1][id_][1:]
        for id_, told in mine[1].items()
    )


def read_answer(record: dict[str, Any]) -> Answer:
    """An answer as a file of recorded ones has it."""
    return Answer(list(record["texts"]), bool(record["is_error"]))


def digest() -> str:
    """What changes with the calls, so that answers to other ones are not taken for answers to these."""
    return hashlib.sha256(json.dumps(list(calls())).encode("ascii")).hexdigest()[:16]
