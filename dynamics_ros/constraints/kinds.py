"""What can constrain a robot: contacts, closed loops, and linear constraints on v.

A constraint is anything with ``rows``, ``jacobian`` and ``bias``: it demands J(q) v = 0 of the
velocity and J a + J-dot v = 0 of the acceleration ([RD] eq. 2.270). Its force pushes the robot with
J^T f: positive is the environment on the robot, the opposite of F_c in [RD] eq. 3.57.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.multibody.arguments import check_count, finite_arrays
from dynamics_ros.multibody.linear_systems import Array
from dynamics_ros.multibody.rigid_body_system import RigidBodySystem

from .points import ORIGIN, checked_point, point_bias, point_jacobian, point_position

CONTACT_ROWS = {'point': 3, 'surface': 6}
LOOP_ROWS = {'position': 3, 'pose': 6}


class Constraint(Protocol):
    """Anything that demands J(q) v = 0 of the velocity of a robot."""

    @property
    def rows(self) -> int:
        """Number of rows."""

    def jacobian(self, robot: RigidBodySystem, q: Array) -> Array:
        """J (..., rows, nv)."""

    def bias(self, robot: RigidBodySystem, q: Array, v: Array) -> Array:
        """J-dot v (..., rows)."""


Constraints = str | Constraint | Sequence[str | Constraint]
"""One constraint or several; a plain name is a point contact at the origin of that frame."""


@dataclass(frozen=True)
class Contact:
    """A place of the robot that rests in the root frame ([RD] 2.10.4).

    Attributes:
        frame: what touches the environment.
        kind: 'point' holds a point, three rows; its force [N] is in root axes. 'surface' holds the
            rotation too, six rows; its force is a wrench in root axes, the torque [Nm] about the
            point.
        point: the point in the frame [m].
    """

    frame: str
    kind: str = 'point'
    point: tuple[float, ...] = ORIGIN

    def __post_init__(self) -> None:
        _check_kind('kind', self.kind, CONTACT_ROWS)
        object.__setattr__(self, 'point', checked_point('point', self.point))

    @property
    def rows(self) -> int:
        """3 of a point, 6 of a surface."""
        return CONTACT_ROWS[self.kind]

    @property
    def key(self) -> tuple[str, ...]:
        """Kind and frame, as options of a kernel."""
        return self.kind, self.frame

    @property
    def points(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """The point in its frame, and one that nothing reads."""
        return self.point, ORIGIN

    def jacobian(self, robot: RigidBodySystem, q: Array) -> Array:
        """Contact Jacobian (..., rows, nv), in root axes."""
        return point_jacobian(robot, q, self.frame, self.point)[..., : self.rows, :]

    def bias(self, robot: RigidBodySystem, q: Array, v: Array) -> Array:
        """J-dot v (..., rows)."""
        return point_bias(robot, q, v, self.frame, self.point)[..., : self.rows]

    def position(self, robot: RigidBodySystem, q: Array) -> Array:
        """Where the point is (..., 3) in the root frame [m]."""
        return point_position(robot, q, self.frame, self.point)


@dataclass(frozen=True)
class ClosedLoop:
    """Two frames of the robot that stay together: the joint at which a loop was cut ([Lie] 3).

    The loop has to be closed in the configurations it is asked at, as ``gap`` tells: points that
    are apart would keep their distance in root axes, which no joint does.

    Attributes:
        frame, other: the two frames.
        kind: 'position' keeps two points together, three rows; 'pose' welds the frames, six.
        point, other_point: the points in their frames [m].
    """

    frame: str
    other: str
    kind: str = 'position'
    point: tuple[float, ...] = ORIGIN
    other_point: tuple[float, ...] = ORIGIN

    def __post_init__(self) -> None:
        _check_kind('kind', self.kind, LOOP_ROWS)
        object.__setattr__(self, 'point', checked_point('point', self.point))
        object.__setattr__(self, 'other_point', checked_point('other_point', self.other_point))

    @property
    def rows(self) -> int:
        """3 of a position, 6 of a pose."""
        return LOOP_ROWS[self.kind]

    @property
    def key(self) -> tuple[str, ...]:
        """Kind and frames, as options of a kernel."""
        return self.kind, self.frame, self.other

    @property
    def points(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """The points in their frames."""
        return self.point, self.other_point

    def jacobian(self, robot: RigidBodySystem, q: Array) -> Array:
        """Difference of the Jacobians ([RD] eq. 2.154) (..., rows, nv), in root axes."""
        J = point_jacobian(robot, q, self.frame, self.point)
        J_other = point_jacobian(robot, q, self.other, self.other_point)
        return np.asarray((J - J_other)[..., : self.rows, :])

    def bias(self, robot: RigidBodySystem, q: Array, v: Array) -> Array:
        """J-dot v (..., rows)."""
        bias = point_bias(robot, q, v, self.frame, self.point)
        other = point_bias(robot, q, v, self.other, self.other_point)
        return np.asarray((bias - other)[..., : self.rows])

    def gap(self, robot: RigidBodySystem, q: Array) -> Array:
        """From the other point to the point (..., 3) in root axes [m]; zero in a closed loop."""
        position = point_position(robot, q, self.frame, self.point)
        return position - point_position(robot, q, self.other, self.other_point)


@dataclass(frozen=True)
class LinearConstraint:
    """A(q) v = 0 with an A of your own, e.g. a gear or a wheel that rolls ([RD] eq. 3.35).

    Attributes:
        rows: number of rows of A.
        matrix: q (..., nq) to A (..., rows, nv).
        rate: q, v to A-dot v (..., rows); None for a constant A.
    """

    rows: int
    matrix: Callable[[Array], ArrayLike]
    rate: Callable[[Array, Array], ArrayLike] | None = None

    def __post_init__(self) -> None:
        check_count('rows', self.rows, 1)

    @classmethod
    def constant(cls, matrix: ArrayLike) -> LinearConstraint:
        """The constraint of a constant matrix A (rows, nv)."""
        A = np.array(matrix, dtype=float)
        if A.ndim != 2:
            raise InvalidArgumentError('matrix', f'shape {A.shape}', 'shape (rows, nv)')
        return cls(A.shape[0], lambda q: A)

    def jacobian(self, robot: RigidBodySystem, q: Array) -> Array:
        """A (..., rows, nv)."""
        return finite_arrays('matrix', self.matrix(q), (self.rows, robot.nv))

    def bias(self, robot: RigidBodySystem, q: Array, v: Array) -> Array:
        """A-dot v (..., rows)."""
        if self.rate is None:
            return np.zeros(self.rows)
        return finite_arrays('rate', self.rate(q, v), (self.rows,))


def constraint_list(contacts: Constraints) -> list[Constraint]:
    """The constraints of an argument that may be one, several, or names of frames.

    Raises:
        InvalidArgumentError: something that is no constraint.
    """
    several = (
        list(contacts)
        if isinstance(contacts, Sequence) and not isinstance(contacts, str)
        else [contacts]
    )
    constraints: list[Constraint] = []
    for entry in several:
        constraint = Contact(entry) if isinstance(entry, str) else entry
        if not all(hasattr(constraint, name) for name in ('rows', 'jacobian', 'bias')):
            expected = 'frame names, Contact, ClosedLoop or LinearConstraint'
            raise InvalidArgumentError('contacts', repr(entry), expected)
        constraints.append(constraint)
    return constraints


def contact_list(contacts: str | Contact | Sequence[str | Contact]) -> list[Contact]:
    """As ``constraint_list``, where only contacts make sense.

    Raises:
        InvalidArgumentError: something that is no contact.
    """
    constraints = constraint_list(contacts)
    found = [constraint for constraint in constraints if isinstance(constraint, Contact)]
    if len(found) < len(constraints):
        raise InvalidArgumentError('contacts', f'{constraints}', 'frame names or Contact')
    return found


def _check_kind(argument: str, kind: str, known: dict[str, int]) -> None:
    if kind not in known:
        raise InvalidArgumentError(argument, repr(kind), f'one of {tuple(known)}')
