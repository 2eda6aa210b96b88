"""`complete` and `completion`: what a query's fields can be, and what a shell offers while one types.

The scripts know nothing: they hand the words over and print what comes back, so that commands
and options are completed from the one place that defines them.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from itertools import pairwise

from recollect.cli.opening import open_memory
from recollect.cli.parser import build_parser
from recollect.cli.screen import Column, Screen
from recollect.values.errors import RecollectError
from recollect.values.text import one_line
from recollect.values.vocabulary import QUERY_FIELDS

_QUERIES = ("search", "how")
_SESSIONS_MAX = 200


def complete(args: argparse.Namespace, screen: Screen) -> int:
    """Values of a field, the fields themselves, or what a command line's last word can become."""
    if args.words is not None:
        args.store = _option(args.words, "--store") or args.store
        for word in _candidates(args, args.words or [""]):
            screen.line(one_line(word))
        return 0
    if args.field is None:
        found = [(field, 0) for field in sorted(QUERY_FIELDS)]
    else:
        with open_memory(args) as memory:
            found = memory.complete(args.field, args.prefix, args.limit or 1_000_000)
    if screen.json:
        values = [{"value": value, "entries": count} for value, count in found]
        screen.object("complete", {"field": args.field or "", "prefix": args.prefix, "values": values})
        return 0
    counts = any(count for _, count in found)
    columns = [Column(args.field or "field"), *([Column("entries", right=True)] if counts else [])]
    rows = [[one_line(value, 200), *([f"{count:,}"] if counts else [])] for value, count in found]
    screen.table(columns, rows)
    return 0


def completion(args: argparse.Namespace, screen: Screen) -> int:
    """The script a shell reads once."""
    script = _SCRIPTS[args.shell].strip("\n")
    if screen.json:
        screen.object("completion", {"shell": args.shell, "script": script})
    else:
        screen.line(script)
    return 0


# -- candidates ----------------------------------------------------------------------------


def _candidates(args: argparse.Namespace, words: Sequence[str]) -> Iterator[str]:
    """What the last word can become; nothing at all rather than an error while someone types."""
    *before, last = words
    parsers = _commands()
    name = _command_in(before)
    if not name:
        yield from _fitting(parsers if not last.startswith("-") else _options(build_parser()), last)
    if name not in parsers:
        return
    choices = _choices(parsers[name], before[-1])
    if choices:
        yield from _fitting(choices, last)
    elif last.startswith("--") or last == "-":
        yield from _fitting(_options(parsers[name]), last)
    elif name in _QUERIES:
        yield from _query(args, last)
    elif name == "complete":
        yield from _fitting(sorted(QUERY_FIELDS), last)
    elif any(action.dest == "session" for action in parsers[name]._actions):
        yield from _values(args, "session", last)


def _option(words: Sequence[str], name: str) -> str | None:
    """What an option is given on the line that is being typed."""
    for option, value in pairwise(words):
        if option == name:
            return value
    return None


def _command_in(words: Sequence[str]) -> str:
    """The first word that is no option, nor what an option takes."""
    takes = False
    for word in words:
        if not takes and not word.startswith("-"):
            return word
        takes = word == "--store"
    return ""


def _query(args: argparse.Namespace, word: str) -> Iterator[str]:
    """A field's name, or a value of one."""
    minus = "-" if word.startswith("-") else ""
    field, colon, value = word[len(minus) :].rpartition(" ")[2].partition(":")
    lead = word[: len(word) - len(field + colon + value)]
    if not colon:
        yield from (f"{lead}{each}:" for each in _fitting(sorted(QUERY_FIELDS), field))
    elif field in QUERY_FIELDS:
        for each in _values(args, field, value):
            yield f'{lead}{field}:"{each}"' if " " in each else f"{lead}{field}:{each}"


def _values(args: argparse.Namespace, field: str, prefix: str) -> list[str]:
    try:
        with open_memory(args) as memory:
            return [value for value, _ in memory.complete(field, prefix, _SESSIONS_MAX)]
    except RecollectError:
        return []


def _fitting(words: Sequence[str] | dict[str, argparse.ArgumentParser], prefix: str) -> list[str]:
    return [word for word in words if word.startswith(prefix)]


def _commands() -> dict[str, argparse.ArgumentParser]:
    for action in build_parser()._actions:
        if isinstance(action, argparse._SubParsersAction):
            return dict(action.choices)
    raise AssertionError("the parser has commands")


def _options(parser: argparse.ArgumentParser) -> list[str]:
    return [name for action in parser._actions for name in action.option_strings if name.startswith("--")]


def _choices(parser: argparse.ArgumentParser, option: str) -> list[str]:
    """What an option, or a command's only argument, is one of."""
    for action in parser._actions:
        named = option in action.option_strings if action.option_strings else action.dest == "shell"
        if named and action.choices:
            return [str(choice) for choice in action.choices]
    return []


# -- scripts -------------------------------------------------------------------------------

# bash breaks words at colons, so the word is cut out of the line, and what bash has of it already is cut off.
_BASH = r"""
_recollect() {
    local line="${COMP_LINE:0:COMP_POINT}" word="${COMP_WORDS[COMP_CWORD]}" have cur
    cur="${line##*[[:space:]]}"
    cur="${cur#[\'\"]}"
    have="${cur%"$word"}"
    local words
    read -ra words <<< "${line%"$cur"}"
    local IFS=$'\n'
    COMPREPLY=($(recollect complete --words "${words[@]:1}" "$cur" 2>/dev/null))
    COMPREPLY=("${COMPREPLY[@]#"$have"}")
    [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *: ]] && compopt -o nospace
}
complete -o default -F _recollect recollect
"""

_ZSH = r"""
#compdef recollect
_recollect() {
    local -a found before
    before=("${(@Q)words[2,CURRENT-1]}")
    found=("${(@f)$(recollect complete --words "${before[@]}" "${(Q)words[CURRENT]}" 2>/dev/null)}")
    found=("${(@)found:#}")
    if (( $#found )); then
        compadd -Q -S '' -a found
    else
        _files
    fi
}
compdef _recollect recollect
"""

_FISH = r"""
function __recollect_complete
    recollect complete --words (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null
end
complete -c recollect -a '(__recollect_complete)'
"""

_SCRIPTS = {"bash": _BASH, "zsh": _ZSH, "fish": _FISH}
