"""The thirteen tools of chroma-mcp 0.2.6: what each takes, and what it answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from recollect.chroma.arguments import Argument, Form, fit, schema_of
from recollect.chroma.checks import (
    check_ids,
    check_include,
    check_lengths,
    check_metadata,
    check_name,
    check_page,
    check_values,
)
from recollect.chroma.refusals import Refused
from recollect.chroma.where import chooser
from recollect.values.errors import RecollectError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from recollect.chroma.collection import Collection, Document
    from recollect.chroma.database import Database

Metadata = Mapping[str, Any]
Texts = list[str]

NOTHING: Final = "__NO_COLLECTIONS_FOUND__"
_IGNORED: Final = "Note: Non-existent IDs are ignored by ChromaDB."
_INT_MAX: Final = 2**63 - 1
_PEEKED: Final = ("metadatas", "documents", "embeddings")
_ELSEWHERE: Final = ("cohere", "openai", "jina", "voyageai", "roboflow")  # that need a key and the network
_SAMPLE: Final = 3


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool as it is offered."""

    name: str
    description: str
    arguments: tuple[Argument, ...]
    answer: Callable[..., Texts]

    @property
    def schema(self) -> dict[str, Any]:
        return schema_of(self.name, self.arguments)


def call(database: Database, name: str, given: Mapping[str, Any]) -> tuple[Texts, bool]:
    """What a tool answers, and whether that is an error."""
    tool = BY_NAME.get(name)
    if tool is None:
        return [f"Unknown tool: {name}"], True
    try:
        arguments = fit(name, tool.arguments, given)
        database.refresh()
        return tool.answer(database, **arguments), False
    except (Refused, RecollectError) as error:
        return [f"Error executing tool {name}: {error}"], True


@contextmanager
def _failing(what: str) -> Iterator[None]:
    """Say what a call was about where it is refused, or where the store refuses it."""
    try:
        yield
    except (Refused, RecollectError) as error:
        raise Refused(f"{what}: {error}") from error


@contextmanager
def _checking(step: str) -> Iterator[None]:
    """Say at which step a check refused it."""
    try:
        yield
    except Refused as error:
        raise Refused(f"{error} in {step}.") from error


# -- collections -----------------------------------------------------------------------------------


def _list(database: Database, limit: int | None, offset: int | None) -> Texts:
    with _failing("Failed to list collections"):
        check_page(limit, offset)
    return _page(database.names(), limit, offset) or [NOTHING]


def _create(
    database: Database, collection_name: str, embedding_function_name: str, metadata: Metadata | None
) -> Texts:
    if embedding_function_name in _ELSEWHERE:
        raise Refused(
            f"the embedding function {embedding_function_name!r} sends texts elsewhere, and here they stay "
            "on this machine: leave it out, or say 'default'"
        )
    if embedding_function_name != "default":
        raise Refused(repr(embedding_function_name))
    with _failing(f"Failed to create collection '{collection_name}'"):
        if metadata and any(not isinstance(value, str | int | float) for value in metadata.values()):
            raise Refused("argument 'metadata': Cannot convert Python object to MetadataValue")
        check_name(collection_name)
        if metadata is not None and not metadata:
            raise Refused("Validation error: metadata: Metadata cannot be empty")
        database.create(collection_name, metadata)
    told = {"embedding_function": embedding_function_name}
    return [f"Successfully created collection {collection_name} with configuration: {told}"]


def _peek(database: Database, collection_name: str, limit: int) -> Texts:
    with _failing(f"Failed to peek collection '{collection_name}'"):
        _, collection = database.find(collection_name)
        check_page(limit)
        return [_told(_peeked(collection, limit))]


def _info(database: Database, collection_name: str) -> Texts:
    with _failing(f"Failed to get collection info for '{collection_name}'"):
        _, collection = database.find(collection_name)
        sample = _peeked(collection, _SAMPLE)
        return [_told({"name": collection_name, "count": len(collection), "sample_documents": sample})]


def _count(database: Database, collection_name: str) -> Texts:
    with _failing(f"Failed to get collection count for '{collection_name}'"):
        return [str(len(database.find(collection_name)[1]))]


