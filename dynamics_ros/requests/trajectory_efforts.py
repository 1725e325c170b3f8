# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Feed-forward efforts of a trajectory, with the limits that it violates."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.control import FeedForward, JointMotion, LimitViolation
from dynamics_ros.estimation.contact_estimators import effort_model
from dynamics_ros.estimation.contact_settings import EffortSettings
from dynamics_ros.parameters.dynamics import FeedForwardParameters
from dynamics_ros.robot import Robot

from .kernel_twin import kernel

Efforts = tuple[NDArray[np.float64], tuple[LimitViolation, ...]]

KERNELS = kernel('inverse_dynamics'), kernel('gravity')
"""Kernels that ``efforts_of`` uses."""


def efforts_of(
    robot: Robot, motion: JointMotion, q: NDArray[np.float64], settings: FeedForwardParameters
) -> Efforts:
    """Return the efforts (m, k) of m points of k joints, and the violated limits.

    Args:
        robot: the robot.
        motion: the points.
        q: configuration (nq) of the joints that do not move.
        settings: friction, and whether the robot compensates gravity itself.

    Raises:
        DynamicsRosError: the motion or the settings do not fit the robot.
    """
    friction = effort_model(robot, EffortSettings(), settings.friction).friction_torque
    share = settings.friction_compensation
    feed_forward = FeedForward(
        robot,
        q,
        lambda v, carried: share * friction(v, carried),
        with_gravity=not settings.robot_carries_itself,
    )
    return feed_forward.efforts(motion), feed_forward.violations(motion)
