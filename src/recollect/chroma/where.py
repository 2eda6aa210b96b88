"""The filters of Chroma: which documents a `where` and a `where_document` choose.

A filter is checked whole before any document is looked at, and refused in Chroma's own words. Numbers compare
as Chroma 1.5 compares them: a whole number with what is left of the operand when its fraction is cut off, a
fraction with the operand as a float; true and false are no numbers. What has no value is chosen by `$ne`,
`$nin` and `$not_contains` alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

from recollect.chroma.patterns import pattern
from recollect.chroma.refusals import Refused

Chooses = Callable[[str, Mapping[str, Any]], bool]  # a document's text and metadata to whether it is chosen

DOCUMENT_KEY: Final = "chroma:document"  # under which a filter on metadata finds the text
_TEXT_KEY: Final = "#document"  # under which it finds what the text contains

_INT_MAX: Final = 2**63 - 1
_INT_MIN: Final = -(2**63)
_OPERATORS: Final = (
    "$gt", "$gte", "$lt", "$lte", "$ne", "$eq", "$in", "$nin", "$contains", "$not_contains",
)  # fmt: skip
_TEXT_OPERATORS: Final = ("$contains", "$not_contains", "$regex", "$not_regex", "$and", "$or")
_ORDER: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    "$gt": lambda value, operand: value > operand,
    "$gte": lambda value, operand: value >= operand,
    "$lt": lambda value, operand: value < operand,
    "$lte": lambda value, operand: value <= operand,
}
_EQUAL: Final[Callable[[Any, Any], bool]] = lambda value, operand: value == operand  # noqa: E731


def chooser(where: Any, where_document: Any) -> Chooses | None:
    """What both filters choose together; None where there is neither."""
    if where is not None:
        _check(where)
    if where_document is not None:
        _check_text(where_document)
    made = [
        make(given) for make, given in ((_chosen, where), (_chosen_text, where_document)) if given is not None
    ]
    return _all(made) if made else None


def normal_number(value: Any) -> Any:
    """A number as Chroma keeps it: whole ones have 64 bits, longer ones become floats."""
    if type(value) is int and not _INT_MIN <= value <= _INT_MAX:
        try:
            return float(value)
        except OverflowError:
            return math.copysign(math.inf, value)
    return value


# -- what is no filter -----------------------------------------------------------------------------


def _check(where: Any) -> None:
    if not isinstance(where, dict):
        raise Refused(f"Expected where to be a dict, got {where}")
    if len(where) != 1:
        raise Refused(f"Expected where to have exactly one operator, got {where}")
    ((key, value),) = where.items()
    if key in ("$contains", "$not_contains"):
        raise Refused(
            f"Expected where key to be a metadata field name or a logical operator ($and, $or), got {key}"
        )
    if key in ("$and", "$or"):
        for each in _several(value, "where value", "where expressions"):
            _check(each)
    elif isinstance(value, dict):
        _check_expression(key, value)
    elif key not in ("$in", "$nin") and not isinstance(value, str | int | float):
        raise Refused(f"Expected where value to be a str, int, float, or operator expression, got {value}")


def _several(value: Any, what: str, parts: str) -> list[Any]:
    if not isinstance(value, list):
        raise Refused(f"Expected {what} for $and or $or to be a list of {parts}, got {value}")
    if len(value) <= 1:
        raise Refused(f"Expected {what} for $and or $or to be a list with at least two {parts}, got {value}")
    return value


def _check_expression(key: str, expression: Mapping[str, Any]) -> None:
    if len(expression) != 1:
        raise Refused(f"Expected operator expression to have exactly one operator, got {expression}")
    ((operator, operand),) = expression.items()
    if operator in _ORDER and not isinstance(operand, int | float):
        raise Refused(
            f"Expected operand value to be an int or a float for operator {operator}, got {operand}"
        )
    if operator in ("$in", "$nin") and not isinstance(operand, list):
        raise Refused(f"Expected operand value to be an list for operator {operator}, got {operand}")
    if operator in ("$contains", "$not_contains"):
        _check_contained(key, operator, operand)
    if operator not in _OPERATORS:
        raise Refused(f"Expected where operator to be one of {', '.join(_OPERATORS)}, got {operator}")
    _check_operand(operand)


def _check_contained(key: str, operator: str, operand: Any) -> None:
    if key == _TEXT_KEY and not isinstance(operand, str):
        raise Refused(
            f"Expected operand value to be a str for operator {operator} on #document, got {operand}"
        )
    if not isinstance(operand, str | int | float):
        raise Refused(
            f"Expected operand value to be a str, int, float, or bool for operator {operator}, got {operand}"
        )


def _check_operand(operand: Any) -> None:
    if not isinstance(operand, str | int | float | list):
        raise Refused(
            "Expected where operand value to be a str, int, float, bool, or list of those type, "
            f"got {operand}"
        )
    if isinstance(operand, list) and not (
        operand and all(isinstance(each, type(operand[0])) for each in operand)
    ):
        raise Refused(
            "Expected where operand value to be a non-empty list, and all values to be of the same type "
            f"got {operand}"
        )


def _check_text(where_document: Any) -> None:
    if not isinstance(where_document, dict):
        raise Refused(f"Expected where document to be a dictionary, got {where_document}")
    if len(where_document) != 1:
        raise Refused(f"Expected where document to have exactly one operator, got {where_document}")
    ((operator, operand),) = where_document.items()
    if operator not in _TEXT_OPERATORS:
        raise Refused(
            f"Expected where document operator to be one of {', '.join(_TEXT_OPERATORS)}, got {operator}"
        )
    if operator in ("$and", "$or"):
        for each in _several(operand, "document value", "where document expressions"):
            _check_text(each)
        return
    named = f"Expected where document operand value for operator {operator} to be a"
    if not isinstance(operand, str):
        raise Refused(f"{named} str, got {operand}")
    if not operand:
        raise Refused(f"{named} non-empty str")


# -- what a filter chooses -------------------------------------------------------------------------


def _chosen(where: Mapping[str, Any]) -> Chooses:
    ((key, value),) = where.items()
    if key in ("$and", "$or"):
        parts = [_chosen(each) for each in value]
        return _all(parts) if key == "$and" else _any(parts)
    operator, operand = next(iter(value.items())) if isinstance(value, dict) else ("$eq", value)
    if key == _TEXT_KEY:
        if operator in ("$contains", "$not_contains"):
            return _chosen_text({operator: operand})
        raise Refused(
            "Cannot filter using metadata key '#document' with type 'Str' because indexing is disabled"
        )
    if key in ("$in", "$nin") or not _is_fit(operator, operand):
        raise Refused("Invalid where clause")
    return _on(key, _holds(operator, operand))


def _is_fit(operator: str, operand: Any) -> bool:
    """Whether an operand is what its operator compares with; what `_check` lets pass is not always."""
    if operator in _ORDER:
        return not isinstance(operand, bool)
    if operator not in ("$in", "$nin"):
        return not isinstance(operand, list)
    return all(isinstance(each, str | int | float) and type(each) is type(operand[0]) for each in operand)


def _holds(operator: str, operand: Any) -> Callable[[Any], bool]:
    """Whether a value, None for none, is what an expression asks for."""
    if operator in _ORDER:
        return _compared(_ORDER[operator], operand)
    if operator in ("$contains", "$not_contains"):
        wanted = normal_number(operand)
        return _denied(_containing(wanted)) if operator == "$not_contains" else _containing(wanted)
    if operator in ("$in", "$nin"):
        parts = [_equal_to(each) for each in operand]
        held: Callable[[Any], bool] = lambda value: any(part(value) for part in parts)  # noqa: E731
    else:
        held = _equal_to(operand)
    return _denied(held) if operator in ("$ne", "$nin") else held


def _equal_to(operand: Any) -> Callable[[Any], bool]:
    if isinstance(operand, bool | str):
        return lambda value: type(value) is type(operand) and value == operand
    return _compared(_EQUAL, operand)


def _compared(compare: Callable[[Any, Any], bool], operand: float) -> Callable[[Any], bool]:
    operand = normal_number(operand)
    whole, fraction = _whole(operand), float(operand)

    def holds(value: Any) -> bool:
        if type(value) is int:
            return compare(value, whole)
        return type(value) is float and compare(value, fraction)

    return holds


def _whole(operand: float) -> int:
    """A number without its fraction, as near as 64 bits come to it."""
    if math.isnan(operand):
        return 0
    if math.isinf(operand):
        return _INT_MAX if operand > 0 else _INT_MIN
    return max(_INT_MIN, min(_INT_MAX, int(operand)))


def _containing(wanted: Any) -> Callable[[Any], bool]:
    return lambda value: (
        type(value) is list and any(type(each) is type(wanted) and each == wanted for each in value)
    )


def _denied(held: Callable[[Any], bool]) -> Callable[[Any], bool]:
    return lambda value: not held(value)


def _on(key: str, held: Callable[[Any], bool]) -> Chooses:
    if key == DOCUMENT_KEY:
        return lambda text, metadata: held(text)
    return lambda text, metadata: held(metadata.get(key))


def _chosen_text(where_document: Mapping[str, Any]) -> Chooses:
    ((operator, operand),) = where_document.items()
    if operator in ("$and", "$or"):
        parts = [_chosen_text(each) for each in operand]
        return _all(parts) if operator == "$and" else _any(parts)
    wanted = not operator.startswith("$not_")
    if operator.endswith("contains"):
        return lambda text, metadata: (operand in text) is wanted
    found = pattern(operand)
    return lambda text, metadata: found(text) is wanted


def _all(parts: list[Chooses]) -> Chooses:
    return lambda text, metadata: all(part(text, metadata) for part in parts)


def _any(parts: list[Chooses]) -> Chooses:
    return lambda text, metadata: any(part(text, metadata) for part in parts)
