"""`completion`: the script that lets a shell complete our words.

The scripts know nothing: they hand the words over to `complete` and print what comes back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from recollect.cli.words import add_command

if TYPE_CHECKING:
    import argparse

    from recollect.cli.screen import Screen

SHELLS = ("bash", "zsh", "fish")


def add_words(commands: Any) -> None:
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


def completion(args: argparse.Namespace, screen: Screen) -> int:
    """The script a shell reads once."""
    script = _SCRIPTS[args.shell].strip("\n")
    if screen.json:
        screen.object("completion", {"shell": args.shell, "script": script})
    else:
        screen.line(script)
    return 0


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
