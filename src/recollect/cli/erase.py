"""`erase`: something goes for good, stays away, and a receipt says so."""

from __future__ import annotations

import datetime
import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.cli.columns import PROJECT, Column
from recollect.cli.open_memory import open_memory
from recollect.cli.progress import Progress
from recollect.cli.screen import is_terminal
from recollect.cli.words import add_command, day
from recollect.light.disk import replace_file
from recollect.values.erasures import Wanted
from recollect.values.errors import NotFound, UsageError
from recollect.values.text import many, one_line, size

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from recollect.cli.screen import Screen
    from recollect.memory import Memory
    from recollect.memory.choosing import Chosen
    from recollect.values.erasures import Erasure

_NAMED_MAX = 50
_PARTS = {
    "choosing": "looking through all lines",
    "rewriting": "writing the store anew",
    "searching": "searching for what went",
}


def add_words(commands: Any) -> None:
    command = add_command(
        commands,
        "erase",
        "erase something for good, with a receipt",
        "Takes a session, an entry, a thread, a project, a host, some days, or every line with a text out "
        "of the store and of all that was made of it: journal, indexes, vectors, digests, catalogs. What was "
        "erased does not come back with the next ingest, although the agent's own log still has it; "
        "--sources deletes that too, after asking again. Shows what would go and asks first. The receipt "
        "holds no text; --verify searches every file of ours, unpacked, for what it is of. With --secrets "
        "nothing goes but the secrets that redaction finds, in everything or in what else is named: their "
        "lines stay, marked as altered.",
        (
            "recollect erase 3f2a9c01 --dry-run",
            "recollect erase --match 'Project Nightjar' --project harbor -o receipt.json",
            "recollect erase --secrets --dry-run",
        ),
    )
    command.add_argument("id", nargs="?", default="", metavar="ID", help="a session, or an entry, by its id")
    command.add_argument(
        "--thread", metavar="ID", default="", help="the whole thread that a session is part of"
    )
    command.add_argument("--project", metavar="NAME", default="", help="all of a project, or only in it")
    command.add_argument("--host", metavar="NAME", default="", help="all of a machine, or only from it")
    command.add_argument("--since", type=day, metavar="DAY", help="what was said on this day or later")
    command.add_argument("--until", type=day, metavar="DAY", help="what was said up to this day, with it")
    command.add_argument("--match", metavar="TEXT", default="", help="every line with this text in it")
    command.add_argument(
        "--regex", metavar="PATTERN", default="", help="every line that fits a pattern; 2 s a line"
    )
    command.add_argument(
        "--secrets", action="store_true", help="mask secrets inside their lines, and erase nothing else"
    )
    command.add_argument("--sources", action="store_true", help="delete the agents' own files too")
    command.add_argument("--dry-run", action="store_true", help="show what would go, and change nothing")
    command.add_argument(
        "--yes", action="store_true", help="do not ask; of --sources it is asked all the same"
    )
    command.add_argument(
        "--delete-sources", action="store_true", help="with --sources and --yes: delete them without asking"
    )
    command.add_argument("-o", "--output", metavar="FILE", default="", help="write the receipt to a new file")
    command.add_argument("--list", action="store_true", help="what was erased, and stays so")
    command.add_argument(
        "--forget-erasure", metavar="ID", default="", help="let it come back with the next ingest"
    )
    command.add_argument("--verify", metavar="RECEIPT", default="", help="look for it in every file of ours")


def erase(args: argparse.Namespace, screen: Screen) -> int:
    """Exit code 1 when something was found that should be gone."""
    if args.output and os.path.lexists(args.output):
        raise UsageError(f"{args.output}: already exists", hint="name a file that does not exist yet")
    with open_memory(args) as memory:
        if args.list:
            return _list(memory, screen)
        if args.forget_erasure:
            return _forget(memory, args.forget_erasure, screen)
        if args.verify:
            return _verify(memory, args, screen)
        finished = [] if args.dry_run else memory.finish_erasing()
        try:
            wanted = _wanted(memory, args)
            with _progress(screen).running() as progress:
                would = memory.erasable(wanted, progress=progress)
        except NotFound:
            done = memory.erasure_of(args.id) if args.id else None
            if done is None and not finished:
                raise
            return _already(done, finished, screen)
        _finished(finished, screen)
        if args.dry_run:
            return _told_only(memory, would, _glimpses(memory, would, wanted), screen)
        if not args.yes:
            _show(would, screen)
            _ask(_question(would), screen)
        chosen, receipt = _erased(memory, wanted, would, screen)
        _write_receipt(receipt, args.output)
        deletes = args.sources and not args.secrets
        deleted = _delete_sources(memory, chosen, args, screen) if deletes else []
        return _told(memory, chosen, receipt, deleted, args, screen)


