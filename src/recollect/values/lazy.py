"""An attribute that is worked out when it is first asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

_Owner = TypeVar("_Owner")
_Value = TypeVar("_Value")


class lazy(Generic[_Owner, _Value]):  # noqa: N801 - reads as the decorator it is
    """As `functools.cached_property`, which up to Python 3.11 holds one lock for all instances meanwhile.

    A child that is forked while another thread holds it waits for ever. Two threads that ask at once here
    may both work it out.
    """

    def __init__(self, make: Callable[[_Owner], _Value]) -> None:
        self._make, self._name = make, make.__name__
        self.__doc__ = make.__doc__

    @overload
    def __get__(self, instance: None, owner: Any = None) -> lazy[_Owner, _Value]: ...
    @overload
    def __get__(self, instance: _Owner, owner: Any = None) -> _Value: ...
    def __get__(self, instance: _Owner | None, owner: Any = None) -> lazy[_Owner, _Value] | _Value:
        if instance is None:
            return self
        value = instance.__dict__[self._name] = self._make(instance)
        return value
