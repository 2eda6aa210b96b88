"""Whatever stands in a log or lies in its folder, the rest is taken and nothing is lost."""

from __future__ import annotations

import json
import os
import resource
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import zstandard
from tests.support import SOURCE
from tests.support.logs import adds_up, claude_path, codex_path, said, texts, uuid_of, write
from tests.support.memories import open_memory, sources_of

from recollect.intake import ingest, reader
from recollect.intake import workers as bulk
from recollect.store.hdf5.keys import KeyIndex
from recollect.values.records import Kind


def _prompts(session: int) -> list[bytes]:
    return [said(n, f"prompt {n}", session) for n in range(4)]


def _codex_prompts() -> list[bytes]:
    body = {"type": "message", "role": "user"}
    return [
        json.dumps(
            {
                "timestamp": f"2026-01-02T03:00:0{n}.000Z",
                "type": "response_item",
                "payload": {**body, "content": [{"type": "input_text", "text": f"prompt {n}"}]},
            }
        ).encode()
        for n in range(4)
    ]


# -- damaged JSONL ---------------------------------------------------------------------------------

# name: the damaged lines, then how many of them are bad, blank, lenient
DAMAGE: dict[str, tuple[list[bytes], int, int, int]] = {
    "NUL run": ([b"\0" * 300], 1, 0, 0),
    "NUL inside": ([said(90, "x")[:-5] + b"\0\0" + said(90, "x")[-5:]], 1, 0, 0),
    "blank": ([b"", b"  \t"], 0, 2, 0),
    "BOM": ([b"\xef\xbb\xbf" + said(90, "behind a mark")], 0, 0, 1),
    "CRLF": ([said(90, "with a return") + b"\r", said(91, "and another") + b"\r"], 0, 0, 0),
    "invalid UTF-8": ([said(90, "caf\xe9").replace("\xe9".encode(), b"\xe9")], 1, 0, 0),
    "raw surrogate": ([said(90, "\ud83d")], 1, 0, 0),
    "lone surrogate": ([said(90, "#").replace(b'"#"', b'"a \\ud83d b"')], 0, 0, 1),
    "not an object": ([b"12", b'"text"', b"null", b"[1]", b"true"], 0, 0, 0),
    "unknown type": ([b'{"type":"from-the-future","uuid":"u-1","sessionId":"s"}'], 0, 0, 0),
    "no ids": ([b'{"type":"user","message":{"role":"user","content":"who said this"}}'], 0, 0, 0),
    "no type": ([b"{}", b'{"message":{}}'], 0, 0, 0),
    "same id, other content": ([said(0, "not prompt 0")], 0, 0, 0),
    "out of order": ([said(90, "late"), said(1, "early", timestamp="2001-01-01T00:00:00Z")], 0, 0, 0),
    "spliced": ([said(90, "a") + said(91, "b")], 1, 0, 0),
    "torn": ([said(90, "cut short")[:-9]], 1, 0, 0),
    "wrong shapes": ([b'{"type":"user","message":7,"uuid":[],"timestamp":{},"sessionId":3}'], 0, 0, 0),
    "not a time": ([said(90, "when", timestamp="99999-99-99")], 0, 0, 0),
    "NaN": ([said(90, "nan").replace(b'"cwd"', b'"n": [NaN, Infinity, 1e999], "cwd"')], 0, 0, 1),
}


@pytest.mark.parametrize("place", ["start", "middle", "end"])
def test_damaged_lines_are_kept_and_counted_and_cost_no_other_line(folder: Path, place: str) -> None:
    files: dict[str, bytes] = {}
    at = {"start": 0, "middle": 2, "end": 4}[place]
    for number, (damaged, *_) in enumerate(DAMAGE.values()):
        for path, prompts in (
            (claude_path(folder / "logs", number), _prompts(number)),
            (codex_path(folder / "logs", 500 + number), _codex_prompts()),
        ):
            ours = path.name.startswith("rollout") and any(b'"sessionId"' in line for line in damaged)
            lines = [*prompts[:at], *([] if ours else damaged), *prompts[at:]]
            files[str(path)] = write(path, b"\n".join(lines) + b"\n").read_bytes()
    with open_memory(folder / "m.h5") as memory:
        report = memory.ingest([folder / "logs"])
        assert adds_up(report)
        assert not report.failed
        assert sources_of(memory) == files
        assert report.bad >= 6
        for number, (name, (damaged, bad, blank, _)) in enumerate(DAMAGE.items()):
            shown = texts(memory, uuid_of(number))
            assert [t for t in shown if t.startswith("prompt")] == [f"prompt {n}" for n in range(4)], name
            assert len(shown) >= 4 + len(damaged) - bad - blank, name
            shown = texts(memory, uuid_of(500 + number))
            assert [t for t in shown if t.startswith("prompt")] == [f"prompt {n}" for n in range(4)], name
        with memory.view() as view:
            assert view.types()["from-the-future"] == (1, False)
        assert not memory.check()


