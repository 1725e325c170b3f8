# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Robot: kinematics and dynamics of one robot, with constraints and inverse kinematics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from . import constraints
from .constraints import Constraints
from .inverse_kinematics import Solutions, solve_all, solve_each
from .multibody.arguments import check_options
from .multibody.external_wrenches import Wrenches
from .multibody.kernel_methods import Array
from .multibody.rigid_body_system import RigidBodySystem

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .constraints.inverse_dynamics import InverseDynamicsOptions
    from .inverse_kinematics.solve import SolveAllOptions, SolveOptions


class Robot(RigidBodySystem):
    """Kinematics and dynamics of one robot, with contacts, impacts and inverse kinematics.

    Every method takes and returns float64 arrays and broadcasts over leading axes: q of shape
    (..., nq) gives results of shape (..., ...); ``all_inverse_kinematics`` takes one target. SI
    units. A wrong shape, NaN or infinity raises InvalidArgumentError, an unknown frame
    UnknownFrameError. A robot never changes; its methods may be called from several threads.

    ``contacts`` is one constraint or several of ``dynamics_ros.constraints``; the name of a frame
    is a point contact at its origin. Forces are those of the environment on the robot.

    Attributes are those of ``RigidBodySystem``.
    """

    # Contacts, impacts and end-effector dynamics.

    def operational_space(
        self, q: ArrayLike, v: ArrayLike, frame: str, rows: Sequence[int] = (0, 1, 2, 3, 4, 5)
    ) -> tuple[Array, Array, Array]:
        """Lambda, mu, p of Lambda w-dot + mu + p = F at a frame ([RD] eq. 3.86 to 3.89).

        Arguments and errors are those of ``dynamics_ros.constraints.operational_space``.
        """
        return constraints.operational_space(self, q, v, frame, rows)

    def constrained_forward_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        contacts: Constraints,
        external_wrenches: Wrenches | None = None,
    ) -> tuple[Array, Array]:
        """Accelerations (..., nv) and constraint forces (..., rows) ([RD] eq. 3.61, 3.62).

        Arguments and errors are those of
        ``dynamics_ros.constraints.constrained_forward_dynamics``.
        """
        return constraints.constrained_forward_dynamics(
            self, q, v, tau, contacts, external_wrenches
        )

    def constrained_forward_dynamics_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        contacts: Constraints,
        external_wrenches: Wrenches | None = None,
    ) -> constraints.ConstrainedDerivatives:
        """Derivatives of accelerations and constraint forces by q, v and tau ([Lie] 4).

        Arguments and errors are those of
        ``dynamics_ros.constraints.constrained_forward_dynamics_derivatives``.
        """
        return constraints.constrained_forward_dynamics_derivatives(
            self, q, v, tau, contacts, external_wrenches
        )

    def constrained_inverse_dynamics(
        self,
        q: ArrayLike,
        v: ArrayLike,
        a: ArrayLike,
        contacts: Constraints,
        **options: Unpack[InverseDynamicsOptions],
    ) -> tuple[Array, Array]:
        """Torques (..., nv) and constraint forces (..., rows) of a motion in contact ([Lie] 3.1).

        Arguments, options and errors are those of
        ``dynamics_ros.constraints.constrained_inverse_dynamics``.
        """
        check_options(constraints.constrained_inverse_dynamics, options)
        return constraints.constrained_inverse_dynamics(self, q, v, a, contacts, **options)

    def contact_forces(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        contacts: Constraints,
        external_wrenches: Wrenches | None = None,
    ) -> Array:
        """Forces (..., rows) of the environment on the robot, minus [RD] eq. 3.62.

        Arguments and errors are those of ``dynamics_ros.constraints.contact_forces``.
        """
        return constraints.contact_forces(self, q, v, tau, contacts, external_wrenches)

    def impact(
        self, q: ArrayLike, v: ArrayLike, contacts: Constraints, restitution: ArrayLike = 0.0
    ) -> tuple[Array, Array]:
        """Velocity (..., nv) after an impact, and its impulses (..., rows) ([RD] eq. 3.67, 3.70).

        Arguments and errors are those of ``dynamics_ros.constraints.impact``.
        """
        return constraints.impact(self, q, v, contacts, restitution)

    # Inverse kinematics.

    def inverse_kinematics(
        self,
        target: ArrayLike,
        frame: str | Sequence[str],
        seed: ArrayLike | None = None,
        **options: Unpack[SolveOptions],
    ) -> Any:
        """An InverseKinematicsResult: a configuration that brings a frame to a pose, within limits.

        Of targets or seeds with leading axes InverseKinematicsResults.

        Args:
            target: (..., 4, 4) pose in the root frame; (..., m, 4, 4) of a list of m frames.
            frame: what is brought there.
            seed: (..., nq) tried first; None is the middle of the limits.
            options: of ``dynamics_ros.inverse_kinematics.solve``.

        Raises:
            UnknownOptionError: an option that there is not.
        """
        return solve_each(self, target, frame, seed, options)

    def all_inverse_kinematics(
        self,
        target: ArrayLike,
        frame: str,
        seed: ArrayLike | None = None,
        **options: Unpack[SolveAllOptions],
    ) -> Solutions:
        """Distinct solutions, the nearest to the seed first.

        Args:
            target, frame, seed: as for ``inverse_kinematics``.
            options: of ``dynamics_ros.inverse_kinematics.solve_all``.

        Raises:
            UnknownOptionError: an option that there is not.
        """
        check_options(solve_all, options)
        return solve_all(self, target, frame, seed, **options)
