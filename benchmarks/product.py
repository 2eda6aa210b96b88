"""Every call into Recollect, one small function each, so that a changed command is changed here alone.

Commands run as a person runs them: a fresh `python -m recollect` with the home and cache folders in the
scratch folder. The functions at the end run inside `benchmarks.worker`, never in the measuring process.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.util
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from benchmarks.measure import Ran, run

REPOSITORY = Path(__file__).resolve().parent.parent


def ingest(store: Path, *paths: Path, weigh: bool = False, index: bool = False) -> tuple[Ran, dict[str, Any]]:
    """One sweep over the paths; the finished process and its `--json` summary.

    With `index` as a person types it: what is new is searchable when it ends.
    """
    options = ["--json"] if index else ["--json", "--no-index"]
    ran = command(store, "ingest", *map(str, paths), *options, weigh=weigh)
    return ran, json.loads(ran.stdout)


def command(store: Path, *words: str, weigh: bool = False) -> Ran:
    """`recollect --store STORE WORDS...` in a fresh process, or an error that shows what it said."""
    store.parent.mkdir(parents=True, exist_ok=True)
    argv = [sys.executable, "-m", "recollect", "--store", str(store), *words]
    return run(argv, env=environment(store.parent.parent), weigh=weigh).checked()


def tail_command(store: Path, session: str, count: int) -> Ran:
    return command(store, "tail", session, "-n", str(count), "--json")


def index_command(store: Path) -> Ran:
    """Bring the search indexes up to date."""
    return command(store, "index", "--json")


def search_command(store: Path, question: str, mode: str) -> Ran:
    """A person's search, best ten, in a fresh process."""
    return command(store, "search", question, "--mode", mode, "--json")


def hit_ids(found: str) -> list[str]:
    """The entries that a `search --json` found."""
    return [hit["id"] for hit in json.loads(found)["hits"]]


def embedder_table() -> str:
    """Which default embedder this is, without loading it: vectors kept from another are no use."""
    found = importlib.util.find_spec("recollect.search.embed")
    assert found is not None
    assert found.origin is not None
    table = Path(found.origin).with_name("static-256.npz")
    return hashlib.sha256(table.read_bytes()).hexdigest()[:8]


def embedder_load_seconds(home: Path) -> float:
    """From nothing imported to an embedder that answers, numpy's import included, in a fresh process."""
    script = (
        "import time; start = time.perf_counter()\n"
        "from recollect.search.embed.static import StaticEmbedder\n"
        "StaticEmbedder.load().encode(['a word']); print(time.perf_counter() - start)"
    )
    return float(run([sys.executable, "-c", script], env=environment(home)).checked().stdout)


def checkpoint(store: Path) -> None:
    """Fold the journal into the store. Bulk ingest commits as it goes and leaves none behind."""
    left = store.with_name(store.name + "-wal")
    assert not left.exists(), f"{left} is still there after an ingest"


def export_raw(store: Path, session: str, target: Path) -> bytes:
    """The source file of a session as the store gives it back."""
    command(store, "export", session, "--to", "raw", "-o", str(target), "--force")
    return target.read_bytes()


def source_bytes(summary: dict[str, Any]) -> int | None:
    """Bytes of all sources the sweep looked at, None when the summary does not say."""
    return _number(summary, "bytes_source")


def parsed_bytes(summary: dict[str, Any]) -> int | None:
    """Bytes the sweep had to parse."""
    return _number(summary, "bytes_parsed")


def source_count(summary: dict[str, Any]) -> int | None:
    """Sources the sweep looked at."""
    return _number(summary, "sources")


def entry_count(store: Path) -> int:
    """Entries in the whole store."""
    count = _number(json.loads(command(store, "status", "--json").stdout), "entries")
    if count is None:
        raise RuntimeError("`status --json` names no number of entries: adapt product.entry_count")
    return count


def environment(home: Path) -> dict[str, str]:
    """The caller's environment with every folder of the person moved into the scratch folder."""
    # Without byte code on disk every import costs twice, which no installed product would pay.
    dropped = ("RECOLLECT_", "CLAUDE_", "CODEX_", "XDG_", "PYTHONDONTWRITEBYTECODE")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(dropped)}
    folders = {
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / "cache"),
        "XDG_CONFIG_HOME": str(home / "config"),
        "XDG_DATA_HOME": str(home / "data"),
        "XDG_STATE_HOME": str(home / "state"),
    }
    python_path = os.pathsep.join(filter(None, [str(REPOSITORY), os.environ.get("PYTHONPATH")]))
    return kept | folders | {"PYTHONPATH": python_path}