@pytest.mark.parametrize("name", DAMAGE)
def test_each_kind_of_damage_is_counted_as_what_it_is(folder: Path, name: str) -> None:
    damaged, bad, blank, lenient = DAMAGE[name]
    write(claude_path(folder / "logs", 1), b"\n".join([*_prompts(1), *damaged, said(99, "last")]) + b"\n")
    with open_memory(folder / "m.h5") as memory:
        report = memory.ingest([folder / "logs"])
        assert (report.bad, report.blank, report.lenient) == (bad, blank, lenient)
        assert report.taken == 5 + len(damaged) - bad - blank
        assert len(report.bad_places) == bad
        assert texts(memory, uuid_of(1))[-1] == "last"


# -- pathological JSON -----------------------------------------------------------------------------


def _with(value: bytes, text: str = "still here") -> bytes:
    """A prompt whose record has some other field of this value."""
    return said(1, text).replace(b'"cwd"', b'"toolUseResult": ' + value + b', "cwd"')


PATHOLOGICAL: dict[str, Callable[[], bytes]] = {
    "100,000 levels": lambda: b"[" * 100_000 + b"]" * 100_000,
    "100,000 objects": lambda: b'{"a":' * 100_000 + b"1" + b"}" * 100_000,
    "1,020 levels": lambda: b"[" * 1020 + b"]" * 1020,
    "never closed": lambda: b"[" * 100_000,
    "NaN": lambda: b"NaN",
    "1e999": lambda: b"1e999",
    "5,000 digits": lambda: b"9" * 5000,
    "2^70": lambda: b"1180591620717411303424",
    "duplicate keys": lambda: b'{"a":1,"a":2,"a":{"a":3}}',
    "a million keys": lambda: b"{" + b",".join(b'"k%d":%d' % (n, n) for n in range(1_000_000)) + b"}",
    "10 MB of escapes": lambda: b'"' + b"\\u0041\\n\\ud83d\\ude00" * 500_000 + b'"',
    "10 MB of quotes": lambda: b'"' + b'\\"' * 5_000_000 + b'"',
}


@pytest.mark.parametrize("name", PATHOLOGICAL)
def test_pathological_json_comes_back_unchanged_and_harms_no_neighbour(folder: Path, name: str) -> None:
    value = PATHOLOGICAL[name]()
    lines = [said(0, "before"), value, _with(value), said(2, "after")]
    path = write(claude_path(folder / "logs", 1), b"\n".join(lines) + b"\n")
    with open_memory(folder / "m.h5") as memory:
        report = memory.ingest([folder / "logs"])
        assert adds_up(report)
        assert not report.failed
        assert b"".join(memory.raw(uuid_of(1))) == path.read_bytes()
        shown = texts(memory, uuid_of(1))
        assert (shown[0], shown[-1]) == ("before", "after")
        assert report.bad in (0, 2)
        assert report.bad or "still here" in shown


def test_numbers_of_a_tool_call_are_not_altered(folder: Path) -> None:
    """2^70 is a float to the fast parser; what a tool was given must show every digit."""
    call = {
        "type": "tool_use",
        "id": "toolu_1",
        "name": "Seek",
        "input": {"offset": 2**70 + 1, "small": 2**63},
    }
    record = said(1, "", type="assistant", message={"role": "assistant", "id": "m", "content": [call]})
    write(claude_path(folder / "logs", 1), record + b"\n")
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([folder / "logs"])
        (entry,) = memory.show(uuid_of(1))
        assert entry.entry.kind is Kind.CALL
        assert json.loads(entry.entry.text) == {"offset": 2**70 + 1, "small": 2**63}


# -- any text --------------------------------------------------------------------------------------

TEXTS = [
    "plain", "tab\tnewline\nreturn\r", "\u2028 \u2029 \x0b \x0c \x1c \x85", "e\u0301 \u0915\u093f", "\0",
    "\ud83d", "\udc00\ud800", "\U0001f600", "\ufeff", "\u202e reversed", "\x1b[31m red", "\"quoted\" \\ back",
    "a" * 70_000, " ", "</script>", "\uffff\ufffe",
]  # fmt: skip


