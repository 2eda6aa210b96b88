"""Settings: where the store is, what this host is called, which prices hold.

An option beats the environment, the environment beats the config file, and that beats
the platform's own places. Only the faces and the facade read this; everything below
takes plain arguments.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from recollect.store.registry import Location, location
from recollect.values.errors import UsageError
from recollect.values.retention import RetentionSettings


@dataclass(frozen=True, slots=True)
class Config:
    """What a person set, with defaults filled in.

    `store`: a file, or the URL of a store elsewhere. `cache`: where indexes are kept.
    `embedder`: which one makes vectors; `embedders`: settings of each by name; `models`: where
    models that were built are kept. `prices`: model name to dollars per million tokens.
    `fleet`: the machines whose logs are taken in over ssh, a table for each (`values/fleet.py`).
    `retention`: how much may be kept word for word; None for all of it.
    """

    store: Location
    host: str
    cache: Path = field(default_factory=lambda: _default_cache())
    embedder: str = "static"
    embedders: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    models: Path = field(default_factory=lambda: _models())
    prices: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    fleet: Mapping[str, Any] = field(default_factory=dict)
    retention: RetentionSettings | None = None

    @property
    def path(self) -> Path | None:
        """The file the store is in; None for one elsewhere."""
        return self.store if isinstance(self.store, Path) else None

    @property
    def url(self) -> str:
        """What names the store from whatever folder."""
        return self.store if isinstance(self.store, str) else str(self.store.absolute())

    @property
    def plugins(self) -> Path:
        """Where plugins for agents are written."""
        return _default_store().with_name("plugins").absolute()

    @property
    def state(self) -> Path:
        """Where the hooks of this store keep what they need from one event to the next."""
        import hashlib

        name = hashlib.blake2b(os.fsencode(self.url), digest_size=8).hexdigest()
        return self.cache.absolute() / "hooks" / name

    @property
    def copies(self) -> tuple[Path, ...]:
        """What remembers the copies that were made of this store: the first is written, the others are read.

        It cannot be made again, so it is not in the cache, where earlier versions kept it.
        """
        old = self.state / "copies.jsonl"
        if self.path is None:
            return _default_store().with_name(f"{self.state.name}.copies"), old
        path = self.path.absolute()
        return path.with_name(f"{path.name}.copies"), old

    @property
    def fleet_folder(self) -> Path:
        """Where is kept what saves asking the hosts of the fleet again."""
        return self.cache.absolute() / "fleet" / self.state.name


def config_path(environ: Mapping[str, str] = os.environ) -> Path:
    """The config file: RECOLLECT_CONFIG, else `config.toml` in the platform's folder."""
    if environ.get("RECOLLECT_CONFIG"):
        return Path(environ["RECOLLECT_CONFIG"]).expanduser()
    import platformdirs

    return Path(platformdirs.user_config_dir("recollect", appauthor=False)) / "config.toml"


def load_config(store: str | None = None, environ: Mapping[str, str] = os.environ) -> Config:
    """The settings in force; `store` is what the command line said."""
    values = _read(config_path(environ))
    chosen = store or environ.get("RECOLLECT_STORE") or values.get("store")
    cache = environ.get("RECOLLECT_CACHE") or values.get("cache")
    return Config(
        store=location(chosen) if chosen else _default_store(),
        host=str(values.get("host") or host_name()),
        cache=Path(cache).expanduser() if cache else _default_cache(),
        embedder=str(environ.get("RECOLLECT_EMBEDDER") or values.get("embedder") or "static"),
        embedders=values.get("embedders", {}),
        models=Path(values["models"]).expanduser() if values.get("models") else _models(),
        prices=values.get("prices", {}),
        fleet=values.get("fleet", {}),
        retention=RetentionSettings.from_table(values.get("retention")),
    )


def host_name() -> str:
    """What this machine calls itself."""
    # The same as socket.gethostname(), without importing it.
    return os.uname().nodename if hasattr(os, "uname") else os.environ.get("COMPUTERNAME", "localhost")


def _default_store() -> Path:
    import platformdirs

    return Path(platformdirs.user_data_dir("recollect", appauthor=False)) / "memory.h5"


def _models() -> Path:
    return _default_store().with_name("models")


def _default_cache() -> Path:
    import platformdirs

    return Path(platformdirs.user_cache_dir("recollect", appauthor=False))


def _read(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    import tomllib

    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path}: not valid TOML: {error}", hint="fix or remove the file") from error