def _modify(
    database: Database, collection_name: str, new_name: str | None, new_metadata: Metadata | None
) -> Texts:
    with _failing(f"Failed to modify collection '{collection_name}'"):
        named, _ = database.find(collection_name)
        if new_metadata is not None:
            check_metadata(new_metadata)
            if "hnsw:space" in new_metadata:
                raise Refused(
                    "Changing the distance function of a collection once it is created is not supported "
                    "currently."
                )
        if new_name is not None:
            check_name(new_name, "new_name")
        database.change(named, new_name, new_metadata)
    changed = [name for name, value in (("name", new_name), ("metadata", new_metadata)) if value]
    return [f"Successfully modified collection {collection_name}: updated {' and '.join(changed)}"]


def _fork(database: Database, collection_name: str, new_collection_name: str) -> Texts:
    with _failing(f"Failed to fork collection '{collection_name}'"):
        named, _ = database.find(collection_name)
        check_name(new_collection_name)
        database.fork(named, new_collection_name)
    return [f"Successfully forked collection {collection_name} to {new_collection_name}"]


def _delete_collection(database: Database, collection_name: str) -> Texts:
    with _failing(f"Failed to delete collection '{collection_name}'"):
        database.remove(database.find(collection_name)[0])
    return [f"Successfully deleted collection {collection_name}"]


# -- documents -------------------------------------------------------------------------------------


def _add(
    database: Database,
    collection_name: str,
    documents: list[str],
    ids: list[str],
    metadatas: list[Metadata] | None,
) -> Texts:
    if not documents:
        raise Refused("The 'documents' list cannot be empty.")
    if not ids:
        raise Refused("The 'ids' list is required and cannot be empty.")
    if not all(each.strip() for each in ids):
        raise Refused("IDs cannot be empty strings.")
    if len(ids) != len(documents):
        raise Refused(f"Number of ids ({len(ids)}) must match number of documents ({len(documents)}).")
    with _failing(f"Failed to add documents to collection '{collection_name}'"):
        if collection_name not in database.names():
            check_name(collection_name)
            database.create(collection_name, None)
        named, collection = database.find(collection_name)
        if there := [each for each in ids if each in collection]:
            raise Refused(
                f"The following IDs already exist in collection '{collection_name}': {there}. "
                "Use 'chroma_update_documents' to update existing documents."
            )
        with _checking("add"):
            check_lengths(ids=ids, metadatas=metadatas, documents=documents)
            check_ids(ids)
            for metadata in metadatas or ():
                check_metadata(metadata)
        check_values(metadatas or (), removing=False)
        database.add(named, ids, documents, metadatas)
    return [f"Successfully added {len(documents)} documents to collection {collection_name}, result is None"]


def _query(
    database: Database,
    collection_name: str,
    query_texts: list[str],
    n_results: int,
    where: Metadata | None,
    where_document: Metadata | None,
    include: list[str],
) -> Texts:
    if not query_texts:
        raise Refused("The 'query_texts' list cannot be empty.")
    with _failing(f"Failed to query documents from collection '{collection_name}'"):
        named, collection = database.find(collection_name)
        chooses = _filter("query", where, where_document)
        with _checking("query"):
            check_include(include)
            if n_results <= 0:
                raise Refused(f"Number of requested results {n_results}, cannot be negative, or zero.")
        if n_results > _INT_MAX:
            raise Refused("Python int too large to convert to C long")
        chosen = collection.chosen(chooses)
        found = [collection.nearest(chosen, each, n_results, named.space) for each in query_texts]
    parts = [_parts(collection, [each for each, _ in near], include) for near in found]
    answer: dict[str, Any] = {"ids": [[each.id for each, _ in near] for near in found]}
    answer |= {
        name: [part[name] for part in parts] if parts[0][name] is not None else None for name in parts[0]
    }
    distances = [[distance for _, distance in near] for near in found] if "distances" in include else None
    return [_told({**answer, "included": include, "data": None, "distances": distances})]


