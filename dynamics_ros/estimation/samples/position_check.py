# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whether joint positions can be in the unit and of the joint that they are taken for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from dynamics_ros.errors import printable
from dynamics_ros.multibody.arguments import finite_vector

if TYPE_CHECKING:
    from dynamics_ros.robot import Robot

MAX_NAMED = 8


def joints_far_beyond_limits(robot: Robot, q: ArrayLike) -> dict[str, str]:
    """Joints whose positions cannot be meant as they are, each with what is wrong, in words.

    Joints without limits, such as continuous ones, cannot be judged.

    Args:
        robot: the robot.
        q: (nq) configuration.
    """
    values = finite_vector('q', q, robot.nq)
    found: dict[str, str] = {}
    for joint in robot.model.actuated:
        for i, unit in zip(joint.q_indices, joint.kind.units, strict=True):
            beyond = joint.limits.far_beyond(float(values[i]), unit)
            if beyond:
                found[joint.name] = f'{printable(joint.name)} is {beyond}'
    return found


def told_together(found: dict[str, str]) -> str:
    """A sentence about joints that are far beyond their limits; '' when none is."""
    if not found:
        return ''
    more = len(found) - MAX_NAMED
    shown = '; '.join(list(found.values())[:MAX_NAMED])
    return f'far beyond the joint limits: {shown}{f" and {more} more" if more > 0 else ""}'
