"""Text to vectors: an embedder by its name, and nothing imported before one is asked for.

    static        the table inside the wheel: the default, numpy alone
    minilm        all-MiniLM-L6-v2, once `minilm.build` has put it in its place
    openai        an endpoint that speaks OpenAI's `/embeddings`: the only one that sends text anywhere
    folder:PATH   a model2vec, sentence-transformers or ONNX folder on this machine
    any other     what an installed package offers in the entry point group `recollect.embedders`

An entry point is a callable that takes the embedder's own settings (a mapping, as the config file has them)
and gives an `Embedder`; `contract` says what that is, and `recollect.testing.embedders` tests it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from recollect.values.errors import UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

    from recollect.search.embed.contract import Embedder

GROUP = "recollect.embedders"
BUILT_IN = ("static", "minilm", "openai")
FOLDER = "folder:"

_NOTHING: Mapping[str, str] = MappingProxyType({})


def embedder(
    name: str,
    *,
    settings: Mapping[str, Mapping[str, Any]],
    models: Path | None = None,
    environ: Mapping[str, str] = _NOTHING,
) -> Embedder:
    """The embedder of that name, ready to encode.

    `settings`: a table for each name; `models`: the folder that holds what was built; `environ`: where a key
    is looked up, by the variable that the table names.
    """
    own = settings.get(name, {})
    if name == "static":
        from recollect.search.embed.static import StaticEmbedder

        return StaticEmbedder.load()
    if name == "minilm":
        from recollect.search.embed import minilm

        return minilm.load(models / "minilm" if models else None)
    if name == "openai":
        from recollect.search.embed import endpoint

        return endpoint.from_settings(own, environ)
    if name.startswith(FOLDER):
        from recollect.search.embed import folder

        return folder.load(Path(name.removeprefix(FOLDER)).expanduser())
    return _from_entry_point(name, own)


def names() -> list[str]:
    """Every name that `embedder` takes on this machine, but for folders."""
    return [*BUILT_IN, *sorted(_entry_points().names - set(BUILT_IN))]


def _from_entry_point(name: str, settings: Mapping[str, Any]) -> Embedder:
    found = _entry_points().select(name=name)
    if not found:
        known = ", ".join([*names(), f"{FOLDER}PATH"])
        raise UsageError(f"no embedder is called {name!r}", hint=f"there are {known}")
    try:
        make = next(iter(found)).load()
    except ImportError as error:
        raise UsageError(f"the package of the embedder {name!r} cannot be imported: {error}") from error
    made: Embedder = make(settings)
    return made


def _entry_points() -> EntryPoints:
    from importlib.metadata import entry_points  # 20 ms that the built-in ones do not need

    return entry_points(group=GROUP)
