# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Joint-space torque control ([RD] 3.8)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.multibody.arguments import check_not_negative, check_positive, per_entry
from dynamics_ros.multibody.linear_systems import Array
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem


def check_fixed_base(robot: RigidBodySystem) -> None:
    """Raise an error if the base of the robot moves.

    Raises:
        InvalidArgumentError: the first entries of tau would be torques on the base.
    """
    count = robot.model.root_joint_nv
    if count:
        raise InvalidArgumentError(
            'robot',
            f'a base with {count} velocities and no motor',
            'a fixed base; WholeBodyProblem and virtual_model_torques control what stands on feet',
        )


def oscillator_gains(frequency: float, damping_ratio: float = 1.0) -> tuple[float, float]:
    """Stiffness and damping of a unit mass ([RD] eq. 3.79, 3.80), for ``inverse_dynamics_control``.

    Args:
        frequency: of the undamped oscillation [Hz].
        damping_ratio: 1 is critical.

    Returns:
        k_p [1/s^2] and k_d [1/s]. 3 Hz gives 355 and 37.7; [RD] rounds to 350 and 37.
    """
    check_positive('frequency', frequency)
    check_not_negative('damping_ratio', damping_ratio)
    omega = 2.0 * np.pi * frequency
    return float(omega**2), float(2.0 * damping_ratio * omega)


def joint_impedance(
    robot: RigidBodySystem,
    q: ArrayLike,
    v: ArrayLike,
    target_q: ArrayLike,
    target_v: ArrayLike,
    stiffness: ArrayLike,
    damping: ArrayLike,
    *,
    compensate_gravity: bool = True,
) -> Array:
    """Torques (..., nv) of springs and dampers to a target ([RD] eq. 3.73, 3.75).

    Args:
        robot: the robot, with a fixed base.
        q, v: (..., nq), (..., nv) current state.
        target_q, target_v: (..., nq), (..., nv) desired state.
        stiffness: [Nm/rad or N/m], one number or (nv).
        damping: [Nms/rad or Ns/m], one number or (nv).
        compensate_gravity: if False, the robot sags until the springs carry it ([RD] eq. 3.74).

    Raises:
        InvalidArgumentError: the base moves, or another argument is wrong.
    """
    k_p, k_d = _gains(robot, stiffness, damping)
    law = robot.kernel('joint_impedance').call
    tau, springs = law(q, v, target_q, target_v, k_p, k_d)
    return np.asarray(tau if compensate_gravity else springs)


def inverse_dynamics_control(
    robot: RigidBodySystem,
    q: ArrayLike,
    v: ArrayLike,
    target_q: ArrayLike,
    target_v: ArrayLike,
    stiffness: ArrayLike,
    damping: ArrayLike,
    target_a: ArrayLike | None = None,
) -> Array:
    """Torques (..., nv) that make every joint a unit mass on a spring ([RD] eq. 3.76 to 3.78).

    Args:
        robot, q, v, target_q, target_v: as for ``joint_impedance``.
        stiffness, damping: [1/s^2], [1/s], one number or (nv); ``oscillator_gains`` gives them.
        target_a: (..., nv) feed-forward acceleration; None is 0.

    Raises:
        InvalidArgumentError: a base that moves, or another argument is wrong.
    """
    k_p, k_d = _gains(robot, stiffness, damping)
    wanted = np.zeros(robot.nv) if target_a is None else target_a
    law = robot.kernel('inverse_dynamics_control').call
    return np.asarray(law(q, v, target_q, target_v, wanted, k_p, k_d))


def _gains(robot: RigidBodySystem, stiffness: ArrayLike, damping: ArrayLike) -> tuple[Array, Array]:
    check_fixed_base(robot)
    return (
        per_entry('stiffness', stiffness, robot.nv, least=0.0),
        per_entry('damping', damping, robot.nv, least=0.0),
    )