def _get(
    database: Database,
    collection_name: str,
    ids: list[str] | None,
    where: Metadata | None,
    where_document: Metadata | None,
    include: list[str],
    limit: int | None,
    offset: int | None,
) -> Texts:
    with _failing(f"Failed to get documents from collection '{collection_name}'"):
        _, collection = database.find(collection_name)
        with _checking("get"):
            if ids is not None:
                check_ids(ids)
        chooses = _filter("get", where, where_document)
        with _checking("get"):
            check_include(include, forbidden="distances")
            if "data" in include:
                raise Refused("You must set a data loader on the collection if loading from URIs.")
        check_page(limit, offset)
        documents = _page(collection.chosen(chooses, ids), limit, offset)
    return [_told(_got(collection, documents, include))]


def _update(
    database: Database,
    collection_name: str,
    ids: list[str],
    embeddings: list[list[float]] | None,
    metadatas: list[Metadata] | None,
    documents: list[str] | None,
) -> Texts:
    if not ids:
        raise Refused("The 'ids' list cannot be empty.")
    parts = {"embeddings": embeddings, "metadatas": metadatas, "documents": documents}
    if all(part is None for part in parts.values()):
        raise Refused(
            "At least one of 'embeddings', 'metadatas', or 'documents' must be provided for update."
        )
    for name, part in parts.items():
        if part is not None and len(part) != len(ids):
            raise Refused(f"Length of '{name}' list must match length of 'ids' list.")
    with _failing(f"Failed to get collection '{collection_name}'"):
        named, _ = database.find(collection_name)
    with _failing(f"Failed to update documents in collection '{collection_name}'"):
        with _checking("update"):
            check_ids(ids)
            for metadata in metadatas or ():
                check_metadata(metadata)
        check_values(metadatas or (), removing=True)
        for embedding in embeddings or ():
            _check_embedding(embedding, database.dims)
        database.update(named, ids, documents, metadatas, embeddings)
    return [
        f"Successfully processed update request for {len(ids)} documents in collection '{collection_name}'. "
        f"{_IGNORED}"
    ]


def _delete(database: Database, collection_name: str, ids: list[str]) -> Texts:
    if not ids:
        raise Refused("The 'ids' list cannot be empty.")
    with _failing(f"Failed to get collection '{collection_name}'"):
        named, _ = database.find(collection_name)
    with _failing(f"Failed to delete documents from collection '{collection_name}'"):
        with _checking("delete"):
            check_ids(ids)
        database.delete(named, ids)
    return [f"Successfully deleted {len(ids)} documents from collection '{collection_name}'. {_IGNORED}"]


# -- parts of answers ------------------------------------------------------------------------------


def _filter(step: str, where: Metadata | None, where_document: Metadata | None) -> Any:
    """What the filters of a call choose. What Chroma's client refuses names the step, the rest does not."""
    try:
        return chooser(where, where_document)
    except Refused as error:
        known = str(error).startswith("Expected ")
        raise Refused(f"{error} in {step}." if known else str(error)) from error


def _check_embedding(embedding: Sequence[float], dims: int) -> None:
    if len(embedding) != dims:
        raise Refused(f"Collection expecting embedding with dimension of {dims}, got {len(embedding)}")
    if not all(abs(each) < 3.4e38 for each in embedding):
        raise Refused("an embedding holds a number that float32 has not")


def _page(things: Sequence[Any], limit: int | None, offset: int | None) -> list[Any]:
    start = offset or 0
    return list(things[start:] if limit is None else things[start : start + limit])


def _peeked(collection: Collection, limit: int) -> dict[str, Any]:
    return _got(collection, _page(collection.chosen(None), limit, None), _PEEKED)


def _got(collection: Collection, documents: Sequence[Document], include: Sequence[str]) -> dict[str, Any]:
    parts = _parts(collection, documents, include)
    return {"ids": [each.id for each in documents], **parts, "included": list(include), "data": None}


def _parts(
    collection: Collection, documents: Sequence[Document], include: Sequence[str]
) -> dict[str, list[Any] | None]:
    """What is asked for of some documents; None for what is not."""
    return {
        "embeddings": collection.embeddings(documents) if "embeddings" in include else None,
        "documents": [each.text for each in documents] if "documents" in include else None,
        "uris": [None for _ in documents] if "uris" in include else None,
        "metadatas": [each.metadata for each in documents] if "metadatas" in include else None,
    }


def _told(answer: Mapping[str, Any]) -> str:
    return json.dumps(answer)


