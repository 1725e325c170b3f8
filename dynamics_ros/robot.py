# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Robot: kinematics and dynamics of one robot, with constraints and inverse kinematics."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from numpy.typing import ArrayLike

from . import constraints
from .constraints import Constraints
from .inverse_kinematics import EitherResult, Solutions, solve_all, solve_each
from .multibody.arguments import check_options
from .multibody.external_wrenches import Wrenches
from .multibody.kernel_methods import Array
from .multibody.rigid_body_system import RigidBodySystem

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from .constraints.inverse_dynamics import InverseDynamicsOptions
    from .inverse_kinematics.solve import SolveAllOptions, SolveOptions
    from .page import RobotPage


class Robot(RigidBodySystem):
    """Kinematics and dynamics of one robot, with contacts, impacts and inverse kinematics.

    Every method takes and returns float64 arrays and broadcasts over leading axes: q of shape
    (..., nq) gives results of shape (..., ...); ``all_inverse_kinematics`` takes one target. SI
    units. A wrong shape, NaN or infinity raises InvalidArgumentError, an unknown frame
    UnknownFrameError. A robot is immutable; its methods may be called from several threads.

    ``contacts`` is one constraint of ``dynamics_ros.constraints`` or a sequence of them; a frame
    name means a point contact at the origin of the frame. Contact forces act on the robot.

    Attributes are those of ``RigidBodySystem``.
    """

    # Contacts, impacts and end-effector dynamics.

    def operational_space(
        self, q: ArrayLike, v: ArrayLike, frame: str, rows: Sequence[int] = (0, 1, 2, 3, 4, 5)
    ) -> tuple[Array, Array, Array]:
        """Lambda, mu and p of Lambda w-dot + mu + p = F at a frame ([RD] eq. 3.86 to 3.89).

        Arguments and errors are those of ``dynamics_ros.constraints.operational_space``.
        """
        return constraints.operational_space(self, q, v, frame, rows)

    constrained_forward_dynamics = constraints.constrained_forward_dynamics
    """The function as a method: control loops call it, so it is not wrapped in another function."""

    def constrained_forward_dynamics_derivatives(
        self,
        q: ArrayLike,
        v: ArrayLike,
        tau: ArrayLike,
        contacts: Constraints,
        external_wrenches: Wrenches | None = None,
    ) -> constraints.ConstrainedDerivatives:
        """Derivatives of accelerations and constraint forces w.r.t. q, v and tau ([Lie] 4).

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
        """Contact forces (..., rows) on the robot, the negative of [RD] eq. 3.62.

        Arguments and errors are those of ``dynamics_ros.constraints.contact_forces``.
        """
        return constraints.contact_forces(self, q, v, tau, contacts, external_wrenches)

    def impact(
        self, q: ArrayLike, v: ArrayLike, contacts: Constraints, restitution: ArrayLike = 0.0
    ) -> tuple[Array, Array]:
        """Velocity (..., nv) after an impact and its impulses (..., rows) ([RD] eq. 3.67, 3.70).

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
    ) -> EitherResult:
        """Finds a configuration within the joint limits that brings a frame to a target pose.

        Args:
            target: (..., 4, 4) pose in the root frame; (..., m, 4, 4) for a list of m frames.
            frame: name of the frame, or names of the frames, to bring to the target.
            seed: (..., nq) first starting point; None starts at the middle of the limits.
            options: keyword arguments of ``dynamics_ros.inverse_kinematics.solve``.

        Returns:
            An InverseKinematicsResult, or InverseKinematicsResults if the target or the seed has
            leading axes.

        Raises:
            UnknownOptionError: an option does not exist.
        """
        return solve_each(self, target, frame, seed, options)

    def all_inverse_kinematics(
        self,
        target: ArrayLike,
        frame: str,
        seed: ArrayLike | None = None,
        **options: Unpack[SolveAllOptions],
    ) -> Solutions:
        """Finds the distinct inverse kinematics solutions, sorted by distance from the seed.

        Args:
            target, frame, seed: see ``inverse_kinematics``.
            options: keyword arguments of ``dynamics_ros.inverse_kinematics.solve_all``.

        Raises:
            UnknownOptionError: an option does not exist.
        """
        check_options(solve_all, options)
        return solve_all(self, target, frame, seed, **options)

    # A web page.

    def show(
        self,
        configuration: ArrayLike | None = None,
        *,
        frame: str | None = None,
        description: str | os.PathLike[str] | None = None,
        port: int = 8080,
    ) -> RobotPage:
        """Serves a page on this machine that shows the robot, with a slider for each joint.

        In a notebook the page appears if the returned object is the last of a cell; a script calls
        its ``wait``. Needs viser, which the extra ``viewer`` installs, and no ROS.

        Arguments and errors are those of ``dynamics_ros.inspect.show``.
        """
        from .page import show

        return show(self, configuration, frame=frame, description=description, port=port)