@contextlib.contextmanager
def our_append(path: Path) -> Iterator[Callable[[bytes], None]]:
    """The store's journal, opened once: each call returns when the payload is durable."""
    from recollect.light.journal import Journal

    with Journal(path) as journal:
        yield lambda payload: _discard(journal.append(payload))


def our_append_once(path: Path, payload: bytes) -> None:
    """As a hook does it: open, append, close."""
    from recollect.light.journal import Journal

    with Journal(path) as journal:
        journal.append(payload)


@contextlib.contextmanager
def memory(store: Path) -> Iterator[Any]:
    """The facade on an existing store."""
    recollect: Any = importlib.import_module("recollect")
    opened = recollect.Memory.open(store)
    try:
        yield opened
    finally:
        opened.close()


def tail(opened: Any, session: str, count: int) -> Sequence[Any]:
    return list(opened.tail(session, count))


def usage(opened: Any) -> object:
    return opened.usage()


def entries(view: Any) -> Iterator[Any]:
    """Every entry that is searched, in the order of rows."""
    from recollect.search.text.fields import is_indexed

    stored = view.entry_range(0, view.info().rows_end)
    return (each.entry for each in stored if each.entry.text and is_indexed(each.entry))


def indexed_text(entry: Any) -> str:
    """What the word index takes of an entry."""
    from recollect.search.text.fields import body_of

    return body_of(entry)


def embedded_entries(view: Any) -> Iterator[Any]:
    """Every entry that has a vector."""
    from recollect.search.vectors.pieces import KINDS

    return (entry for entry in entries(view) if entry.kind in KINDS)


def distinct_pieces(chosen: Sequence[Any]) -> list[str]:
    """What of these entries is embedded."""
    from recollect.search.vectors.pieces import pieces_of

    return list(dict.fromkeys(piece for entry in chosen for piece in pieces_of(entry)))


def search(opened: Any, question: str, mode: str, filters: str = "", *, by_session: bool = False) -> int:
    """Everything a person sees of the best ten; how many there were."""
    asked = f"{plain_words(question)} {filters}".strip()
    found = opened.search(asked, mode=mode, limit=10, by_session=by_session)
    return len([(hit.id, hit.snippet.text, hit.session.facts.project) for hit in found.hits])


def unindexed(opened: Any) -> int:
    """How many entries a search cannot see, by words or by meaning."""
    fresh = opened.indexes.fresh()
    return int(fresh.entries - min(fresh.text, fresh.vectors))


def plain_words(question: str) -> str:
    """A question without what the query language would read as an operator."""
    return " ".join(re.findall(r"[\w.'/-]*\w", question)).replace(" -", " ").lstrip("-/")


@contextlib.contextmanager
def text_asker(store: Path, k: int) -> Iterator[Callable[[str], list[int]]]:
    """The text index by itself: words to rows."""
    from recollect.search.cache_folder import store_folder
    from recollect.search.mentions import Mentions
    from recollect.search.query import Word
    from recollect.search.session_filters import Sessions
    from recollect.search.text.index import TextIndex
    from recollect.search.text.match import Matcher

    with memory(store) as opened, opened.view() as view:
        info = view.info()
        index = TextIndex.open(store_folder(opened.config.cache, info.id), info.id, info.epoch)
        matcher = Matcher(index, Sessions(view), Mentions(view))

        def ask(question: str) -> list[int]:
            rows: list[int] = index.search(matcher.words(list(map(Word, question.split()))), k).rows.tolist()
            return rows

        yield ask


def reindex(store: Path, folder: Path) -> int:
    """A text index of the whole store in an empty folder; how many rows it has."""
    from recollect.search.text.index import TextIndex

    with memory(store) as opened, opened.view() as view:
        info = view.info()
        return TextIndex.open(folder, info.id, info.epoch).catch_up(view)


def nearest_asker(vectors: Any, folder: Path, k: int) -> tuple[str, Callable[[Any], list[int]]]:
    """Our own choice of strategy over these vectors, built and loaded."""
    from recollect.search.vectors import nearest

    name = nearest.choose(*vectors.shape)
    nearest.build(name, vectors, folder)
    loaded = nearest.load(name, vectors, folder)
    return name, lambda vector: loaded.search(vector, k)[0].tolist()


def _number(summary: dict[str, Any], *names: str) -> int | None:
    """The first of these fields, at the top or one level down."""
    for level in (summary, *(value for value in summary.values() if isinstance(value, dict))):
        for name in names:
            if isinstance(level.get(name), int):
                return int(level[name])
    return None


def _discard(_: object) -> None:
    return None