# -- what is offered -------------------------------------------------------------------------------

_TEXT, _WHOLE, _OBJECT = Form(str), Form(int), Form(dict)
_COLLECTION = Argument("collection_name", _TEXT)
_LIMITS = (
    Argument("limit", Form(int, nullable=True), None),
    Argument("offset", Form(int, nullable=True), None),
)
_FILTERS = (
    Argument("where", Form(dict, nullable=True), None),
    Argument("where_document", Form(dict, nullable=True), None),
)
_TEXTS = Form(list, _TEXT)
_TEXTS_OR_NONE, _OBJECTS_OR_NONE = Form(list, _TEXT, nullable=True), Form(list, _OBJECT, nullable=True)

TOOLS: Final = (
    Tool("chroma_list_collections", "The names of all collections, a page of them.", _LIMITS, _list),
    Tool(
        "chroma_create_collection",
        "Make a collection. Its documents are compared by the embedder of this machine.",
        (
            _COLLECTION,
            Argument("embedding_function_name", _TEXT, "default"),
            Argument("metadata", Form(dict, nullable=True), None),
        ),
        _create,
    ),
    Tool(
        "chroma_peek_collection",
        "The first documents of a collection.",
        (_COLLECTION, Argument("limit", _WHOLE, 5)),
        _peek,
    ),
    Tool(
        "chroma_get_collection_info",
        "How many documents a collection has, and a few of them.",
        (_COLLECTION,),
        _info,
    ),
    Tool("chroma_get_collection_count", "How many documents a collection has.", (_COLLECTION,), _count),
    Tool(
        "chroma_modify_collection",
        "Give a collection another name or other metadata.",
        (
            _COLLECTION,
            Argument("new_name", Form(str, nullable=True), None),
            Argument("new_metadata", Form(dict, nullable=True), None),
        ),
        _modify,
    ),
    Tool(
        "chroma_fork_collection",
        "Copy a collection under another name.",
        (_COLLECTION, Argument("new_collection_name", _TEXT)),
        _fork,
    ),
    Tool(
        "chroma_delete_collection",
        "Delete a collection and its documents.",
        (_COLLECTION,),
        _delete_collection,
    ),
    Tool(
        "chroma_add_documents",
        "Add documents under ids that are new: all of them or none. A missing collection is made.",
        (
            _COLLECTION,
            Argument("documents", _TEXTS),
            Argument("ids", _TEXTS),
            Argument("metadatas", _OBJECTS_OR_NONE, None),
        ),
        _add,
    ),
    Tool(
        "chroma_query_documents",
        "The documents nearest to each of some texts. where: {field: value}, {field: {$gt: 5}} ($eq $ne $gt "
        "$gte $lt $lte $in $nin), {$and: [...]}, {$or: [...]}. where_document: $contains $not_contains "
        "$regex $not_regex $and $or.",
        (
            _COLLECTION,
            Argument("query_texts", _TEXTS),
            Argument("n_results", _WHOLE, 5),
            *_FILTERS,
            Argument("include", _TEXTS, ["documents", "metadatas", "distances"]),
        ),
        _query,
    ),
    Tool(
        "chroma_get_documents",
        "Documents by id or by filter, a page of them; filters as in chroma_query_documents.",
        (
            _COLLECTION,
            Argument("ids", _TEXTS_OR_NONE, None),
            *_FILTERS,
            Argument("include", _TEXTS, ["documents", "metadatas"]),
            *_LIMITS,
        ),
        _get,
    ),
    Tool(
        "chroma_update_documents",
        "Change documents that are there. Metadata is merged; null takes a key away.",
        (
            _COLLECTION,
            Argument("ids", _TEXTS),
            Argument("embeddings", Form(list, Form(list, Form(float)), nullable=True), None),
            Argument("metadatas", _OBJECTS_OR_NONE, None),
            Argument("documents", _TEXTS_OR_NONE, None),
        ),
        _update,
    ),
    Tool(
        "chroma_delete_documents", "Delete documents by id.", (_COLLECTION, Argument("ids", _TEXTS)), _delete
    ),
)
BY_NAME: Final = {tool.name: tool for tool in TOOLS}
