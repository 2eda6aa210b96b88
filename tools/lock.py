"""Writes what is installed, to the byte: every package, its version, and the hashes of all its files.

    .venv/bin/python tools/lock.py        # or: make lock

A version that stands in `constraints.txt` stays; to get another one, change it there or remove the line. A
package that is missing is taken in its newest version that fits. `requirements.lock` is what it takes to
run and to build us, `requirements-test.lock` what the suite needs beside that; `constraints.txt` has the
versions alone, for tools that take no hashes. All of it is looked up where pip is set up to look, for CPython
on every system in `SYSTEMS`; no address is written down.
"""

from __future__ import annotations

import functools
import html
import io
import json
import os
import re
import ssl
import subprocess
import sys
import tomllib
import urllib.error
import urllib.request
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from email.parser import HeaderParser
from pathlib import Path
from urllib.parse import urljoin

from packaging.requirements import Requirement
from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)
from packaging.version import Version

ROOT = Path(__file__).resolve().parents[1]
RUN, TEST, VERSIONS = (
    ROOT / name for name in ("requirements.lock", "requirements-test.lock", "constraints.txt")
)

# What hatchling asks for besides, when a tree is installed in place.
_IN_PLACE = "editables"
_TESTED = ("minilm", "model2vec", "test")

PYTHONS = ("3.11", "3.12", "3.13")
SYSTEMS = {
    "linux": {"os_name": "posix", "platform_system": "Linux", "platform_machine": "x86_64"},
    "darwin": {"os_name": "posix", "platform_system": "Darwin", "platform_machine": "arm64"},
    "win32": {"os_name": "nt", "platform_system": "Windows", "platform_machine": "AMD64"},
}
_Place = tuple[str, str]  # a Python and a system
PLACES: list[_Place] = [(python, system) for python in PYTHONS for system in SYSTEMS]

_JSON = "application/vnd.pypi.simple.v1+json"
_HEADS = {
    RUN: "What it takes to run and to build Recollect. Written by tools/lock.py, not by hand.",
    TEST: "What the suite needs besides. Written by tools/lock.py, not by hand.",
    VERSIONS: "The versions that were tested together, alone. tools/lock.py goes by them.",
}


def main() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    run = [*project["project"]["dependencies"], *project["build-system"]["requires"], _IN_PLACE]
    extras = project["project"]["optional-dependencies"]
    ours = project["project"]["name"]
    test = [each for name in _TESTED for each in extras[name] if Requirement(each).name != ours]
    packages = Packages(_pinned())
    for place in PLACES:
        packages.need(run, place)
    needed_to_run = set(packages)
    for place in PLACES:
        packages.need([*run, *test], place)
    first = [each for name, each in sorted(packages.items()) if name in needed_to_run]
    rest = [each for name, each in sorted(packages.items()) if name not in needed_to_run]
    _write(RUN, [each.locked for each in first])
    _write(TEST, [f"-r {RUN.name}", *(each.locked for each in rest)])
    _write(VERSIONS, [each.pinned for _, each in sorted(packages.items())])


@dataclass(slots=True)
class Package:
    """One package in one version, its files, and where it is needed."""

    name: str
    version: Version
    hashes: list[str]
    requires: list[Requirement]
    places: set[_Place] = field(default_factory=set)

    @property
    def pinned(self) -> str:
        marker = marker_of(self.places)
        return f"{self.name}=={self.version}" + (f" ; {marker}" if marker else "")

    @property
    def locked(self) -> str:
        return " \\\n    ".join([self.pinned, *(f"--hash=sha256:{each}" for each in sorted(self.hashes))])


class Packages(dict[str, Package]):
    """All that is needed anywhere, by its name."""

    def __init__(self, pinned: dict[str, Version]) -> None:
        super().__init__()
        self._pinned = pinned

    def need(self, asked: Sequence[str], place: _Place) -> None:
        """Take in whatever these lead to in one place."""
        ahead = list(map(Requirement, asked))
        seen: set[tuple[str, str]] = set()
        while ahead:
            requirement = ahead.pop()
            package = self._found(requirement)
            package.places.add(place)
            for extra in {"", *requirement.extras}:
                if (package.name, extra) not in seen:
                    seen.add((package.name, extra))
                    ahead += [each for each in package.requires if _applies(each, place, extra)]

    def _found(self, requirement: Requirement) -> Package:
        name = canonicalize_name(requirement.name)
        if name not in self:
            self[name] = _looked_up(requirement, self._pinned.get(name))
        if not requirement.specifier.contains(self[name].version, prereleases=True):
            sys.exit(f"{requirement} is asked for, and {self[name].version} is pinned")
        return self[name]


