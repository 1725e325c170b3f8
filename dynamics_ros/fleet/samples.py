# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Consecutive samples of a recording as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.estimation.external_torques import Estimates

Array = NDArray[np.float64]

BLOCK = 4096
"""Number of samples processed together."""


@dataclass(frozen=True, eq=False)
class Block:
    """Consecutive samples.

    Attributes:
        time: (n) stamps [ns].
        q: (n, nq), v: (n, nv), effort: (n, nv) reported efforts.
        external: (n, nv) estimated external torques [Nm or N].
        state: (n) contact states, values of ``ContactState``.
    """

    time: NDArray[np.int64]
    q: Array
    v: Array
    effort: Array
    external: Array
    state: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.time)

    @classmethod
    def of(cls, estimates: Estimates) -> Block:
        """Creates a block from estimates."""
        states = estimates.states
        state = np.array([report.state for report in estimates.reports], dtype=np.int64)
        return cls(states.time, states.q, states.v, states.effort, estimates.values, state)

    @classmethod
    def together(cls, parts: Sequence[Block]) -> Block:
        """Concatenates blocks."""
        if len(parts) == 1:
            return parts[0]
        return cls(*(np.concatenate(columns) for columns in zip(*map(_columns, parts))))

    def rows(self, which: slice | NDArray[np.bool_]) -> Block:
        """Selects samples."""
        return Block(*(column[which] for column in _columns(self)))


def _columns(block: Block) -> tuple[NDArray[Any], ...]:
    return block.time, block.q, block.v, block.effort, block.external, block.state
