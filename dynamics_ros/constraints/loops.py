# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Dynamics of a robot whose description closes kinematic loops, with joints without a motor.

Joints without a motor (``passive_joints`` of the model) carry no torque. The motors carry what is
left of the tree's torques after the loops: tau_a + (J^T f)_a, with (J^T f)_p = tau_p ([Lie] 3.1).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.multibody.arguments import finite_together, finite_vector
from dynamics_ros.multibody.kernel_methods import Wrenches
from dynamics_ros.multibody.linear_systems import Array, apply, pseudo_inverse
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

from .dynamics import constrained_forward_dynamics, constrained_inverse_dynamics
from .jacobian import rows_and_bias
from .kinds import ClosedLoop

UNTURNED = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def loops_of(robot: RigidBodySystem) -> tuple[ClosedLoop, ...]:
    """The loops that the description of a robot closes; the same objects in every call."""
    loops: tuple[ClosedLoop, ...] | None = robot._kept.get('loops')
    if loops is None:
        found = [ClosedLoop(*loop, rotation=UNTURNED) for loop in robot.model.loops]
        loops = robot._kept.setdefault('loops', tuple(found))
    return loops


def motors(robot: RigidBodySystem) -> NDArray[np.bool_]:
    """Mask (nv) of velocities that are not of a passive joint; a moving base counts as driven."""
    mask = np.ones(robot.nv, dtype=bool)
    for joint in robot.model.joints:
        if joint.name in robot.model.passive_joints:
            mask[list(joint.v_indices)] = False
    return mask


class Gap(NamedTuple):
    """Gap of a loop: distance [m] and angle [rad] between what should coincide."""

    loop: ClosedLoop
    distance: float
    angle: float


def widest_gap(robot: RigidBodySystem, q: ArrayLike) -> Gap:
    """Gap of the loop that is open farthest at q (nq), in m or rad.

    Raises:
        InvalidArgumentError: the robot has no loops, or q is wrong.
    """
    at = finite_vector('q', q, robot.nq)
    gaps = [(loop, loop.gap(robot, at)) for loop in loops_of(robot)]
    if not gaps:
        raise InvalidArgumentError('robot', 'has no loops', 'a robot with closed loops')
    return max(
        (Gap(loop, math.hypot(*gap[:3]), math.hypot(*gap[3:])) for loop, gap in gaps),
        key=lambda gap: max(gap[1:]),
    )


def gravity_in_loops(robot: RigidBodySystem, q: ArrayLike) -> Array:
    """Gravity torques (..., nv) of the motors, 0 of passive joints.

    They are the derivatives of the potential energy by the joints with motors, of which the passive
    joints are functions. If there are more motors than degrees of freedom, |tau| is the least.

    Raises:
        InfeasibleError: motors and loops do not hold the passive joints at q.
    """
    rest = np.zeros(robot.nv)
    return constrained_inverse_dynamics(robot, q, rest, rest, loops_of(robot), motors(robot))[0]


def inverse_dynamics_in_loops(
    robot: RigidBodySystem,
    q: ArrayLike,
    v: ArrayLike,
    a: ArrayLike,
    external_wrenches: Wrenches | None = None,
) -> Array:
    """Torques (..., nv) of the motors, 0 of passive joints, for a motion of the motors.

    Velocities and accelerations of passive joints follow from those of the motors; values of v and
    a count only where the loops leave a passive joint free.

    Args:
        robot, q, v, a: as for ``RigidBodySystem.inverse_dynamics``.
        external_wrenches: as for ``RigidBodySystem.inverse_dynamics``.

    Raises:
        InfeasibleError: the loops prevent the motion of the motors, or they cannot produce it.
    """
    q, v, a = finite_together(q=(q, robot.nq), v=(v, robot.nv), a=(a, robot.nv))
    loops, driven = loops_of(robot), motors(robot)
    v = _followed(robot, q, v)
    J, bias = rows_and_bias(robot, q, v, loops)
    a = _completed(J, a, -bias, driven)
    return constrained_inverse_dynamics(
        robot, q, v, a, loops, driven, external_wrenches=external_wrenches
    )[0]


def forward_dynamics_in_loops(
    robot: RigidBodySystem,
    q: ArrayLike,
    v: ArrayLike,
    tau: ArrayLike,
    external_wrenches: Wrenches | None = None,
) -> Array:
    """Accelerations (..., nv) for torques; velocities of passive joints follow from the motors.

    Arguments and errors are those of ``constrained_forward_dynamics``.
    """
    q, v = finite_together(q=(q, robot.nq), v=(v, robot.nv))
    v = _followed(robot, q, v)
    return constrained_forward_dynamics(robot, q, v, tau, loops_of(robot), external_wrenches)[0]


def _followed(robot: RigidBodySystem, q: Array, v: Array) -> Array:
    """Velocities (..., nv) of the motors, and of passive joints as the loops demand."""
    J, _ = rows_and_bias(robot, q, v, loops_of(robot))
    return _completed(J, v, np.zeros(J.shape[-2]), motors(robot))


def _completed(J: Array, x: Array, target: Array, driven: NDArray[np.bool_]) -> Array:
    """The nearest x (..., nv) with J x = target that differs in passive joints alone."""
    missing = apply(pseudo_inverse(J[..., ~driven]), target - apply(J, x))
    completed = np.broadcast_to(x, (*missing.shape[:-1], x.shape[-1])).copy()
    completed[..., ~driven] += missing
    return completed
