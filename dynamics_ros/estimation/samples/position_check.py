# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Check of joint positions against limits, for wrong units or wrong joints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from dynamics_ros.errors import printable
from dynamics_ros.multibody.arguments import finite_vector

if TYPE_CHECKING:
    from dynamics_ros.robot import Robot

MAX_NAMED = 8


def joints_far_beyond_limits(robot: Robot, q: ArrayLike) -> dict[str, str]:
    """Returns the joints with implausible positions, each with a description of the problem.

    Joints without limits, such as continuous ones, are not checked.

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


def limits_problem(found: dict[str, str]) -> str:
    """Joins the results of ``joints_far_beyond_limits`` to one sentence; '' if there are none."""
    if not found:
        return ''
    more = len(found) - MAX_NAMED
    shown = '; '.join(list(found.values())[:MAX_NAMED])
    return f'far beyond the joint limits: {shown}{f" and {more} more" if more > 0 else ""}'
