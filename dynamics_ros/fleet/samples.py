# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Consecutive samples of a recording as arrays, as many as are looked at together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.estimation import ContactState
from dynamics_ros.recordings.states import Estimate

Array = NDArray[np.float64]

BLOCK = 4096
"""Samples that are looked at together."""

Row = tuple[int, Array, Array, Array, Array, ContactState]


@dataclass(frozen=True, eq=False)
class Block:
    """Consecutive samples.

    Attributes:
        time: (n) stamps [ns].
        q: (n, nq), v: (n, nv), effort: (n, nv) as reported.
        external: (n, nv) estimated external torques [Nm or N].
        state: (n) of contact, values of ``ContactState``.
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
    def of(cls, rows: Iterable[Row]) -> Block:
        """Of single samples."""
        time, q, v, effort, external, state = zip(*rows, strict=True)
        return cls(
            np.array(time, dtype=np.int64),
            np.array(q),
            np.array(v),
            np.array(effort),
            np.array(external),
            np.array(state, dtype=np.int64),
        )


def row_of(estimate: Estimate) -> Row:
    """What of an estimate a block has."""
    _, _, state, external = estimate
    return state.time, state.q, state.v, state.effort, external.values, external.report.state