def _question(would: Chosen) -> str:
    lines = many(would.counts["lines"], "line")
    if would.secrets is None:
        return f"Erase {lines} for good?"
    return f"Mask {many(would.counts['secrets'], 'secret')} in {lines} for good?"


def _glimpses(memory: Memory, would: Chosen, wanted: Wanted) -> list[str]:
    """A few places of what would go, masked."""
    if would.secrets is None:
        return memory.glimpses(would, wanted)
    return [text for _, text in memory.secret_glimpses(would)]


def _erased(memory: Memory, wanted: Wanted, would: Chosen, screen: Screen) -> tuple[Chosen, dict[str, Any]]:
    try:
        with _progress(screen).running() as progress:
            return memory.erase(wanted, progress=progress, would=would)
    except KeyboardInterrupt:
        screen.note("what `recollect erase --list` lists is erased; else nothing was changed")
        raise


def _progress(screen: Screen) -> Progress:
    return Progress(screen, "erasing", parts=_PARTS)


def _wanted(memory: Memory, args: argparse.Namespace) -> Wanted:
    named = [name for name in ("id", "thread", "match", "regex") if getattr(args, name)]
    if len(named) > 1:
        raise UsageError("only one of an id, --thread, --match and --regex", hint="erase one after the other")
    narrowed = args.project or args.host or args.since or args.until
    if args.secrets and (args.match or args.regex):
        raise UsageError("--secrets says what goes already", hint="leave out --match and --regex")
    if args.secrets and args.delete_sources:
        raise UsageError("a log is not deleted for a secret in it", hint="--sources lists them")
    if not named and not narrowed and not args.secrets:
        raise UsageError(
            "nothing is said to be erased", hint="give a session's id, or see `recollect erase --help`"
        )
    if named and named[0] in ("id", "thread") and (args.project or args.since or args.until):
        raise UsageError(
            "an id names everything already", hint="leave out the other options; --host says on which machine"
        )
    until = args.until + datetime.timedelta(days=1) if args.until else None
    session, entry = _named(memory, args.id, args.host)
    return Wanted(
        session,
        args.thread,
        entry,
        args.project,
        args.host,
        args.match,
        args.regex,
        int(args.since.timestamp() * 1000) if args.since else 0,
        int(until.timestamp() * 1000) if until else 0,
        args.secrets,
    )


def _already(done: Erasure | None, finished: Sequence[Erasure], screen: Screen) -> int:
    """Nothing is left to erase: an earlier one did it, or was completed just now."""
    if screen.json:
        told = {"already": done.id if done else "", "completed": [each.id for each in finished]}
        screen.object("erased-already", told)
        return 0
    _finished(finished, screen)
    if done is not None:
        screen.line(f"already erased: erasure {done.id}")
    else:
        screen.line("nothing else in the store is so")
    return 0


def _finished(finished: Sequence[Erasure], screen: Screen) -> None:
    for each in finished:
        lines = many(dict(each.counts).get("lines", 0), "line")
        screen.note(f"erasure {each.id} of {lines} was cut short, and is complete now; it has no receipt")


def _named(memory: Memory, id_: str, host: str) -> tuple[str, str]:
    """The session, or the entry, of an id."""
    if not id_:
        return "", ""
    try:
        return memory.session_to_erase(id_, host).facts.id, ""
    except NotFound as error:
        try:
            _, entry = memory.find(id_)
        except NotFound:
            raise error from None
        if entry is None or host:
            raise
        return "", entry.id


