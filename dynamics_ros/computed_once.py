# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Property decorator that caches the computed value on the instance, without a lock."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from functools import cached_property

    computed_once = cached_property
else:

    class computed_once:  # noqa: N801, as property is
        """Decorator that makes a method a read-only attribute, computed on the first access.

        Before Python 3.12, ``functools.cached_property`` uses one lock for all instances. If a
        process forks while another thread holds that lock, the child deadlocks on it. With this
        decorator two threads may both compute a value; the first one stored is kept.
        """

        def __init__(self, method: Callable[[Any], Any]) -> None:
            self._method = method
            self._name = method.__name__
            self.__doc__ = method.__doc__

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            return instance.__dict__.setdefault(self._name, self._method(instance))
