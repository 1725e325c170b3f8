# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Attributes that are computed when they are first read, without a lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from functools import cached_property

    computed_once = cached_property
else:

    class computed_once:  # noqa: N801, as property is
        """A method as an attribute that keeps what the method has returned.

        Before Python 3.12 ``functools.cached_property`` has one lock for all instances. A process
        that forks while another thread holds it leaves a child that waits for it for ever. Here
        two threads may both compute a value, of which the first is kept.
        """

        def __init__(self, method: Callable[[Any], Any]) -> None:
            self._method = method
            self._name = method.__name__
            self.__doc__ = method.__doc__

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            return instance.__dict__.setdefault(self._name, self._method(instance))
