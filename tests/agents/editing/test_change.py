"""Changing a settings file: whole or not at all, with the original kept."""

from __future__ import annotations

import errno
import os
import random
import stat
import string
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from recollect.agents.editing.change import Change, backup_path, carry_out, read_backup, read_settings
from recollect.light.disk import Disk
from recollect.values.errors import SettingsRefused

OLD, NEW = b'{"old": 1}\n', b'{"old": 1, "ours": 2}\n'
CALLS = ("open", "write", "sync", "sync_folder", "rename", "unlink", "make_folder")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = tmp_path / "settings.json"
    made.write_bytes(OLD)
    return made


class Killed(BaseException):
    """The process is gone: no handler of ours gets to do anything more on disk."""


class FailingDisk(Disk):
    """Fails the Nth call; a killed one fails every call from then on. A failing write has written half."""

    def __init__(self, fails: int, error: Callable[[], BaseException], *, stays: bool) -> None:
        self.left, self.error, self.stays = fails, error, stays

    def __getattribute__(self, name: str) -> Any:
        if name in CALLS:
            self.left -= 1
            if self.left < 0 and (self.stays or self.left == -1):
                if name == "write":
                    return self._half
                raise self.error()
        return super().__getattribute__(name)

    def _half(self, fd: int, data: bytes, offset: int) -> None:
        Disk.write(self, fd, data[: len(data) // 2], offset)
        raise self.error()

    @property
    def failed(self) -> bool:
        return self.left < 0


def full() -> OSError:
    return OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def names(folder: Path) -> set[str]:
    return set(os.listdir(folder))


class TestApply:
    def test_the_original_is_kept_and_the_first_one_wins(self, path: Path) -> None:
        kept = Change(path, OLD, NEW).apply()
        assert kept == backup_path(path)
        assert path.read_bytes() == NEW
        Change(path, NEW, b"{}").apply()
        assert path.read_bytes() == b"{}"
        assert read_backup(path) == OLD
        assert names(path.parent) == {path.name, kept.name}

    def test_a_file_of_ours_has_no_original(self, tmp_path: Path) -> None:
        path = tmp_path / "folder" / "new.json"
        assert Change(path, None, NEW).apply() is None
        assert path.read_bytes() == NEW
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
        assert Change(path, NEW, None, undo=True).apply() is None
        assert names(path.parent) == set()

    def test_undoing_takes_the_backup_away(self, path: Path) -> None:
        Change(path, OLD, NEW).apply()
        assert Change(path, NEW, OLD, undo=True).apply() is None
        assert path.read_bytes() == OLD
        assert names(path.parent) == {path.name}

    @pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o664])
    def test_the_mode_stays_and_the_backup_is_no_wider(self, path: Path, mode: int) -> None:
        path.chmod(mode)
        kept = Change(path, OLD, NEW).apply()
        assert kept is not None
        assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(kept.stat().st_mode) == mode

    def test_a_link_is_kept_and_its_target_edited(self, path: Path, tmp_path: Path) -> None:
        (tmp_path / "home").mkdir()
        link = tmp_path / "home" / "settings.json"
        link.symlink_to(path)
        kept = Change(link, OLD, NEW).apply()
        assert link.is_symlink()
        assert path.read_bytes() == NEW
        assert kept == backup_path(path)
        assert names(link.parent) == {link.name}
        Change(link, NEW, OLD, undo=True).apply()
        assert link.is_symlink()
        assert path.read_bytes() == OLD

    def test_nothing_is_followed_up_where_there_is_nothing_to_do(self, path: Path) -> None:
        assert Change(path, OLD, OLD).is_empty
        assert Change(path, OLD, OLD).diff() == ""


