# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Friction of a joint beyond its modelled curve, as a sum of functions with unknown coefficients.

Gears have ripple over the position, dry friction that changes with it, and curves over the speed
of another shape than the model's. Such a torque is the same whenever the joint passes a position in
a direction, so it does not average out over time as noise does. It is written as

    sum_k (a_k + b_k tanh(v/v_f)) cos(2 pi k x) + (c_k + d_k tanh(v/v_f)) sin(2 pi k x)
        + sum_s (e_s tanh(v/v_f) + f_s |tanh(v/v_f)|) hat_s(log |v|),

with x the position over the range of the recordings. Coefficients of one octave of k, and those of
each curve over the speed, are normal with one variance (``random_effects``): a Gaussian process by
its features [RasmussenWilliams2006].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

HARMONICS = 20
"""Waves over the range of a joint, the shortest one."""

WIDER, MIN_RANGE = 1.25, 0.2
"""Longest wave over the range of the positions, so that both ends may differ; rad or m."""

SPEEDS = (0.02, 0.05, 0.1, 0.2, 0.4, 0.8)
"""rad/s or m/s between whose logarithms curves over the speed are straight."""


def groups() -> NDArray[np.int64]:
    """(m) number of the variance that the coefficient of each function has."""
    octave = np.floor(np.log2(np.arange(1, HARMONICS + 1))).astype(np.int64)
    count, speeds = octave[-1] + 1, np.zeros(len(SPEEDS), dtype=np.int64)
    both = [octave, octave, count + octave, count + octave]
    return np.concatenate([*both, 2 * count + speeds, 2 * count + 1 + speeds])


@dataclass(frozen=True, eq=False)
class UnmodelledFriction:
    """The functions of position and velocity whose sum is a joint's friction beyond the model.

    Attributes:
        lowest, highest: (nv) positions in the recordings [rad or m].
        velocity: v_f, at which dry friction has reached 76 % [rad/s or m/s].
    """

    lowest: Array
    highest: Array
    velocity: float

    def __call__(self, q: Array, v: Array) -> Array:
        """(..., m + 1) the functions at positions and velocities (..., nv); tanh(v/v_f) is last."""
        longest = WIDER * np.maximum(self.highest - self.lowest, MIN_RANGE)
        x = (q - 0.5 * (self.lowest + self.highest)) / longest
        angle = 2.0 * np.pi * x[..., np.newaxis] * np.arange(1, HARMONICS + 1)
        waves = np.concatenate([np.cos(angle), np.sin(angle)], axis=-1)
        direction = np.tanh(v / self.velocity)[..., np.newaxis]
        knots = np.log(SPEEDS)
        at = np.clip(np.log(np.maximum(np.abs(v), 1e-9)), knots[0], knots[-1])
        hats = np.stack([np.interp(at, knots, one) for one in np.eye(len(knots))], axis=-1)
        curves = [direction * hats, np.abs(direction) * hats]
        return np.concatenate([waves, direction * waves, *curves, direction], axis=-1)
