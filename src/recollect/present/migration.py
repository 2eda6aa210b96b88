"""What a migration did, as every face shows it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from recollect.values.migration import MigrationReport


def migration_object(report: MigrationReport) -> dict[str, Any]:
    return {
        "schema_name": report.schema,
        "name": report.name,
        "tables": {name: asdict(each) for name, each in report.tables.items()},
        "refused": [asdict(each) for each in report.refused],
        "beside": dict(report.aside),
    }
