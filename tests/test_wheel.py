"""What a stranger installs: the wheel alone, in an empty environment, away from this tree.

`make wheel-check` runs these; pip must reach its packages.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.mcp.scripted import HELLO, Scripted
from tests.support import ROOT
from tests.support.packages import NAMES, agent_of, write_package
from tests.support.readme import ageless, shown_commands, shown_python

pytestmark = pytest.mark.wheel

VERSIONS = (ROOT / "constraints.txt").as_uri()


@dataclass(frozen=True)
class Built:
    wheel: Path
    sdist: Path

    @property
    def wheel_files(self) -> set[str]:
        return set(zipfile.ZipFile(self.wheel).namelist())

    @property
    def sdist_files(self) -> set[str]:
        with tarfile.open(self.sdist) as archive:
            return {name.partition("/")[2] for name in archive.getnames()}


@dataclass(frozen=True)
class Place:
    """An environment with the wheel and nothing else in it, and a home without logs."""

    bin: Path
    home: Path

    def run(self, *words: str | Path, given: str = "", status: int = 0) -> str:
        done = subprocess.run(
            words,
            cwd=self.home,
            env=self.environment,
            input=given,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout

    @property
    def environment(self) -> dict[str, str]:
        return {"HOME": str(self.home), "PATH": f"{self.bin}:{os.defpath}", "LC_ALL": "C.UTF-8"}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    out = tmp_path_factory.mktemp("dist")
    _pip_run(sys.executable, "-m", "build", "--outdir", out, ROOT)
    (wheel,), (sdist,) = out.glob("*.whl"), out.glob("*.tar.gz")
    return Built(wheel, sdist)


@pytest.fixture(scope="module")
def place(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Place:
    folder = tmp_path_factory.mktemp("stranger")
    (folder / "home").mkdir()
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    found = Place(folder / "venv" / "bin", folder / "home")
    _pip_run(found.bin / "python", "-m", "pip", "install", "--quiet", built.wheel)
    return found


@pytest.fixture(scope="module")
def sample(place: Place) -> Path:
    """The store that the README's first command makes."""
    place.run("recollect", "--store", "sample.h5", "start")
    return place.home / "sample.h5"


def test_every_file_of_the_package_is_in_the_wheel(built: Built) -> None:
    tracked = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "src"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    files = (file for name in tracked.stdout.splitlines() for file in _behind(ROOT / name))
    ours = {str(file.relative_to(ROOT / "src")) for file in files}
    packed = {name for name in built.wheel_files if not re.match(r"recollect-[^/]+\.dist-info/", name)}
    assert packed == ours


def _behind(path: Path) -> list[Path]:
    """A file, or the files of a folder that a link leads to."""
    return [each for each in path.rglob("*") if each.is_file()] if path.is_dir() else [path] * path.exists()


def test_the_data_that_the_package_reads_is_in_the_wheel(built: Built) -> None:
    for pattern in (
        r"redact/issuers\.toml$",
        r"embed/static-256\.npz$", r"embed/NOTICE$", r"/prices\.json$",
        r"/plugin/\.claude-plugin/plugin\.json$", r"/SKILL\.md$", r"/sample/claude/.*\.jsonl$",
        r"/sample/codex/.*\.jsonl$", r"/py\.typed$", r"dist-info/licenses/LICENSE$",
    ):  # fmt: skip
        assert any(re.search(pattern, name) for name in built.wheel_files), pattern


def test_tests_benchmarks_and_caches_are_in_neither(built: Built) -> None:
    for name in built.wheel_files | built.sdist_files:
        assert not re.search(
            r"^(tests|benchmarks|training|tools)/|__pycache__|\.pyc$|\.h5$|/\.\w+_cache/", name
        ), name


def test_the_sdist_builds_without_the_repository(built: Built) -> None:
    """`build` makes the wheel out of the sdist, so it holds all that takes; what is left are its pages."""
    assert {
        "README.md",
        "LICENSE",
        "CHANGELOG.md",
        "SECURITY.md",
        "constraints.txt",
        "requirements.lock",
    } <= built.sdist_files
    assert "docs/format.md" in built.sdist_files


def test_it_says_its_version(place: Place, built: Built) -> None:
    assert place.run("recollect", "--version").split() == built.wheel.name.split("-")[:2]
    assert place.run("python", "-m", "recollect", "--version").split()[0] == "recollect"


def test_it_is_the_installed_one_that_runs(place: Place) -> None:
    where = place.run("python", "-c", "import recollect; print(recollect.__file__)")
    assert Path(where).is_relative_to(place.bin.parent)


def test_the_commands_of_the_readme_give_the_output_shown(place: Place, sample: Path) -> None:
    for words, shown in shown_commands():
        if words[2] == "ingest":  # of the clone's own folder; `start` has taken in the same sample
            continue
        printed = [ageless(line) for line in place.run("recollect", *words).splitlines()]
        for line in shown:
            assert ageless(line) in printed, words


