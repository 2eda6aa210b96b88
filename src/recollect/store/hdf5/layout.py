"""Every table, column and stream of a store, by name. `docs/format.md` explains each.

A table is a group of one-dimensional datasets of equal length, one per column. A stream
is a long run of bytes cut into zstd frames: a dataset `data` and a table `blocks`.
Row numbers are positions; references between tables are row numbers.
"""

from __future__ import annotations

# A column's last chunk is rewritten with every commit, and whole columns are scanned: the
# large tables get chunks worth scanning, the others chunks that cost little to rewrite.
ROWS_PER_CHUNK = 256
ROWS_PER_CHUNK_LARGE = 2048
LARGE = ("lines", "entries", "usage")
DATA_CHUNK_BYTES = 64 << 10
LEVEL = 3  # of zstd while ingesting; a rewrite takes LEVEL_DENSE
LEVEL_DENSE = 9
BLOCK_BYTES = 1 << 19  # of text before compression; a block is cut at the next line's end

# What nothing we write exceeds, so that a file cannot make a reader take more memory than it is worth.
TEXT_BYTES_MAX = 65 << 20  # of a line or a text: 64 MiB, and what joining its parts may add
BLOCK_BYTES_MAX = TEXT_BYTES_MAX  # of a block before compression: one line may be all of it
WORD_BYTES_MAX = 64 << 10  # of a name, an id, a title or a path; what is longer is read up to here
STATE_BYTES_MAX = 8 << 20  # of what a parser needs to go on
# Short texts, all together: so many times their packed size, or below this no ratio is suspicious.
WORDS_RATIO_MAX = 64
WORDS_FREE_BYTES = 64 << 20

Columns = dict[str, str]

STREAMS = ("lines", "texts")

VECTORS = "vectors"  # the group made with a store's first vectors: one stream a model, named 0, 1, ...
DERIVED = "derived"  # the group made with the first derived table: NAME/REVISION below it
KEY_BYTES = 8  # of a row of vectors, before its numbers

BLOCKS: Columns = {
    "end": "<u8",  # bytes of the stream up to and including this block
    "at": "<u8",  # where its zstd frame starts in `data`
    "length": "<u4",  # of the frame
    "crc": "<u4",  # crc32 of the frame
}

TABLES: dict[str, Columns] = {
    # Words used over and over: agents, hosts, projects, models, tools, record types.
    # Row 0 is "". The word itself is texts[at : at + length].
    "names": {"at": "<u8", "length": "<u4"},
    # One row a stored line; its bytes are lines[end of the row before : end].
    "lines": {
        "end": "<u8",
        "key_a": "<u8",  # BLAKE2b-128 of the line's bytes, little-endian halves
        "key_b": "<u8",
        "entries": "<u8",  # number of entries up to and including this line's
        "type": "<u4",  # name: the record's type as the agent calls it
        "flags": "<u1",  # LineFlag
        "uuid": "<u8",  # key of the record's own id, 0 without one
        "parent": "<u8",  # key of the record it hangs on, 0 without one
    },
    "entries": {
        "line": "<u8",
        "session": "<u4",  # the session it was first seen in
        "kind": "<u1",  # Kind
        "flags": "<u2",  # Flag
        "time": "<i8",  # milliseconds since 1970 UTC, 0 unknown
        "tool": "<u4",  # name
        "call": "<u8",  # key joining a tool call with its result, 0 without one
        "model": "<u4",  # name
        "form": "<u1",  # TextForm: how to get the text
        "at": "<u8",
        "length": "<u4",
    },
    "usage": {
        "key": "<u8",  # of the response
        "line": "<u8",  # the line these numbers are from
        "session": "<u4",
        "model": "<u4",  # name
        "time": "<i8",
        "input": "<u4",
        "output": "<u4",
        "cache_read": "<u4",
        "cache_write_5m": "<u4",
        "cache_write_1h": "<u4",
        "reasoning": "<u4",
    },
    "sessions": {
        "key": "<u8",  # of agent, host, id
        "prefix": "<u8",  # first 8 bytes of the id, big-endian: found by prefix without reading text
        "id_at": "<u8",
        "id_length": "<u4",  # in texts
        "agent": "<u4",
        "host": "<u4",
        "project": "<u4",
        "cwd": "<u4",
        "branch": "<u4",  # names
        "slug": "<u4",
        "model": "<u4",
        "version": "<u4",
        "parent": "<u4",
        "root": "<u4",  # names
        "title_at": "<u8",
        "title_length": "<u4",
        "title_rank": "<u1",
        "relation": "<u1",  # Relation to the parent
        "started": "<i8",
        "ended": "<i8",
        "entries": "<u8",  # how many entries it shows, shared ones included
        "extent": "<i8",  # its last row in extents, -1 none
    },
    # Which entries a session shows, in order: rows chained from the last to the first.
    "extents": {"session": "<u4", "first": "<u8", "count": "<u8", "before": "<i8"},
    "sources": {
        "key": "<u8",  # of host and path
        "path_at": "<u8",
        "path_length": "<u4",
        "agent": "<u4",
        "host": "<u4",
        "session": "<u4",
        "role": "<u1",
        "framing": "<u1",
        "flags": "<u1",  # SourceFlag
        "parser": "<u4",  # version of the adapter that read it
        "offset": "<u8",
        "size": "<u8",
        "mtime": "<i8",
        "ctime": "<i8",
        "inode": "<u8",
        "window": "<u8",
        "state_at": "<u8",
        "state_length": "<u4",
        "lines": "<u8",  # how many lines it has
        "span": "<i8",  # its last row in spans, -1 none
        "older": "<i8",  # the row of the version this one replaced, -1 none
    },
    # Which lines a source consists of, in order: rows chained from the last to the first.
    "spans": {"source": "<u4", "first": "<u8", "count": "<u8", "before": "<i8"},
}
