# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Generalized torques of springs, dampers and actuators between links."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dynamics_ros.multibody.arguments import check_not_negative, finite_together, finite_vectors
from dynamics_ros.multibody.linear_systems import Array, apply, transposed
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

from .kinds import ORIGIN, ClosedLoop
from .of_functions import ConfigurationConstraint


@dataclass(frozen=True, eq=False)
class ElasticElement:
    """A spring with an optional damper, for example along a tendon or between two links.

    The energy is stiffness / 2 (d(q) - rest)^2 ([RD] eq. 3.34). The damper opposes the rate of d.

    Attributes:
        deflection: function of q (nq) that returns d, a length [m] or an angle [rad]; it is traced
            like the function of a ``ConfigurationConstraint``.
        stiffness: [N/m or N m/rad].
        rest: value of d without a force [m or rad].
        damping: [N s/m or N m s/rad].
    """

    deflection: Callable[[Any], Any]
    stiffness: float
    rest: float = 0.0
    damping: float = 0.0
    _of: ConfigurationConstraint = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_not_negative('stiffness', self.stiffness)
        check_not_negative('damping', self.damping)
        object.__setattr__(self, '_of', ConfigurationConstraint(1, self.deflection))

    def energy(self, robot: RigidBodySystem, q: ArrayLike) -> Array:
        """Elastic energy (...) [J]."""
        stretch = self._of.residual(robot, q)[..., 0] - self.rest
        return np.asarray(0.5 * self.stiffness * stretch**2)

    def force(self, robot: RigidBodySystem, q: ArrayLike, v: ArrayLike | None = None) -> Array:
        """Force or torque (...) on d, towards its rest value [N or N m].

        Args:
            robot: the robot with the element.
            q: (..., nq).
            v: (..., nv) for the damper; None for zero.
        """
        pull = self.stiffness * (self.rest - self._of.residual(robot, q)[..., 0])
        if v is not None:
            rate = apply(self._of.jacobian(robot, q), finite_vectors('v', v, robot.nv))
            pull = pull - self.damping * rate[..., 0]
        return np.asarray(pull)

    def torques(self, robot: RigidBodySystem, q: ArrayLike, v: ArrayLike | None = None) -> Array:
        """Generalized torques (..., nv) of the element: -dU/dq along velocities, and its damper.

        Arguments are those of ``force``. Add the torques to those of forward dynamics, or pass them
        as ``passive_torques`` to ``constrained_inverse_dynamics``.
        """
        J = self._of.jacobian(robot, q)[..., 0, :]
        return np.asarray(self.force(robot, q, v)[..., None] * J)


def actuator_torques(
    robot: RigidBodySystem,
    q: ArrayLike,
    wrench: ArrayLike,
    frame: str,
    other: str,
    point: tuple[float, ...] = ORIGIN,
    other_point: tuple[float, ...] = ORIGIN,
) -> Array:
    """Generalized torques (..., nv) of an actuator between two links, e.g. a cylinder.

    The actuator exerts a wrench on one link and the opposite wrench on the other ([RD] eq. 3.52):
    tau = (J - J_other)^T w, with the Jacobians of the two points in axes of the root frame.

    Args:
        robot: the robot with the actuator.
        q: (..., nq).
        wrench: (..., 6) on ``frame`` about its point, in axes of the root frame: force [N], torque
            [N m].
        frame, other: frames of the two links.
        point, other_point: attachment points in these frames [m]. A force that does not act along
            the line between both points also exerts a net moment on the robot.
    """
    q, wrench = finite_together(q=(q, robot.nq), wrench=(wrench, 6))
    J = ClosedLoop(frame, other, 'pose', point, other_point).jacobian(robot, q)
    return apply(transposed(J), wrench)
