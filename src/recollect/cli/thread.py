"""`thread`: one piece of work over all its sessions, on one screen."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recollect.cli.open_memory import open_memory
from recollect.cli.screen import Screen, Styled
from recollect.cli.statements import print_statements
from recollect.cli.threads import draw
from recollect.cli.words import add_command
from recollect.present.short_ids import short_ids
from recollect.present.threads import story_object, story_statements
from recollect.present.usage import cost_text, usage_object
from recollect.values.text import ellipsis, many, moment, one_line, short

if TYPE_CHECKING:
    import argparse

    from recollect.values.history import ThreadStory

_WIDTH = 80
_MINUTES = "%Y-%m-%d %H:%M"


def add_words(commands: Any) -> None:
    command = add_command(
        commands,
        "thread",
        "one piece of work over all its conversations",
        "What was planned and asked, which files were changed, what was committed, how each conversation "
        "ended, what kind of work it was and what it cost, each with the id of the entry that shows it; and "
        "what makes these conversations one piece of work.",
        ("recollect thread 3f2a", "recollect thread 3f2a --json"),
    )
    command.add_argument("session", metavar="ID", help="a thread, by the id of any session of it")


def thread(args: argparse.Namespace, screen: Screen) -> int:
    with open_memory(args) as memory:
        story = memory.thread(args.session)
        names = short_ids(session.facts.id for session in memory.sessions())
    if screen.json:
        screen.object("thread", story_object(story, names))
        return 0
    _print_head(story, screen)
    print_statements(story_statements(story, names), screen, label=len("abandoned"))
    screen.line("")
    draw(story.tree, names, screen)
    return 0


def _print_head(story: ThreadStory, screen: Screen) -> None:
    thread = story.tree.thread
    screen.line(Styled(one_line(story.title, _WIDTH), "bold"))
    span = f"{moment(thread.started_ms, _MINUTES)} to {moment(thread.ended_ms, _MINUTES)}"
    branches = ", ".join(story.branches[:3])
    place = (", ".join(thread.agents), one_line(thread.project, 30), one_line(branches, 30))
    screen.line(Styled("  ".join(filter(None, (*place, "imported" if thread.imported else ""))), "dim"))
    counts = [many(len(thread.sessions), "session")]
    counts += [many(thread.subagents, "subagent")] if thread.subagents else []
    counts += [many(story.screenshots, "screenshot")] if story.screenshots else []
    active = round(story.active_ms / 60_000)
    screen.line(Styled(f"{span}; {', '.join(counts)}, {active} min active", "dim"))
    usage = usage_object(story.usage)
    screen.line(Styled(f"{short(story.usage.tokens)} tokens, {cost_text(usage)}", "dim"))
    ranked = ", ".join(f"{name} {count}" if count > 1 else name for name, count in story.patterns)
    if ranked:
        screen.line(Styled(ellipsis(ranked, _WIDTH), "dim"))
