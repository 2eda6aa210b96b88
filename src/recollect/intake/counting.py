"""What an ingest reports: every line under exactly one heading."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from recollect.agents.decode import BadLine, decode
from recollect.intake.reader import PIECE_BYTES
from recollect.intake.taking import Taking
from recollect.values.records import Line, LineFlag
from recollect.values.reports import Report
from recollect.values.stored import TakeResult

_PLACES_MAX = 20


def add_report(report: Report, portion: Report) -> None:
    """Add what a worker counted, as if it had been done here."""
    for name in Report.__slots__:
        counted, theirs = getattr(report, name), getattr(portion, name)
        if isinstance(counted, Counter | dict):
            counted.update(theirs)
        elif isinstance(counted, list):
            counted.extend(theirs[: _PLACES_MAX - len(counted)])
        else:
            setattr(report, name, counted + theirs)


def count_lines(report: Report, taking: Taking, lines: Sequence[Line], taken: TakeResult) -> None:
    """Put each line under one heading; the pieces of a long one are one line, counted at its end."""
    report.entries += taken.entries
    for line, known in zip(lines, taken.known, strict=True):
        flags = line.flags
        if flags & LineFlag.CONTINUES:
            taking.long = True
            continue
        report.lines += 1
        taking.number += 1
        if known:
            report.duplicate += 1
        elif flags & LineFlag.PENDING:
            report.waiting += 1
        elif flags & LineFlag.BAD:
            _note_bad(report, taking, line)
        elif flags & LineFlag.BLANK:
            report.blank += 1
        else:
            report.taken += 1
            report.lenient += bool(flags & LineFlag.LENIENT)
            if flags & LineFlag.UNKNOWN and line.parsed is not None:
                report.unknown_types[line.parsed.type] += 1
        taking.long = False


def _note_bad(report: Report, taking: Taking, line: Line) -> None:
    report.bad += 1
    reason = f"longer than {PIECE_BYTES >> 20} MiB"
    if not taking.long:
        try:
            decode(line.data)
        except BadLine as error:
            reason = str(error)
    report.bad_reasons[reason] += 1
    if len(report.bad_places) < _PLACES_MAX:
        report.bad_places.append(f"{taking.file.path}:{taking.number}: {reason}")