def marker_of(places: set[_Place]) -> str:
    """The environment marker that is true in these places; none where it would be true in all."""
    pythons = [python for python in PYTHONS if any(python == each for each, _ in places)]
    systems = [system for system in SYSTEMS if any(system == each for _, each in places)]
    if len(places) < len(pythons) * len(systems):
        both = (f"(python_version == '{p}' and sys_platform == '{s}')" for p, s in sorted(places))
        return " or ".join(both)
    parts = []
    if len(systems) < len(SYSTEMS):
        parts.append(" or ".join(f"sys_platform == '{each}'" for each in systems))
    if len(pythons) < len(PYTHONS):
        parts.append(" or ".join(f"python_version == '{each}'" for each in pythons))
    return " and ".join(f"({part})" if " or " in part and len(parts) > 1 else part for part in parts)


def _applies(requirement: Requirement, place: _Place, extra: str) -> bool:
    python, system = place
    environment = {
        **SYSTEMS[system],
        "sys_platform": system,
        "python_version": python,
        "python_full_version": f"{python}.9",
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "extra": extra,
    }
    return requirement.marker is None or requirement.marker.evaluate(environment)


# -- where pip looks -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class File:
    name: str
    url: str
    sha256: str
    version: Version


def _looked_up(requirement: Requirement, pinned: Version | None) -> Package:
    files = list(_files(requirement.name))
    fitting = {each.version for each in files if each.version in requirement.specifier and each.sha256}
    version = pinned or max(fitting, default=None)
    of_it = [each for each in files if each.version == version]
    if version is None or not of_it or not all(each.sha256 for each in of_it):
        sys.exit(f"{requirement.name} {version or ''}: no files with hashes where pip looks")
    metadata = HeaderParser().parsestr(_metadata(of_it))
    requires = [Requirement(each) for each in metadata.get_all("Requires-Dist") or []]
    print(metadata["Name"], version, len(of_it), file=sys.stderr)
    return Package(metadata["Name"], version, [each.sha256 for each in of_it], requires)


def _files(name: str) -> Iterator[File]:
    """All files of a package, by the index's JSON or its page."""
    url = f"{_index()}/{canonicalize_name(name)}/"
    with _fetched(url, f"{_JSON}, text/html;q=0.1") as answer:
        base, kind, body = answer.url, answer.headers.get_content_type(), answer.read().decode()
    if kind == _JSON:
        links = [(each["url"], each["hashes"].get("sha256", "")) for each in json.loads(body)["files"]]
    else:
        found = (html.unescape(each) for each in re.findall(r'<a\b[^>]*?\bhref="([^"]+)"', body))
        links = [(link.partition("#")[0], link.partition("#sha256=")[2]) for link in found]
    for link, sha256 in links:
        file = link.rpartition("/")[2]
        if version := _version_of(file):
            yield File(file, urljoin(base, link), sha256, version)


def _version_of(file: str) -> Version | None:
    try:
        return parse_wheel_filename(file)[1] if file.endswith(".whl") else parse_sdist_filename(file)[1]
    except (InvalidWheelFilename, InvalidSdistFilename):
        return None


def _metadata(files: Sequence[File]) -> str:
    """What a version says of itself: in a file beside a wheel, or else in the wheel."""
    wheels = [each for each in files if each.name.endswith(".whl")]
    if not wheels:
        sys.exit(f"{files[0].name}: there is no wheel of this version, and we build nothing of others")
    try:
        with _fetched(wheels[0].url + ".metadata") as answer:
            return str(answer.read().decode())
    except urllib.error.HTTPError:
        with _fetched(wheels[0].url) as answer, zipfile.ZipFile(io.BytesIO(answer.read())) as wheel:
            (name,) = (each for each in wheel.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", each))
            return wheel.read(name).decode()


def _fetched(url: str, accept: str = "*/*"):  # type: ignore[no-untyped-def]  # what is opened depends on the address
    request = urllib.request.Request(url, headers={"Accept": accept})
    return urllib.request.urlopen(request, timeout=60, context=_certificates())


@functools.cache
def _index() -> str:
    from pip._internal.models.index import PyPI

    return (_pip_setting("index-url") or PyPI.simple_url).rstrip("/")


@functools.cache
def _certificates() -> ssl.SSLContext:
    return ssl.create_default_context(cafile=_pip_setting("cert") or None)


def _pip_setting(name: str) -> str:
    asked = [sys.executable, "-m", "pip", "config", "get", f"global.{name}"]
    given = os.environ.get("PIP_" + name.upper().replace("-", "_"))
    return given or subprocess.run(asked, capture_output=True, text=True, check=False).stdout.strip()


# -- the files -----------------------------------------------------------------------------


def _pinned() -> dict[str, Version]:
    lines = VERSIONS.read_text("utf-8").splitlines()
    found = (re.match(r"([\w.-]+)==([^\s;]+)", line) for line in lines)
    return {canonicalize_name(each[1]): Version(each[2]) for each in found if each}


def _write(path: Path, lines: Sequence[str]) -> None:
    path.write_text("\n".join([f"# {_HEADS[path]}", *lines]) + "\n", "utf-8")


if __name__ == "__main__":
    main()