def test_the_python_of_the_readme_runs(place: Place, sample: Path) -> None:
    assert "Users are logged out after an hour" in place.run("python", "-c", shown_python())


def test_the_hook_line_that_init_writes_captures_what_was_said(place: Place) -> None:
    log = place.home / ".claude/projects/-srv-demo/5a3e1c00-7b1d-4c57-9d42-0e6f2a1b9c77.jsonl"
    log.parent.mkdir(parents=True)
    place.run("recollect", "init", "--yes", "--agent", "claude")
    settings = json.loads((place.home / ".claude/settings.json").read_text("utf-8"))
    (entry,) = settings["hooks"]["Stop"]
    _write_log(place, log)
    for line in (entry["hooks"][0]["command"], "recollect-hook claude"):
        place.run("sh", "-c", line, given=_stop_event(log))
    log.unlink()
    assert "pelicans" in place.run("recollect", "search", "users turned into pelicans", "-n", "1")


@pytest.fixture
def server(place: Place, sample: Path) -> Iterator[Scripted]:
    with subprocess.Popen(
        [place.bin / "python", "-m", "recollect", "--store", sample, "mcp"],
        cwd=place.home,
        env=place.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        yield Scripted(process)


def test_the_mcp_server_shakes_hands_and_answers(server: Scripted) -> None:
    assert server.ask("initialize", HELLO)["result"]["serverInfo"]["name"] == "recollect"
    tools = {tool["name"] for tool in server.ask("tools/list")["result"]["tools"]}
    assert {"search_memory", "read_memory", "recall_context"} <= tools
    answer = server.call("search_memory", query="why were users logged out", k=1)
    assert "logged out after an hour" in answer["content"][0]["text"]


def test_all_modules_can_be_imported(place: Place) -> None:
    """What stands on an extra is imported late; what a test of a third party stands on, with pytest alone."""
    program = (
        "import importlib, pkgutil, recollect\n"
        "for module in pkgutil.walk_packages(recollect.__path__, 'recollect.'):\n"
        "    apart = ('recollect.testing', 'recollect.__main__', 'recollect.integrations.')\n"
        "    if not module.name.startswith(apart):\n"
        "        importlib.import_module(module.name)\n"
    )
    place.run("python", "-W", "error", "-c", program)


def test_what_is_for_a_package_that_is_not_there_names_its_install_line(place: Place) -> None:
    program = (
        "import importlib, pkgutil, recollect.integrations as room\n"
        "for module in pkgutil.iter_modules(room.__path__, 'recollect.integrations.'):\n"
        "    try: importlib.import_module(module.name)\n"
        "    except Exception as error: print(getattr(error, 'hint', '') or error)\n"
    )
    told = place.run("python", "-W", "error", "-c", program).splitlines()
    assert len(told) >= 4
    assert all("pip install" in line for line in told)


@pytest.fixture(scope="module")
def joined(place: Place, tmp_path_factory: pytest.TempPathFactory) -> Place:
    """An environment of their own for packages of others, in which what is in the first one is found too."""
    folder = tmp_path_factory.mktemp("joined")
    (folder / "home").mkdir()
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    found = Place(folder / "venv" / "bin", folder / "home")
    Path(found.run("python", "-c", where).strip(), "first.pth").write_text(place.run("python", "-c", where))
    for name in NAMES:
        package = write_package(name, folder / "home")
        _pip_run(found.bin / "python", "-m", "pip", "install", "--quiet", f"{package}[test]")
    return found


@pytest.mark.parametrize("name", NAMES)
def test_the_agent_of_another_package_joins_and_keeps_the_contract(joined: Place, name: str) -> None:
    package = joined.home / name
    words = ("python", "-m", "recollect", "--store", f"{name}.h5")
    joined.run(*words, "ingest", package / "tests" / "data")
    assert f"  {agent_of(package)}  " in joined.run(*words, "sessions")
    assert " passed" in joined.run("python", "-m", "pytest", "-p", "no:cacheprovider", package)


def _write_log(place: Place, log: Path) -> None:
    """Write the sample's conversation as another one, with words of its own."""
    package = place.run("python", "-c", "import recollect; print(recollect.__path__[0])").strip()
    (sample,) = Path(package).glob("sample/claude/*.jsonl")
    text = sample.read_text("utf-8").replace(sample.stem, log.stem)
    log.write_text(text.replace("logged out", "turned into pelicans"), "utf-8")


def _stop_event(log: Path) -> str:
    return json.dumps(
        {"hook_event_name": "Stop", "session_id": log.stem, "transcript_path": str(log), "cwd": "/srv/demo"}
    )


def _pip_run(*words: str | Path) -> None:
    """Run pip, or what runs it, with the versions of the locks; all it said is shown if it fails."""
    # What builds is pinned too, which pip names differently since 25.3.
    pinned = {"PIP_CONSTRAINT": VERSIONS, "PIP_BUILD_CONSTRAINT": VERSIONS}
    done = subprocess.run(
        words,
        env={**os.environ, **pinned, "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