class TestRefused:
    """In every case the file stays exactly as it is."""

    def refused(self, change: Change, why: str) -> None:
        before = names(change.path.parent)
        with pytest.raises(SettingsRefused, match=why):
            change.apply()
        assert names(change.path.parent) == before

    def test_changed_since_it_was_read(self, path: Path) -> None:
        path.write_bytes(b"other")
        self.refused(Change(path, OLD, NEW), "changed by another program")
        assert path.read_bytes() == b"other"

    def test_changed_while_we_wrote(self, path: Path) -> None:
        class Busy(Disk):
            def sync(self, fd: int) -> None:
                path.write_bytes(b"other")

        backup_path(path).write_bytes(OLD)
        with pytest.raises(SettingsRefused, match="changed by another program"):
            Change(path, OLD, NEW).apply(Busy())
        assert path.read_bytes() == b"other"
        assert names(path.parent) == {path.name, backup_path(path).name}

    def test_gone_or_come_since_it_was_read(self, path: Path) -> None:
        self.refused(Change(path, None, NEW), "changed by another program")
        assert path.read_bytes() == OLD
        path.unlink()
        self.refused(Change(path, OLD, None, undo=True), "changed by another program")

    def test_read_only(self, path: Path) -> None:
        path.chmod(0o444)
        self.refused(Change(path, OLD, NEW), "read-only")
        with pytest.raises(SettingsRefused, match="read-only"):
            read_settings(path)
        assert read_settings(path, to_write=False) == OLD
        assert path.read_bytes() == OLD
        assert names(path.parent) == {path.name}

    def test_not_a_regular_file(self, tmp_path: Path) -> None:
        for name, make in (("folder", os.mkdir), ("pipe", os.mkfifo)):
            make(tmp_path / name)
            self.refused(Change(tmp_path / name, None, NEW), "not a regular file")
            with pytest.raises(SettingsRefused, match="not a regular file"):
                read_settings(tmp_path / name)

    def test_a_link_that_leads_nowhere(self, tmp_path: Path) -> None:
        link = tmp_path / "settings.json"
        link.symlink_to(tmp_path / "nowhere")
        self.refused(Change(link, None, NEW), "leads nowhere")
        link.unlink()
        link.symlink_to(link)
        self.refused(Change(link, None, NEW), "not changed")

    def test_a_folder_that_cannot_be_made(self, path: Path) -> None:
        with pytest.raises(SettingsRefused, match="not changed"):
            Change(path / "below" / "a file.json", None, NEW).apply()
        assert path.read_bytes() == OLD


@pytest.mark.parametrize("undo", [False, True])
@pytest.mark.parametrize("kind", ["kill", "disk full"])
class TestFaults:
    """Each call that changes a file fails once, or is the last one the process makes."""

    def test_old_or_new_and_never_half(self, kind: str, undo: bool, tmp_path: Path) -> None:
        for at in range(50):
            folder = tmp_path / str(at)
            folder.mkdir()
            path = folder / "settings.json"
            path.write_bytes(NEW if undo else OLD)
            if undo:
                backup_path(path).write_bytes(OLD)
            change = Change(path, NEW, OLD, undo=True) if undo else Change(path, OLD, NEW)
            disk = FailingDisk(at, Killed if kind == "kill" else full, stays=kind == "kill")
            done = self.applied(change, disk)
            assert path.read_bytes() == (change.after if done else change.before) or kind == "kill"
            assert path.read_bytes() in (OLD, NEW)
            assert read_backup(path) in (OLD, None)
            if kind == "disk full":
                assert names(folder) <= {path.name, backup_path(path).name}
            if not disk.failed:
                assert at > 3
                return
            self.finishes(path, undo=undo)
        pytest.fail("it never came to an end")

    def applied(self, change: Change, disk: Disk) -> bool:
        try:
            change.apply(disk)
        except (SettingsRefused, Killed):
            return False
        return True

    def finishes(self, path: Path, *, undo: bool) -> None:
        """The same command once more does the rest."""
        found, wanted = path.read_bytes(), OLD if undo else NEW
        Change(path, found, wanted, undo=undo).apply()
        assert path.read_bytes() == wanted
        assert undo or read_backup(path) == OLD


class TestCarryOut:
    def test_a_file_written_in_the_meantime_is_planned_again(self, path: Path) -> None:
        busy = [b'{"old": 2}', b'{"old": 3}']

        def plan() -> list[Change]:
            found = path.read_bytes()
            change = Change(path, found, found + b" ours")
            if busy:
                path.write_bytes(busy.pop())
            return [] if found.endswith(b" ours") else [change]

        ((change, kept),) = carry_out(plan)
        assert path.read_bytes() == b'{"old": 2} ours' == change.after
        assert kept is not None
        assert kept.read_bytes() == b'{"old": 2}'
        assert carry_out(plan) == []

    def test_a_file_that_never_rests_is_left_alone(self, path: Path) -> None:
        def plan() -> list[Change]:
            found = path.read_bytes()
            path.write_bytes(found + b" ")
            return [Change(path, found, NEW)]

        with pytest.raises(SettingsRefused, match="keeps changing"):
            carry_out(plan)
        assert path.read_bytes().startswith(OLD)

    def test_a_refusal_that_stays_is_told(self, path: Path) -> None:
        path.chmod(0o400)
        with pytest.raises(SettingsRefused, match="read-only"):
            carry_out(lambda: [Change(path, OLD, NEW)])


