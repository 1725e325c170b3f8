# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Kinematic control: velocities that track a pose or keep contacts at rest ([RD] 2.9)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from dynamics_ros.constraints import Constraints, constraint_jacobian
from dynamics_ros.multibody.arguments import finite_together
from dynamics_ros.multibody.end_effector import pose_error
from dynamics_ros.multibody.linear_systems import Array
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

from .tasks import Task, solve_prioritized, solve_task


def tracking_twist(
    target: ArrayLike,
    pose: ArrayLike,
    target_twist: ArrayLike,
    position_gain: float,
    rotation_gain: float,
) -> Array:
    """Twist (..., 6) that tracks a moving pose: w* + k error ([RD] eq. 2.257, 2.258).

    Args:
        target, pose: as for ``pose_error``.
        target_twist: (..., 6) of the target in root axes [m/s, rad/s].
        position_gain, rotation_gain: decay rates of the errors [1/s]; at a fixed time step they
            must stay below 2 / step.
    """
    target, pose, target_twist = finite_together(
        target=(target, 4, 4), pose=(pose, 4, 4), target_twist=(target_twist, 6)
    )
    gains = np.repeat([position_gain, rotation_gain], 3)
    return np.asarray(target_twist + gains * pose_error(target, pose))


def trajectory_velocity(
    robot: RigidBodySystem,
    q: ArrayLike,
    frame: str,
    target: ArrayLike,
    target_twist: ArrayLike,
    gain: float,
    *,
    rows: Sequence[int] = (0, 1, 2, 3, 4, 5),
    preferred: ArrayLike | None = None,
    damping: float = 0.0,
) -> Array:
    """Joint velocities (..., nv) with which a frame tracks a moving pose ([RD] 2.9.4).

    Args:
        robot: the robot.
        q: (..., nq).
        frame: the frame that tracks the pose.
        target: (..., 4, 4) current pose of the target, in the root frame.
        target_twist: (..., 6) of the target in root axes.
        gain: decay rate of the errors [1/s].
        rows: controlled components of x y z, rx ry rz: (0, 1, 2) tracks a position, (3, 4, 5) a
            rotation.
        preferred: (..., nv) velocity to follow in the null space of the task.
        damping: as for ``damped_pseudo_inverse``.
    """
    twist = tracking_twist(target, robot.forward_kinematics(q, frame), target_twist, gain, gain)
    chosen = list(rows)
    task = Task(robot.jacobian(q, frame)[..., chosen, :], twist[..., chosen])
    return solve_task(task, preferred, damping)


def support_consistent_velocity(
    robot: RigidBodySystem, q: ArrayLike, contacts: Constraints, tasks: Sequence[Task]
) -> Array:
    """Velocities (..., nv) that meet the tasks and keep all contacts at rest ([RD] eq. 2.276).

    Args:
        robot: the robot.
        q: (..., nq).
        contacts: as for ``constrained_forward_dynamics``.
        tasks: on v, in priority order, all below the contacts.
    """
    J = constraint_jacobian(robot, q, contacts)
    return solve_prioritized([Task(J, np.zeros(J.shape[-2])), *tasks])