def _show(chosen: Chosen, screen: Screen) -> None:
    """Which sessions lose what, without a word of what they say."""
    columns = [
        Column("session"),
        Column("agent"),
        Column("project", gives=PROJECT),
        Column("goes"),
        Column("lines", right=True),
        Column("size", right=True),
    ]
    hides = chosen.secrets is not None
    rows = [
        (
            one_line(each.session.facts.id)[:13],
            each.session.facts.agent,
            one_line(each.session.facts.project),
            many(sum(n for _, n in each.kinds), "secret") if hides else "all" if each.whole else "part",
            str(each.lines),
            size(each.bytes),
        )
        for each in chosen.sessions[:_NAMED_MAX]
    ]
    screen.table(columns, rows)
    if len(chosen.sessions) > _NAMED_MAX:
        screen.line(f"and {many(len(chosen.sessions) - _NAMED_MAX, 'session')} more")
    for kind, count in chosen.kinds:
        screen.line(f"{kind}: {count:,}")
    evicted = [each.evicted for each in chosen.sessions if each.evicted]
    if evicted:
        screen.line(
            f"of {many(len(evicted), 'session')} {many(sum(evicted), 'line')} were evicted, and are gone "
            "already: what goes is what is kept of them"
        )


def _object(chosen: Chosen) -> dict[str, Any]:
    sessions = [
        {
            "id": each.session.facts.id,
            "agent": each.session.facts.agent,
            "host": each.session.host,
            "whole": each.whole,
            "lines": each.lines,
            "bytes": each.bytes,
            "evicted": each.evicted,
            "secrets": dict(each.kinds),
        }
        for each in chosen.sessions
    ]
    return {"sessions": sessions, "counts": chosen.counts, "secrets": dict(chosen.kinds)}


def _told_only(memory: Memory, would: Chosen, glimpses: Sequence[str], screen: Screen) -> int:
    files = memory.sources_of_erased(would)
    copies = [each.path for each in memory.copies_of_erased(would)]
    if screen.json:
        told = {
            "dry_run": True,
            **_object(would),
            "glimpses": list(glimpses),
            "sources": files,
            "copies": copies,
        }
        screen.object("erase", told)
        return 0
    _show(would, screen)
    for text in glimpses:
        screen.line(f"for example: {text}")
    for path in files:
        screen.line(f"the agent's own file stays, unless --sources: {one_line(path)}")
    for path in copies:
        screen.line(f"a copy that you made stays: {one_line(path)}")
    screen.note("nothing was changed: this was a dry run")
    return 0


def _ask(question: str, screen: Screen) -> None:
    if not (screen.is_terminal and is_terminal(sys.stdin)):
        raise UsageError(
            "nothing was changed: there is no terminal to ask on", hint="look with --dry-run, then add --yes"
        )
    if not _has_consent(question):
        raise UsageError("nothing was changed", hint="answer with y to go on")


def _has_consent(question: str) -> bool:
    try:
        return input(f"{question} [y/N] ").strip().lower() in ("y", "yes")
    except EOFError:
        return False


def _write_receipt(receipt: dict[str, Any], output: str) -> None:
    if output:
        replace_file(Path(output), (json.dumps(receipt, indent=1) + "\n").encode("ascii"), lasting=True)


def _delete_sources(memory: Memory, chosen: Chosen, args: argparse.Namespace, screen: Screen) -> list[str]:
    """The files that were deleted, each of which a person was shown."""
    files = memory.sources_of_erased(chosen)
    for path in files:
        screen.note(f"an agent's own file: {one_line(path)}")
    sure = args.yes and args.delete_sources
    if not files or not (sure or _may_delete(files, screen)):
        return []
    for path in files:
        os.unlink(path)
    return files


def _may_delete(files: Sequence[str], screen: Screen) -> bool:
    if not (screen.is_terminal and is_terminal(sys.stdin)):
        screen.note("they stay: there is no terminal to ask on; with --yes, --delete-sources says it")
        return False
    return _has_consent(f"Delete {many(len(files), 'file')} of your agents for good?")


