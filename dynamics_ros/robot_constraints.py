"""The methods of Robot for constrained motion; what they do is in ``dynamics_ros.constraints``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from dynamics_ros.multibody.arguments import check_options

if TYPE_CHECKING:
    from .constraints import Constraints
    from .robot import Robot

Array = NDArray[np.float64]


class ConstrainedMotion:
    """Contacts, impacts and end-effector dynamics, as methods of a Robot.

    ``contacts`` is one constraint or several of ``dynamics_ros.constraints``; the name of a frame
    is a point contact at its origin. Forces are those of the environment on the robot.
    """

    def operational_space(
        self, q: ArrayLike, v: ArrayLike, frame: str, rows: Sequence[int] = (0, 1, 2, 3, 4, 5)
    ) -> tuple[Array, Array, Array]:
        """Lambda, mu, p of Lambda w-dot + mu + p = F at a frame ([RD] eq. 3.86 to 3.89).

        Arguments and errors are those of ``dynamics_ros.constraints.operational_space``.
        """
        from .constraints import operational_space

        return operational_space(self._robot, q, v, frame, rows)

    def constrained_forward_dynamics(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, contacts: Constraints
    ) -> tuple[Array, Array]:
        """Accelerations (..., nv) and constraint forces (..., rows) ([RD] eq. 3.61, 3.62).

        Arguments and errors are those of
        ``dynamics_ros.constraints.constrained_forward_dynamics``.
        """
        from .constraints import constrained_forward_dynamics

        return constrained_forward_dynamics(self._robot, q, v, tau, contacts)

    def constrained_inverse_dynamics(
        self, q: ArrayLike, v: ArrayLike, a: ArrayLike, contacts: Constraints, **options: Any
    ) -> tuple[Array, Array]:
        """Torques (..., nv) and constraint forces (..., rows) of a motion in contact ([Lie] 3.1).

        Arguments, options and errors are those of
        ``dynamics_ros.constraints.constrained_inverse_dynamics``.
        """
        from .constraints import constrained_inverse_dynamics

        check_options(constrained_inverse_dynamics, options)
        return constrained_inverse_dynamics(self._robot, q, v, a, contacts, **options)

    def contact_forces(
        self, q: ArrayLike, v: ArrayLike, tau: ArrayLike, contacts: Constraints
    ) -> Array:
        """Forces (..., rows) of the environment on the robot, minus [RD] eq. 3.62.

        Arguments and errors are those of ``dynamics_ros.constraints.contact_forces``.
        """
        from .constraints import contact_forces

        return contact_forces(self._robot, q, v, tau, contacts)

    def impact(
        self, q: ArrayLike, v: ArrayLike, contacts: Constraints, restitution: ArrayLike = 0.0
    ) -> tuple[Array, Array]:
        """Velocity (..., nv) after an impact, and its impulses (..., rows) ([RD] eq. 3.67, 3.70).

        Arguments and errors are those of ``dynamics_ros.constraints.impact``.
        """
        from .constraints import impact

        return impact(self._robot, q, v, contacts, restitution)

    @property
    def _robot(self) -> Robot:
        return cast('Robot', self)
