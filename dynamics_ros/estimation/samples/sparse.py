# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Samples for those who want one now and then."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class Sparse(Protocol):
    """Whoever wants a sample now and then."""

    next: int
    """Stamp from which on the next one is of use [ns]."""

    def wants(self, stamp: int) -> bool:
        """Whether a sample of that stamp [ns] is of use."""


def wanted(stamps: NDArray[np.int64], sparse: Sparse) -> Iterator[int]:
    """Which of consecutive samples are wanted, each told before the next one is looked for.

    Args:
        stamps: (n) ns; of several they go up.
        sparse: takes a sample before it is asked again.
    """
    i, count = 0, len(stamps)
    while i < count:
        if sparse.wants(int(stamps[i])):
            yield i
        i += 1
        if i < count:
            i = max(i, int(stamps.searchsorted(sparse.next)))