def _told(
    memory: Memory,
    chosen: Chosen,
    receipt: dict[str, Any],
    deleted: Sequence[str],
    args: argparse.Namespace,
    screen: Screen,
) -> int:
    found = receipt["verified"]["found"]
    left = [path for path in memory.sources_of_erased(chosen) if path not in deleted]
    if screen.json:
        told = {
            "dry_run": False,
            **_object(chosen),
            "receipt": receipt,
            "deleted": list(deleted),
            "sources": left,
        }
        screen.object("erase", told)
        return 1 if found else 0
    _say_what_went(chosen, receipt, screen)
    looked = receipt["verified"]
    screen.line(
        f"searched {size(looked['bytes'])} for {looked['stretches']} stretches of it: found "
        + (", ".join(map(one_line, found)) or "nothing")
    )
    if chosen.secrets is not None and looked["said_elsewhere"]:
        screen.line(
            f"{many(looked['said_elsewhere'], 'secret')} of these also stand where "
            "nothing says what they are: erase --match TEXT takes such lines"
        )
    for path in left:
        screen.line(f"the agent's own file still has it: {one_line(path)}")
    for path in receipt["not_touched"]:
        screen.line(f"a copy that was not touched: {one_line(path)}")
    for path in receipt["copies"]:
        screen.line(f"a copy that you made may still have it: {one_line(path)}")
    if not args.output:
        screen.note("no receipt was kept: -o FILE writes one")
    screen.note("copies that were moved or made in another way, and backups, keep what they have")
    return 1 if found else 0


def _say_what_went(chosen: Chosen, receipt: dict[str, Any], screen: Screen) -> None:
    counts = chosen.counts
    if chosen.secrets is not None:
        screen.line(
            f"masked: {many(counts['secrets'], 'secret')} in {many(counts['lines'], 'line')}, which are "
            f"altered now; erasure {receipt['id']}"
        )
        return
    whole = f"{many(counts['sessions'], 'session')} and " if counts["sessions"] else ""
    screen.line(
        f"erased: {whole}{many(counts['lines'], 'line')}, {size(counts['bytes'])}; erasure {receipt['id']}"
    )


def _list(memory: Memory, screen: Screen) -> int:
    found = memory.erasures()
    if screen.json:
        told = [
            {"id": each.id, "time_ms": each.time_ms, "by": each.by, "counts": dict(each.counts)}
            for each in found
        ]
        screen.object("erasures", {"erasures": told})
        return 0
    if not found:
        screen.line("nothing was erased")
        return 0
    columns = [
        Column("id"),
        Column("when"),
        Column("by"),
        Column("sessions", right=True),
        Column("lines", right=True),
    ]
    rows = [
        (
            each.id,
            datetime.datetime.fromtimestamp(each.time_ms / 1000).strftime("%Y-%m-%d %H:%M"),
            one_line(each.by),
            str(dict(each.counts).get("sessions", 0)),
            str(dict(each.counts).get("lines", 0)),
        )
        for each in found
    ]
    screen.table(columns, rows)
    return 0


def _forget(memory: Memory, id_: str, screen: Screen) -> int:
    erasure = memory.forget_erasure(id_)
    if screen.json:
        screen.object("forgot", {"id": erasure.id})
        return 0
    screen.line(f"erasure {erasure.id} is forgotten: the next ingest takes what logs still have of it")
    return 0


def _verify(memory: Memory, args: argparse.Namespace, screen: Screen) -> int:
    try:
        receipt = json.loads(Path(args.verify).read_text("ascii"))
    except (OSError, ValueError) as error:
        raise NotFound(
            f"{args.verify}: no receipt could be read", hint="give the file that -o wrote"
        ) from error
    texts = [args.match] if args.match else []
    with _progress(screen).running() as progress:
        told = memory.verify_erasure(receipt if isinstance(receipt, dict) else {}, texts, progress=progress)
    if screen.json:
        screen.object("erasure-verified", told)
        return 1 if told["found"] else 0
    for where in told["found"]:
        screen.line(f"found in {one_line(where)}")
    screen.line(
        f"searched {size(told['bytes'])}, unpacked: " + ("it is there" if told["found"] else "nothing found")
    )
    if not told["remembered"]:
        screen.note("this erasure is not remembered here: what the agents' logs have of it comes back")
    return 1 if told["found"] else 0
