"""`erase --secrets`, what is said of altered lines, copies that are known of, and an id on two hosts."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.support.canaries import ERASED, HOST, KEPT, talk, write
from tests.support.canary_secrets import GITHUB, SECRETS, write_secrets

from recollect.cli import main
from recollect.config import Config
from recollect.memory import Memory
from recollect.values.records import SourceFile

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run(
    store: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Run:
    monkeypatch.setenv("RECOLLECT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("recollect.config.host_name", lambda: HOST)
    assert main(["--store", store, "--quiet", "ingest", str(write_secrets(tmp_path / "logs"))]) == 0

    def call(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main(["--store", store, *words])
        out, err = capsys.readouterr()
        assert not any(secret in out + err for secret in SECRETS)
        return code, out, err

    return call


def told(run: Run, *words: str) -> dict[str, Any]:
    _, out, _ = run("--json", *words)
    found: dict[str, Any] = json.loads(out)
    return found


def test_a_dry_run_counts_kinds_and_shows_no_secret(run: Run, tmp_path: Path) -> None:
    code, out, _ = run("erase", "--secrets", "--dry-run")
    assert code == 0
    assert "github-token: " in out
    assert "for example: " in out
    assert "[redacted:github-token]" in out
    found = told(run, "erase", "--secrets", "--dry-run")
    assert found["counts"]["lines"] == 7
    assert found["sessions"][0]["secrets"]["github-token"] >= 2
    assert found["sources"] == [str(tmp_path / "logs" / "harbor" / f"{ERASED}.jsonl")]


def test_altered_lines_are_told_of_wherever_they_are_shown(run: Run, tmp_path: Path) -> None:
    code, out, _ = run("erase", "--secrets", "--yes", "-o", str(tmp_path / "receipt.json"))
    assert code == 0
    assert "in 7 lines, which are altered now" in out
    assert "the agent's own file still has it" in out
    code, _, err = run("export", ERASED, "--to", "raw", "-o", str(tmp_path / "raw.jsonl"))
    assert code == 8
    assert "7 lines (1, 2, 3, 4, 5, 6, 7)" in err
    assert GITHUB not in (tmp_path / "raw.jsonl").read_text()
    found = told(run, "export", ERASED, "--to", "raw", "-o", str(tmp_path / "again.jsonl"))
    assert found["altered"] == [1, 2, 3, 4, 5, 6, 7]
    code, _, err = run("export", KEPT, "--to", "raw", "-o", str(tmp_path / "kept.jsonl"))
    assert (code, "altered" in err) == (0, False)
    assert "7 lines: secrets in them were erased" in run("show", ERASED)[1]
    assert told(run, "show", ERASED)["altered"] == [1, 2, 3, 4, 5, 6, 7]
    assert told(run, "check")["altered"] == 7
    assert "7 lines are not what their logs had" in run("check")[1]
    assert run("erase", "--verify", str(tmp_path / "receipt.json"))[0] == 0
    assert "secrets" in run("erase", "--list")[1]
    assert run("erase", "--secrets", "--dry-run")[0] == 3


def test_a_log_is_not_deleted_for_a_secret(run: Run, tmp_path: Path) -> None:
    assert run("erase", "--secrets", "--yes", "--sources", "--delete-sources")[0] == 2
    assert run("erase", "--secrets", "--match", "x")[0] == 2
    assert run("erase", "--secrets", "--yes", "--sources")[0] == 0
    assert (tmp_path / "logs" / "harbor" / f"{ERASED}.jsonl").exists()


@pytest.mark.on_disk("of a store in this process there is no snapshot as a file")
def test_copies_that_were_made_are_named_while_they_are_there(run: Run, tmp_path: Path) -> None:
    made = {name: str(tmp_path / name) for name in ("snap.h5", "part.h5", "page.md", "raw.jsonl", "other.md")}
    run("snapshot", made["snap.h5"])
    run("export", ERASED, "--to", "store", "-o", made["part.h5"])
    run("export", ERASED, "--to", "markdown", "-o", made["page.md"])
    run("export", ERASED, "--to", "raw", "-o", made["raw.jsonl"])
    run("export", KEPT, "--to", "markdown", "-o", made["other.md"])
    converted = str(tmp_path / "converted.h5")
    run("convert", str(tmp_path / "logs"), "-o", converted)
    found = told(run, "erase", "--secrets", "--dry-run")["copies"]
    assert sorted(found) == sorted([made["snap.h5"], made["raw.jsonl"], converted])
    found = told(run, "erase", ERASED, "--dry-run")["copies"]
    assert sorted(found) == sorted(
        [*(made[n] for n in ("snap.h5", "part.h5", "page.md", "raw.jsonl")), converted]
    )
    shutil.rmtree(tmp_path / "cache")
    assert len(told(run, "erase", ERASED, "--dry-run")["copies"]) == 5, "a cache may be cleared"
    (state,) = tmp_path.glob("*.h5.copies")
    assert state.stat().st_mode & 0o077 == 0
    assert ERASED not in state.read_text()
    (tmp_path / "snap.h5").unlink()
    code, out, _ = run("erase", ERASED, "--yes", "-o", str(tmp_path / "receipt.json"))
    assert code == 0
    assert f"a copy that you made may still have it: {made['raw.jsonl']}" in out
    receipt = json.loads((tmp_path / "receipt.json").read_text())
    assert made["snap.h5"] not in receipt["copies"]
    assert made["part.h5"] in receipt["copies"]
    assert "snap.h5" not in state.read_text()


@pytest.mark.on_disk("of a store in this process there is no snapshot as a file")
def test_what_an_earlier_version_remembered_of_copies_in_the_cache_is_read(run: Run, tmp_path: Path) -> None:
    run("export", ERASED, "--to", "markdown", "-o", str(tmp_path / "page.md"))
    (record,) = tmp_path.glob("*.h5.copies")
    folder = Config(record.with_suffix(""), HOST, cache=tmp_path / "cache").state
    folder.mkdir(parents=True, exist_ok=True)
    record.rename(folder / "copies.jsonl")
    run("export", ERASED, "--to", "raw", "-o", str(tmp_path / "raw.jsonl"))
    found = told(run, "erase", ERASED, "--dry-run")["copies"]
    assert sorted(found) == [str(tmp_path / "page.md"), str(tmp_path / "raw.jsonl")]


def test_what_is_written_for_an_agent_is_a_copy_too(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    code, _, err = run("resume", ERASED, "--to", "claude", "--into", str(tmp_path))
    assert code == 0, err
    (written,) = told(run, "erase", ERASED, "--dry-run")["copies"]
    assert written.startswith(str(tmp_path / "home"))


@pytest.mark.on_disk("stores of other machines are files")
def test_an_id_on_two_hosts_needs_the_host(run: Run, store: str, tmp_path: Path) -> None:
    for host in ("build-7", "laptop"):
        log = write(tmp_path / host / f"{KEPT}.jsonl", talk(KEPT, f"hull of {host}"))
        config = Config(tmp_path / f"{host}.h5", host, cache=tmp_path / "cache")
        with Memory.open(config=config) as memory:
            memory.ingest([log])
        run("merge", str(tmp_path / f"{host}.h5"), "--own")
    code, _, err = run("erase", KEPT, "--yes")
    assert code != 0
    assert f"build-7, {HOST}, laptop" in err
    assert "--host build-7" in err
    assert run("erase", KEPT, "--host", "nowhere", "--yes")[0] != 0
    code, _, err = run("erase", KEPT, "--host", "laptop", "--yes")
    assert code == 0, err
    with Memory.open(config=Config(Path(store), HOST, cache=tmp_path / "cache")) as memory:
        assert sorted(each.host for each in memory.sessions() if each.facts.id == KEPT) == ["build-7", HOST]
        assert all(isinstance(each.file, SourceFile) for each in memory.sources())
