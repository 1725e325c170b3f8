# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Selection of samples for consumers that use only some of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class SparseConsumer(Protocol):
    """Consumer that uses only some samples."""

    next: int
    """Stamp from which on the next one is of use [ns]."""

    def wants(self, stamp: int) -> bool:
        """Whether a sample with this stamp [ns] is used."""


def wanted(stamps: NDArray[np.int64], consumer: SparseConsumer) -> Iterator[int]:
    """Yields the indices of consecutive samples that a consumer uses.

    Args:
        stamps: (n) ns, increasing.
        consumer: must process each yielded sample before the next one is requested.
    """
    i, count = 0, len(stamps)
    while i < count:
        if consumer.wants(int(stamps[i])):
            yield i
        i += 1
        if i < count:
            i = max(i, int(stamps.searchsorted(consumer.next)))