@pytest.mark.parametrize("ascii_only", [True, False])
def test_any_text_is_shown_as_it_was_said(folder: Path, ascii_only: bool) -> None:
    said_ = [text for text in TEXTS if ascii_only or not any("\ud800" <= c <= "\udfff" for c in text)]
    lines = [
        json.dumps(
            json.loads(said(n, "")) | {"message": {"role": "user", "content": text}}, ensure_ascii=ascii_only
        ).encode()
        for n, text in enumerate(said_)
    ]
    write(claude_path(folder / "logs", 1), b"\n".join(lines) + b"\n")
    with open_memory(folder / "m.h5") as memory:
        report = memory.ingest([folder / "logs"])
        assert report.bad == 0
        assert texts(memory, uuid_of(1)) == said_
        memory.compact()
        memory.reparse()
        assert texts(memory, uuid_of(1)) == said_


def test_a_lone_surrogate_may_be_a_title_a_folder_and_a_branch(folder: Path) -> None:
    """What is known of a session goes into the store too, and must take any string."""
    odd = b'"\\ud83d odd"'
    line = said(1, "#", cwd="#", gitBranch="#", slug="#", version="#").replace(b'"#"', odd)
    write(claude_path(folder / "logs", 1), line + b"\n")
    with open_memory(folder / "m.h5") as memory:
        memory.ingest([folder / "logs"])
        write(claude_path(folder / "logs", 1), line + b"\n" + said(2, "and on") + b"\n")
        memory.ingest([folder / "logs"])
        (session,) = memory.sessions()
        assert session.facts.title == session.facts.branch == session.facts.slug == "\ud83d odd"
        assert texts(memory, uuid_of(1)) == ["\ud83d odd", "and on"]


# -- sizes -----------------------------------------------------------------------------------------


def _in_child(program: str, *arguments: str) -> dict[str, Any]:
    """Run a program in a process of its own; what it prints last is JSON."""
    child = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
        capture_output=True,
        timeout=300,
        check=False,
    )
    assert child.returncode == 0, child.stderr.decode()[-2000:]
    found: dict[str, Any] = json.loads(child.stdout.splitlines()[-1])
    return found


INGEST = """
import json, re, sys
from pathlib import Path
from recollect.config import Config
from recollect.memory import Memory
store, logs = map(Path, sys.argv[1:])
with Memory.open(store, config=Config(store, "here")) as memory:
    report = memory.ingest([logs])
# Not ru_maxrss: a child that was forked from a large process is charged for that one's memory too.
kilobytes = int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1])
print(json.dumps({"lines": report.lines, "bad": report.bad, "failed": report.failed, "rss": kilobytes >> 10}))
"""


@pytest.mark.full
def test_one_line_of_200_mb_is_kept_within_600_mb_of_memory(folder: Path) -> None:
    path = claude_path(folder / "logs", 1)
    path.parent.mkdir(parents=True)
    with path.open("wb") as file:
        file.write(said(0, "before") + b"\n" + said(1, "#")[:-4])
        for n in range(200):
            file.write(b"%08d" % n * (1 << 17))
        file.write(b'"}}\n' + said(2, "after") + b"\n")
    found = _in_child(INGEST, str(folder / "m.h5"), str(folder / "logs"))
    assert found["rss"] < 600
    with open_memory(folder / "m.h5") as memory:
        assert texts(memory, uuid_of(1)) == ["before", "after"]
        with path.open("rb") as file:
            assert all(piece == file.read(len(piece)) for piece in memory.raw(uuid_of(1)))
            assert not file.read(1)


def test_a_long_line_harms_no_other_and_reads_back(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "CHUNK_BYTES", 1000)
    monkeypatch.setattr(reader, "PIECE_BYTES", 4000)
    monkeypatch.setattr(ingest, "PIECE_BYTES", 4000)
    lines = [said(0, "before"), said(1, "x" * 20_000), said(2, "after")]
    path = write(claude_path(folder / "logs", 1), b"\n".join(lines) + b"\n")
    with open_memory(folder / "m.h5") as memory:
        report = memory.ingest([folder / "logs"])
        assert adds_up(report)
        (reason,) = report.bad_reasons
        assert reason.startswith("longer than")
        for _ in range(2):
            assert texts(memory, uuid_of(1)) == ["before", "after"]
            assert b"".join(memory.raw(uuid_of(1))) == path.read_bytes()
            memory.reparse()
        path.write_bytes(path.read_bytes() + said(3, "more") + b"\n")
        memory.ingest([folder / "logs"])
        assert texts(memory, uuid_of(1)) == ["before", "after", "more"]


