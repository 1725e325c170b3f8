"""Torque control joint by joint ([RD] 3.8)."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from dynamics_ros.multibody.arguments import (
    check_not_negative,
    check_positive,
    finite_together,
    finite_vectors,
    per_entry,
)
from dynamics_ros.multibody.linear_systems import Array
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem


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
        robot: what is controlled.
        q, v: (..., nq), (..., nv) now.
        target_q, target_v: (..., nq), (..., nv) wanted.
        stiffness: [Nm/rad or N/m], one number or (nv).
        damping: [Nms/rad or Ns/m], one number or (nv).
        compensate_gravity: without it the robot sags until the springs carry it ([RD] eq. 3.74).
    """
    springs = _feedback(robot, q, v, target_q, target_v, stiffness, damping)
    return np.asarray(springs + robot.gravity(q)) if compensate_gravity else springs


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
    """
    a = _feedback(robot, q, v, target_q, target_v, stiffness, damping)
    if target_a is not None:
        a = a + finite_vectors('target_a', target_a, robot.nv)
    return robot.inverse_dynamics(q, v, a)


def _feedback(
    robot: RigidBodySystem,
    q: ArrayLike,
    v: ArrayLike,
    target_q: ArrayLike,
    target_v: ArrayLike,
    stiffness: ArrayLike,
    damping: ArrayLike,
) -> Array:
    k_p = per_entry('stiffness', stiffness, robot.nv, least=0.0)
    k_d = per_entry('damping', damping, robot.nv, least=0.0)
    q, v, target_q, target_v = finite_together(
        q=(q, robot.nq),
        v=(v, robot.nv),
        target_q=(target_q, robot.nq),
        target_v=(target_v, robot.nv),
    )
    return np.asarray(k_p * robot.difference(q, target_q) + k_d * (target_v - v))
