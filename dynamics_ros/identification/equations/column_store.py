# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Memory of bounded size for columns that are computed from a recording."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

Kept = TypeVar('Kept')

MAX_KEPT = 8_000_000
"""Largest number of numbers that a ``ColumnStore`` keeps."""


class ColumnStore:
    """Filtered columns of recordings, so that equations with other loads take less time.

    It keeps at most ``MAX_KEPT`` numbers; what exceeds them is computed again when it is used.
    """

    def __init__(self) -> None:
        self._values: dict[tuple[Any, ...], Any] = {}
        self._count = 0

    def kept(self, key: tuple[Any, ...], made: Callable[[], Kept]) -> Kept:
        """The value of a key, made by a function if it is not there."""
        if key in self._values:
            found: Kept = self._values[key]
            return found
        value = made()
        size = sum(one.size for one in vars(value).values() if isinstance(one, np.ndarray))
        if self._count + size <= MAX_KEPT:
            self._count += size
            self._values[key] = value
        return value
