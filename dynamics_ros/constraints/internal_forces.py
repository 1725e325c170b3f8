# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Forces between links: springs, dampers and actuators, as the torques that they make."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from dynamics_ros.multibody.arguments import check_not_negative, finite_together, finite_vectors
from dynamics_ros.multibody.linear_systems import Array, apply, transposed
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

from .configuration_constraint import ConfigurationConstraint
from .points import ORIGIN, checked_point, point_jacobian


@dataclass(frozen=True, eq=False)
class ElasticElement:
    """A spring, such as one along a tendon or between two links ([RD] eq. 3.34).

    Its energy is stiffness / 2 (d(q) - rest)^2; its damper, if any, resists the rate of d.

    Attributes:
        deflection: q (nq) to d, traced as the function of a ``ConfigurationConstraint``: a length
            [m] or an angle [rad].
        stiffness: [N/m or N m/rad].
        rest: d at which it exerts no force.
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
        """U (...) [J]."""
        stretch = self._of.residual(robot, q)[..., 0] - self.rest
        return np.asarray(0.5 * self.stiffness * stretch**2)

    def force(self, robot: RigidBodySystem, q: ArrayLike, v: ArrayLike | None = None) -> Array:
        """Force or torque (...) that pulls d towards its rest [N or N m].

        Args:
            robot: that it belongs to.
            q: (..., nq).
            v: (..., nv) for the damper; None is rest.
        """
        pull = self.stiffness * (self.rest - self._of.residual(robot, q)[..., 0])
        if v is not None:
            rate = apply(self._of.jacobian(robot, q), finite_vectors('v', v, robot.nv))
            pull = pull - self.damping * rate[..., 0]
        return np.asarray(pull)

    def torques(self, robot: RigidBodySystem, q: ArrayLike, v: ArrayLike | None = None) -> Array:
        """tau (..., nv) that acts like the element: -dU/dq along velocities, and its damper.

        Arguments are those of ``force``. Add it to the torques of forward dynamics, or give it as
        ``passive_torques`` to ``constrained_inverse_dynamics``.
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
    """tau (..., nv) of an actuator between two links, e.g. a cylinder ([RD] eq. 3.52).

    The actuator pushes one link with a wrench and the other with its opposite:
    tau = (J - J_other)^T w, with the Jacobians of the two points in root axes.

    Args:
        robot: that it belongs to.
        q: (..., nq).
        wrench: (..., 6) on ``frame`` at its point, in root axes: force [N], torque [N m].
        frame, other: the two links.
        point, other_point: where it is fixed to them, in their frames [m]. Of a force that acts
            along another line than the one between them, the two ends turn the robot.
    """
    q, wrench = finite_together(q=(q, robot.nq), wrench=(wrench, 6))
    J = point_jacobian(robot, q, frame, checked_point('point', point))
    J_other = point_jacobian(robot, q, other, checked_point('other_point', other_point))
    return apply(transposed(J - J_other), wrench)
