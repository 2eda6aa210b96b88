"""`graph`: what hangs together with what: look around an entity, find a way, state a relation, export."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from recollect.cli.columns import MODEL, PATH, Column
from recollect.cli.open_memory import open_memory
from recollect.cli.screen import Part, Screen, Styled
from recollect.cli.words import Parser, add_command, count, day, limit
from recollect.memory.machine import check_target, write_target
from recollect.present.graph import entity_object, neighbourhood_object, path_object, relation_object
from recollect.values.errors import UsageError
from recollect.values.graph import BOTH, DIRECTIONS, IN, ORIGINS, SAVED, GraphRelation
from recollect.values.text import many, moment, one_line, size

if TYPE_CHECKING:
    from collections.abc import Sequence

    from recollect.memory import Memory
    from recollect.memory.graph import GraphReader
    from recollect.values.graph import GraphEntity, GraphNeighbour

AUTHOR = "person"
FORMS = ("graphml", "json")

# What each action takes, in the order it is typed.
_TAKES: dict[str, tuple[str, ...]] = {
    "show": ("NAME",),
    "path": ("A", "B"),
    "relate": ("A", "RELATION", "B"),
    "unrelate": ("A", "RELATION", "B"),
    "add": ("NAME",),
    "delete": ("ID",),
    "undo": ("ID",),
    "export": (),
}
_WRITING = ("relate", "unrelate", "add", "delete", "undo")


def add_words(commands: Any) -> None:
    command = add_command(
        commands,
        "graph",
        "what hangs together with what: neighbours, paths, relations of your own, export",
        "With a NAME it shows what that is related to: first what was stated, by you, an agent or a program, "
        "then what your logs mention together with it (`index` looks for that), marked as such. Names count "
        "exactly, in any case, and so do aliases. Without words it lists what was stated. With an action: "
        "path A B finds a shortest way; relate A RELATION B states a relation, once more to change it, and "
        "unrelate takes it back; add NAME says what something is and what else it is called; delete ID takes "
        "back one statement, and undo ID lets it be what it was before; export writes all of it; show NAME "
        "looks at what is called like an action.",
        (
            "recollect graph harbor",
            "recollect graph relate harbor 'installs with' uv --weight 0.9",
            "recollect graph export --to graphml -o memory.graphml",
        ),
    )
    command.add_argument("words", nargs="*", metavar="WORD", help="a name, or an action and what it is about")
    _looking(command)
    _stating(command)
    exporting = command.add_argument_group("with export")
    exporting.add_argument("--to", choices=FORMS, metavar="FORMAT", help=f"one of {', '.join(FORMS)}")
    exporting.add_argument("-o", "--output", metavar="FILE", help="where to write; - for stdout")
    exporting.add_argument("--force", action="store_true", help="replace FILE if it exists")


def _looking(command: Parser) -> None:
    command.add_argument("--relation", default="", metavar="R", help="only relations that are called so")
    command.add_argument(
        "--depth", type=count, metavar="N", help="so many relations away (default: 1; for a path: at most 6)"
    )
    command.add_argument(
        "--direction", choices=DIRECTIONS, default=BOTH, metavar="D", help="of relations: out, in, or both"
    )
    command.add_argument(
        "--origin",
        choices=ORIGINS,
        default="",
        metavar="O",
        help="only what was saved, or is derived from logs",
    )
    command.add_argument("--at", type=day, metavar="DAY", help="as of the end of a day, as in 2026-03-31")
    limit(command, 40, "relations")


def _stating(command: Parser) -> None:
    stating = command.add_argument_group("with relate and add")
    stating.add_argument(
        "--weight", type=float, default=1.0, metavar="W", help="how strong it is (default: 1)"
    )
    stating.add_argument("--from", dest="since", type=day, metavar="DAY", help="since when it holds")
    stating.add_argument("--until", type=day, metavar="DAY", help="from which day on it no longer holds")
    stating.add_argument(
        "--evidence",
        action="append",
        default=[],
        metavar="ID",
        help="an entry or a note that shows it; repeatable",
    )
    stating.add_argument("--type", default="", metavar="T", help="what an entity is")
    stating.add_argument("--alias", action="append", default=[], metavar="A", help="another name; repeatable")


def graph(args: argparse.Namespace, screen: Screen) -> int:
    """Without words what was stated, else what the first word says."""
    action, given = _action(args.words)
    if action == "export":
        return _export(args, screen)
    with open_memory(args, create=action in _WRITING) as memory:
        if action in _WRITING:
            return _state(memory, action, given, args, screen)
        asked = memory.graph.at(_end_of(args.at)) if args.at is not None else memory.graph
        if not action:
            return _list(asked, args, screen)
        if action == "path":
            return _path(asked, given, args, screen)
        return _show(asked, given[0], args, screen)


def _action(words: Sequence[str]) -> tuple[str, Sequence[str]]:
    """What is to be done, with what; one word that is no action is a name."""
    if not words:
        return "", ()
    action, given = words[0], words[1:]
    if action not in _TAKES and not given:
        return "show", words
    if action not in _TAKES:
        raise UsageError(
            f"graph has no action {action[:40]!r}",
            hint="actions: " + ", ".join(_TAKES) + "; a name with blanks stands in quotes",
        )
    if len(given) != len(_TAKES[action]):
        takes = " ".join(_TAKES[action])
        raise UsageError(
            f"graph {action} takes {many(len(_TAKES[action]), 'word')}, not {len(given)}",
            hint=f"recollect graph {action} {takes}; a name with blanks stands in quotes",
        )
    return action, given


def _end_of(moment: Any) -> float:
    return float(moment.timestamp()) + 86_400 - 0.001


# -- looking -------------------------------------------------------------------------------------


def _list(asked: GraphReader, args: argparse.Namespace, screen: Screen) -> int:
    found = asked.relations(relation=args.relation)
    shown = found[-args.limit :] if args.limit else found
    if screen.json:
        told = [relation_object(each) for each in shown]
        screen.object("graph-relations", {"total": len(found), "relations": told})
        return 0
    if shown:
        rows = [
            [Styled(one_line(each.source, 60), "cyan"), *_relation_cells(each, each.target)] for each in shown
        ]
        screen.table([Column("source", gives=PATH), *_relation_columns("target")], rows)
    else:
        screen.note("nobody stated a relation; recollect graph relate A RELATION B")
    if len(shown) < len(found):
        screen.note(f"the latest {len(shown):,} of {many(len(found), 'relation')}; --limit 0 lists all")
    return 0


def _show(asked: GraphReader, name: str, args: argparse.Namespace, screen: Screen) -> int:
    entity = asked.entity(name)
    found = asked.neighbours(
        name,
        relation=args.relation,
        depth=1 if args.depth is None else args.depth,
        direction=args.direction,
        origin=args.origin,
        limit=args.limit + 1 if args.limit else 0,
    )
    shown = found[: args.limit or None]
    if screen.json:
        screen.object("graph", neighbourhood_object(entity, shown))
        return 0
    _print_entity(entity, screen)
    if shown:
        rows = [_neighbour_cells(each) for each in shown]
        screen.table(_relation_columns("entity"), rows)
    else:
        screen.note("nothing that fits is related to it")
    if len(shown) < len(found):
        screen.note(f"the first {len(shown):,} relations; --limit 0 lists all")
    return 0


def _path(asked: GraphReader, ends: Sequence[str], args: argparse.Namespace, screen: Screen) -> int:
    depth = {} if args.depth is None else {"max_depth": args.depth}
    found = asked.path(*ends, direction=args.direction, origin=args.origin, **depth)
    if screen.json:
        screen.object("graph-path", path_object(found))
        return 0
    if not found.entities:
        screen.note("there is no such way; --depth looks further")
        return 0
    _print_entity(found.entities[0], screen)
    for relation, before, entity in zip(found.relations, found.entities, found.entities[1:], strict=False):
        arrow = "←" if relation.target == before.name and relation.origin == SAVED else "→"
        arrow = arrow if relation.origin == SAVED else "·"
        screen.line(
            f"  {arrow} {one_line(relation.relation, 40)} ",
            Styled(one_line(entity.name, 60), "bold"),
            Styled(f"  {_strength(relation)}" + "".join(f"  {id_}" for id_ in relation.evidence[:1]), "dim"),
        )
    return 0


def _print_entity(entity: GraphEntity, screen: Screen) -> None:
    told = [
        one_line(entity.type, 40),
        f"also {', '.join(one_line(each, 40) for each in entity.aliases)}" if entity.aliases else "",
        many(entity.mentions, "mention") if entity.mentions else "",
        "derived" if entity.origin != SAVED else "",
    ]
    also = ", ".join(filter(None, told))
    screen.line(Styled(one_line(entity.name, 60), "bold"), f"  {also}" if also else "")


def _relation_columns(entity: str) -> list[Column]:
    return [
        Column("relation", gives=MODEL),
        Column(entity, gives=PATH),
        Column("weight", right=True, drops=3),
        Column("holds", drops=1),
        Column("shown by", drops=2),
    ]


def _relation_cells(relation: GraphRelation, other: str) -> list[Part]:
    return [
        one_line(relation.relation, 60),
        Styled(one_line(other, 200), "cyan"),
        _strength(relation),
        Styled(_span(relation), "dim"),
        Styled(next(iter(relation.evidence), ""), "dim"),
    ]


def _neighbour_cells(each: GraphNeighbour) -> list[Part]:
    """A row; what is further away stands further in."""
    arrow = "·" if each.direction == BOTH else "←" if each.direction == IN else "→"
    relation, *cells = _relation_cells(each.relation, each.entity.name)
    return [f"{'  ' * (each.depth - 1)}{arrow} {relation}", *cells]


def _strength(relation: GraphRelation) -> str:
    return f"{relation.weight:g}" if relation.origin == SAVED else f"{relation.times:,} times"


def _span(relation: GraphRelation) -> str:
    """Since when a relation holds, and until when; of a derived one the first and last time it was seen."""
    last = relation.until_ms if relation.origin == SAVED else relation.time_ms
    days = [moment(each, "%Y-%m-%d") if each else "" for each in (relation.from_ms, last)]
    return " to ".join(days).strip() if days[1] else f"from {days[0]}" if days[0] else ""


# -- stating -------------------------------------------------------------------------------------


def _state(
    memory: Memory, action: str, given: Sequence[str], args: argparse.Namespace, screen: Screen
) -> int:
    made = memory.graph
    if action == "relate":
        id_ = made.relate(
            given[0],
            given[1],
            given[2],
            weight=args.weight,
            time=args.since,
            until=args.until,
            evidence=args.evidence,
            author=AUTHOR,
        )
        relation = next(each for each in made.relations(source=given[0], target=given[2]) if each.id == id_)
        return _told(screen, f"stated as {id_}", {"relation": relation_object(relation)})
    if action == "add":
        made.add_entity(given[0], args.type, args.alias, author=AUTHOR)
        entity = made.entity(given[0])
        return _told(screen, f"added as {entity.id}", {"entity": entity_object(entity)})
    if action == "undo":
        before = made.undo(given[0], author=AUTHOR)
        said = "as it was before" if before is not None else "taken back: there was nothing before"
        return _told(screen, said, _statement(before))
    if action == "unrelate":
        gone = made.unrelate(given[0], given[1], given[2], author=AUTHOR)
    else:
        gone = made.delete(given[0], author=AUTHOR)
    return _told(screen, f"taken back: {many(gone, 'statement')}", {"deleted": gone})


def _statement(stated: GraphEntity | GraphRelation | None) -> dict[str, Any]:
    if stated is None:
        return {"deleted": 1}
    if isinstance(stated, GraphRelation):
        return {"relation": relation_object(stated)}
    return {"entity": entity_object(stated)}


def _told(screen: Screen, sentence: str, fields: dict[str, Any]) -> int:
    if screen.json:
        screen.object("graph-stated", {"relation": None, "entity": None, "deleted": 0} | fields)
    else:
        screen.line(sentence)
    return 0


# -- export --------------------------------------------------------------------------------------


def _export(args: argparse.Namespace, screen: Screen) -> int:
    if args.to is None or args.output is None:
        raise UsageError(
            "graph export needs a form and a file",
            hint="recollect graph export --to graphml -o FILE; what is called export: graph show export",
        )
    if args.output == "-" and screen.json:
        raise UsageError("--json and -o - both want stdout", hint="name a file with -o")
    target = Path(args.output)
    if args.output != "-":
        check_target(target, force=args.force)
    with open_memory(args) as memory:
        asked = memory.graph.at(_end_of(args.at)) if args.at is not None else memory.graph
        data = asked.export(args.to, origin=args.origin)
    if args.output == "-":
        screen.raw([data])
        return 0
    written = write_target(target, [data], force=args.force)
    if screen.json:
        screen.object("graph-export", {"to": args.to, "path": str(target), "bytes": written})
    else:
        screen.line(f"{target}: {size(written)}, the graph as {args.to}")
    return 0
