# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whether joint positions can be in the unit and of the joint that they are taken for."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.errors import printable
from dynamics_ros.multibody.arguments import finite_vector

if TYPE_CHECKING:
    from dynamics_ros.robot import Robot

FAR = 0.5
"""Of the range of a joint: what is beyond its limits by more is no matter of tolerances."""

LEAST = {'m': 0.1, 'rad': 0.5}
"""By its unit, by how much a position is beyond at least."""

MAX_NAMED = 8


def joints_far_beyond_limits(robot: Robot, q: ArrayLike) -> dict[str, str]:
    """Joints whose positions cannot be meant as they are, each with what is wrong, in words.

    Joints without limits, such as continuous ones, cannot be judged.

    Args:
        robot: the robot.
        q: (nq) configuration.
    """
    values = finite_vector('q', q, robot.nq)
    lower, upper = robot.lower_limits, robot.upper_limits
    values = values[robot.nq - len(lower) :]
    units = [unit for joint in robot.model.actuated for unit in joint.kind.units]
    names = [joint.name for joint in robot.model.actuated for _ in joint.q_indices]
    least = np.array([LEAST.get(unit, 0.0) for unit in units])
    beyond = np.maximum(values - upper, lower - values)
    found = np.flatnonzero(beyond > np.maximum(FAR * _span(lower, upper), least))
    return {
        names[i]: f'{printable(names[i])} is at {values[i]:.4g} (limits {lower[i]:.4g} to '
        f'{upper[i]:.4g} {units[i]}'
        f'{_advice(units[i], float(values[i]))})'
        for i in found
    }


def _span(lower: NDArray[np.float64], upper: NDArray[np.float64]) -> NDArray[np.float64]:
    both = np.isfinite(lower) & np.isfinite(upper)
    return np.where(both, np.where(both, upper, 0.0) - np.where(both, lower, 0.0), 0.0)


def _advice(unit: str, value: float) -> str:
    if unit == 'm':
        return '; millimetres?' if abs(value) > 1.0 else ''
    return '; degrees?' if abs(value) > 2.0 * math.pi else ''


def told_together(found: dict[str, str]) -> str:
    """A sentence about joints that are far beyond their limits; '' when none is."""
    if not found:
        return ''
    more = len(found) - MAX_NAMED
    shown = '; '.join(list(found.values())[:MAX_NAMED])
    return f'far beyond the joint limits: {shown}{f" and {more} more" if more > 0 else ""}'