def test_a_file_of_many_chunks_is_read_in_order(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looking back into the file for the cursor's sake must not move the place it is read from."""
    monkeypatch.setattr(reader, "CHUNK_BYTES", 5000)
    lines = [said(n, f"prompt {n}") for n in range(300)]
    path = write(claude_path(folder / "logs", 1), b"\n".join(lines) + b"\n")
    with open_memory(folder / "m.h5") as memory:
        report = memory.ingest([folder / "logs"])
        assert (report.lines, report.bad) == (300, 0)
        assert b"".join(memory.raw(uuid_of(1))) == path.read_bytes()
        assert texts(memory, uuid_of(1)) == [f"prompt {n}" for n in range(300)]


def test_many_tiny_files_take_work_in_proportion(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Counted, not timed: how often a file's lines are looked up among all others, and how many calls."""
    monkeypatch.setattr(bulk, "WORTH_BYTES", 1)
    monkeypatch.setattr(bulk, "PARCEL_BYTES", 100_000)
    compared: list[int] = []
    find = KeyIndex.find

    def counted(self: KeyIndex, keys: Any) -> list[tuple[int, int]]:
        compared.append(len(keys))
        return find(self, keys)

    monkeypatch.setattr(KeyIndex, "find", counted)
    calls = []
    for files in (500, 2000):
        root = folder / str(files)
        for n in range(files):
            write(claude_path(root, n), said(n, f"only {n}", session=n) + b"\n")
        compared.clear()
        with open_memory(folder / f"{files}.h5") as memory:
            calls.append(_calls(lambda m=memory, r=root: m.ingest([r])))  # type: ignore[misc]
            assert memory.info().sessions == files
        assert len(compared) < files / 50  # a few times a parcel, not once a file
    assert calls[1] < 4.8 * calls[0]


def _calls(work: Callable[[], object]) -> int:
    """How many calls of any function some work takes."""
    count = 0

    def tick(*_: object) -> None:
        nonlocal count
        count += 1

    sys.setprofile(tick)
    try:
        work()
    finally:
        sys.setprofile(None)
    return count


# -- what lies in a folder --------------------------------------------------------------------------


def test_nothing_in_a_folder_is_followed_or_waited_for(folder: Path) -> None:
    root = folder / "logs" / "projects" / "-demo"
    real = write(root / f"{uuid_of(1)}.jsonl", said(1, "real") + b"\n")
    outside = write(folder / "outside" / f"{uuid_of(2)}.jsonl", said(2, "outside", session=2) + b"\n")
    os.mkfifo(root / f"{uuid_of(3)}.jsonl")
    (root / f"{uuid_of(4)}.jsonl").mkdir()
    (root / f"{uuid_of(5)}.jsonl").symlink_to(outside)
    (root / f"{uuid_of(6)}.jsonl").symlink_to(root / f"{uuid_of(6)}.jsonl")
    (root / "loop").symlink_to(root)
    (root / "away").symlink_to(folder / "outside")
    (root / "dangling.jsonl").symlink_to(folder / "nowhere")
    os.link(real, root / f"{uuid_of(7)}.jsonl")
    (root / "notes.md").write_text("not a log")
    server = socket.socket(socket.AF_UNIX)
    server.bind(str(root / "s.jsonl"))
    try:
        with open_memory(folder / "m.h5") as memory:
            report = memory.ingest([folder / "logs"])
            assert not report.failed
            assert dict(report.skipped) == {"link": 5, "not a regular file": 2, "other file": 1}
            assert sources_of(memory).keys() == {str(real), str(root / f"{uuid_of(7)}.jsonl")}
            assert (report.taken, report.duplicate) == (1, 1)  # a hard link is a copy
            assert not memory.ingest(
                [root / f"{uuid_of(3)}.jsonl"]
            ).sources  # named outright: still not opened
    finally:
        server.close()


@pytest.mark.parametrize(
    "name",
    [
        b"new\nline",
        b"esc\x1b[31m",
        b"not utf-8 \xff\xfe",
        b"x" * 249,
        b" ",
        b"-rf",
        b"a:b*c?",
        "\u202e".encode(),
    ],
)
def test_any_file_name_is_taken_and_comes_back_as_it_is(folder: Path, name: bytes) -> None:
    path = folder / "logs" / "projects" / "-demo" / os.fsdecode(name + b".jsonl")
    write(path, said(1, "fine") + b"\n")
    with open_memory(folder / "m.h5") as memory:
        assert not memory.ingest([folder / "logs"]).failed
        (source,) = memory.sources()
        assert os.fsencode(source.file.path) == os.fsencode(path)
        assert memory.ingest([folder / "logs"]).unchanged == 1
        memory.reparse()
        memory.compact()
        assert sources_of(memory) == {str(path): path.read_bytes()}


@pytest.mark.root
@pytest.mark.skipif(os.name == "nt" or os.geteuid() != 0, reason="needs root to become another user")
def test_what_may_not_be_read_is_counted_and_the_rest_is_taken(folder: Path) -> None:
    write(claude_path(folder / "logs", 1), said(1, "fine") + b"\n")
    closed = write(claude_path(folder / "logs", 2), said(2, "closed", session=2) + b"\n")
    closed.chmod(0)
    shut = folder / "logs" / "shut"
    shut.mkdir(mode=0)
    folder.chmod(0o777)
    os.seteuid(65534)
    try:
        with open_memory(folder / "m.h5") as memory:
            report = memory.ingest([folder / "logs"])
    finally:
        os.seteuid(0)
    assert report.taken == 1
    assert report.failed == {str(closed): f"{closed}: Permission denied"}
    assert dict(report.skipped) == {"unreadable folder (Permission denied)": 1}


# -- compressed bombs --------------------------------------------------------------------------------


def _bomb(frames: int = 1, size: int = 1 << 30) -> bytes:
    """A gigabyte of zeros; the frame does not say so."""
    compressor = zstandard.ZstdCompressor(level=3).compressobj()
    zeros = bytes(1 << 20)
    return b"".join(compressor.compress(zeros) for _ in range(size >> 20)) + compressor.flush()


def _lying(data: bytes, claimed: int) -> bytes:
    """A frame whose header claims another size than its content has."""
    frame = bytearray(zstandard.ZstdCompressor(write_content_size=True).compress(data))
    parameters = zstandard.get_frame_parameters(bytes(frame))
    at = bytes(frame).index(parameters.content_size.to_bytes(4, "little"), 4)
    frame[at : at + 4] = claimed.to_bytes(4, "little")
    return bytes(frame)


def test_a_compressed_bomb_is_refused_by_name_and_the_rest_is_taken(folder: Path) -> None:
    good = codex_path(folder / "logs", 1)
    names = {name: Path(f"{codex_path(folder / 'logs', n)}.zst") for n, name in enumerate(BOMBS, 10)}
    write(Path(f"{good}.zst"), zstandard.compress(said(1, "good") + b"\n"))
    for name, make in BOMBS.items():
        write(names[name], make())
    with open_memory(folder / "m.h5") as memory:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        report = memory.ingest([folder / "logs"])
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300 << 10
        assert report.failed.keys() == {str(path).removesuffix(".zst") for path in names.values()}
        assert all(str(names[name]) in told for name, told in zip(names, report.failed.values(), strict=True))
        assert sources_of(memory) == {str(good): said(1, "good") + b"\n"}
        assert memory.ingest([folder / "logs"]).changed == 0
    assert {path.name for path in folder.iterdir()} == {"logs", "m.h5"}  # nothing unpacked is left about


BOMBS: dict[str, Callable[[], bytes]] = {
    "a gigabyte of zeros": _bomb,
    "claims to be small": lambda: _lying(bytes(100 << 20), 70_000),
    "claims to be huge": lambda: _lying(b"x" * 70_000, 0xFFFFFFF0),
    "many frames": lambda: zstandard.compress(bytes(1 << 20)) * 400,
    "not zstd": lambda: b"plain text, no zstd",
    "cut short": lambda: zstandard.compress(os.urandom(5000))[:3000],
    "damaged": lambda: zstandard.compress(os.urandom(5000)).replace(b"\0", b"\1", 1)[:-9] + b"rubbish!!",
}


def test_many_small_frames_are_one_log(folder: Path) -> None:
    lines = [said(n, f"prompt {n}") + b"\n" for n in range(50)]
    path = codex_path(folder / "logs", 1)
    write(Path(f"{path}.zst"), b"".join(zstandard.compress(line) for line in lines))
    with open_memory(folder / "m.h5") as memory:
        assert memory.ingest([folder / "logs"]).taken == 50
        assert sources_of(memory) == {str(path): b"".join(lines)}