class TestDiff:
    def test_it_is_a_unified_diff_of_what_changes(self, path: Path) -> None:
        old = b'{\n  "a": 1,\n  "b": 2,\n  "c": 3,\n  "d": 4\n}\n'
        new = old.replace(b"4\n", b'4,\n  "e": 5\n')
        names, body = f"--- {path}\n+++ {path}\n@@ -3,4 +3,5 @@\n", '   "b": 2,\n   "c": 3,\n'
        assert Change(path, old, new).diff() == f'{names}{body}-  "d": 4\n+  "d": 4,\n+  "e": 5\n }}'

    def test_an_end_without_a_newline_is_shown(self, path: Path) -> None:
        body = "-{}\n\\ No newline at end of file\n+{}"
        assert Change(path, b"{}", b"{}\n").diff() == f"--- {path}\n+++ {path}\n@@ -1 +1 @@\n{body}"

    def test_files_that_come_and_go_are_named(self, path: Path) -> None:
        assert Change(path, None, NEW).diff().startswith(f"--- (no file)\n+++ {path}\n")
        assert Change(path, NEW, None).diff().startswith(f"--- {path}\n+++ (no file)\n")

    def test_a_file_in_one_line_shows_only_what_differs(self, path: Path) -> None:
        long = b'{"a": "' + b"x" * 9999 + b'", "b": 1}'
        shown = Change(path, long, long.replace(b"1}", b'1, "c": 2}')).diff()
        assert shown.splitlines()[2:] == ["@@ at character 10,015 @@", '+, "c": 2']

    def test_nothing_in_it_steers_a_terminal(self, path: Path) -> None:
        hostile = '{"a": "\x1b]0;x\x07 \u202e \x9b"}\n\udcff'.encode("utf-8", "surrogateescape")
        shown = Change(path, b"{}", hostile).diff()
        assert not {"\x1b", "\x07", "\u202e", "\x9b"} & set(shown)

    @pytest.mark.parametrize(
        "line", ['"primaryApiKey": "sk-ant-1"', '"GITHUB_TOKEN" : "sk-ant-1"', 'api_key = "sk-ant-1"']
    )
    def test_a_neighbour_that_is_a_secret_is_not_shown(self, path: Path, line: str) -> None:
        shown = Change(path, f"{{\n{line}\n}}".encode(), f"{{\n{line},\n1\n}}".encode()).diff()
        assert "sk-ant" not in shown
        assert shown.count('"…"') == 2

    @pytest.mark.parametrize("newline", ["\n", " "], ids=["lines", "one long line"])
    def test_a_diff_shows_no_secret_that_an_export_would_mask(self, path: Path, newline: str) -> None:
        """The same engine: by its form, its place and its name, also where only a part of it is near."""
        draw = random.Random(5)
        letters = string.ascii_letters + string.digits
        token, password = ("".join(draw.choices(letters, k=count)) for count in (40, 14))
        body = "\\n".join("".join(draw.choices(letters, k=64)) for _ in range(9))
        before = newline.join(
            (
                "{",
                '"padding": "' + "x" * (600 if newline == " " else 1) + '",',
                f'"args": ["--header", "Authorization: Bearer {token}", "--dsn", "postgres://ada:{password}@db/x"],',
                f'"pem": "-----BEGIN PRIVATE KEY-----\\n{body}\\n-----END PRIVATE KEY-----",',
                '"hooks": {}',
                "}",
            )
        )
        shown = Change(path, before.encode(), before.replace("{}", '{"Stop": 1}').encode()).diff()
        assert '"Stop": 1' in shown
        assert not [each for each in (token, password, *body.split("\\n")) if each in shown]
        if newline == "\n":
            assert "[redacted:private-key]" in shown
