# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Motion and force vectors, linear part first, and their products ([SE3] 3, 4 and 6).

The order inside a 6-vector is known to this file alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike

from .arrays import Array, split, stack
from .scalar import Scalar
from .vector import Matrix3, Vector3

Same = TypeVar('Same', bound='SixVector')


class SixVector:
    """What motions and forces have in common: two parts, and the algebra of a vector space."""

    __slots__ = ('angular', 'linear')

    # An array times this is this class's to compute.
    __array_ufunc__ = None

    def __init__(self, linear: Vector3, angular: Vector3) -> None:
        self.linear = linear
        self.angular = angular

    @classmethod
    def from_array(cls: type[Same], array: ArrayLike) -> Same:
        """One of these, or many at once, of an array (..., 6)."""
        return cls.of(split(array, (6,), cls.__name__.lower()))

    def array(self) -> Array:
        """The array (..., 6)."""
        return stack(self.components())

    @classmethod
    def zero(cls: type[Same]) -> Same:
        """All components zero."""
        return cls(Vector3.zero(), Vector3.zero())

    @classmethod
    def of(cls: type[Same], components: Iterable[Scalar]) -> Same:
        """Of six components, linear first."""
        x, y, z, wx, wy, wz = components
        return cls(Vector3(x, y, z), Vector3(wx, wy, wz))

    def components(self) -> list[Scalar]:
        """The six components, linear first."""
        return [*self.linear, *self.angular]

    def __add__(self: Same, other: Same) -> Same:
        return type(self)(self.linear + other.linear, self.angular + other.angular)

    def __sub__(self: Same, other: Same) -> Same:
        return type(self)(self.linear - other.linear, self.angular - other.angular)

    def __neg__(self: Same) -> Same:
        return type(self)(-self.linear, -self.angular)

    def __mul__(self: Same, factor: Scalar) -> Same:
        return type(self)(self.linear * factor, self.angular * factor)

    __rmul__ = __mul__

    def scaled(self: Same, linear: Scalar, angular: Scalar) -> Same:
        """Each part times a factor of its own: other units."""
        return type(self)(self.linear * linear, self.angular * angular)

    def __repr__(self) -> str:
        return f'{type(self).__name__}({self.components()})'


class Motion(SixVector):
    """A twist or spatial acceleration (v, w): linear part at the frame's origin, angular part."""

    __slots__ = ()

    def dot(self, force: Force) -> Scalar:
        """Power of a force on this motion, v.f + w.tau."""
        return self.linear.dot(force.linear) + self.angular.dot(force.angular)

    @overload
    def cross(self, other: Motion) -> Motion: ...
    @overload
    def cross(self, other: Force) -> Force: ...
    def cross(self, other: Motion | Force) -> Motion | Force:
        """Motion-motion product v x m, or motion-force product v x* f ([SE3] 6)."""
        v, w = self.linear, self.angular
        if isinstance(other, Force):
            f, tau = other.linear, other.angular
            return Force(w.cross(f), w.cross(tau) + v.cross(f))
        v2, w2 = other.linear, other.angular
        return Motion(v.cross(w2) + w.cross(v2), w.cross(w2))

    def hat(self) -> list[list[Scalar]]:
        """The rows of the 4x4 matrix of a twist, [w_x v; 0 0], whose `exp` is a pose ([RBM]).

        With the body twist of a moving frame, d/dt X_AB = X_AB hat; with the spatial one hat X_AB.
        """
        rows = zip(Matrix3.skew(self.angular), self.linear, strict=True)
        return [*([*turning, moving] for turning, moving in rows), [0.0] * 4]

    @classmethod
    def vee(cls, matrix: ArrayLike | Sequence[Sequence[Scalar]]) -> Motion:
        """The twist of a 4x4 matrix, the inverse of `hat`; of what is not skew the skew part.

        Args:
            matrix: rows of scalars, or an array (..., 4, 4).
        """
        rows: Any = split(matrix, (4, 4), 'matrix') if isinstance(matrix, np.ndarray) else matrix
        turning = Matrix3([row[:3] for row in rows[:3]])
        return cls(Vector3.of(row[3] for row in rows[:3]), turning.unskew())

    def cross_matrix(self) -> list[list[Scalar]]:
        """The 6x6 matrix of m -> v x m ([SE3] 6)."""
        return matrix_of(Motion, lambda m: self.cross(m))

    def cross_force_matrix(self) -> list[list[Scalar]]:
        """The 6x6 matrix of f -> v x* f ([SE3] 6); minus the transpose of `cross_matrix`."""
        return matrix_of(Force, lambda f: self.cross(f))


class Force(SixVector):
    """A wrench or momentum (f, tau): force, and torque about the frame's origin."""

    __slots__ = ()

    def dot(self, motion: Motion) -> Scalar:
        """Power of this force on a motion, f.v + tau.w."""
        return motion.dot(self)


Domain = TypeVar('Domain', Motion, Force)


def matrix_of(
    domain: type[Domain], function: Callable[[Domain], Motion | Force]
) -> list[list[Scalar]]:
    """The rows of the 6x6 matrix of a linear map from motions or forces to motions or forces."""
    units = [[1.0 if i == j else 0.0 for j in range(6)] for i in range(6)]
    columns = [function(domain.of(unit)).components() for unit in units]
    return [list(row) for row in zip(*columns)]


def shift_matrix(arm: Vector3, length: Scalar = 1.0) -> list[list[Scalar]]:
    """The rows of the 6x6 matrix [1 0; -l arm_x l]: a wrench about a point that is ``arm`` away.

    Args:
        arm: from the point that wrenches are given about to the one that they are wanted about.
        length: l, which torques are multiplied by.
    """
    torques = Matrix3.skew(arm * -length)
    return [
        *([1.0 if i == j else 0.0 for j in range(6)] for i in range(3)),
        *([*row, *(length if i == j else 0.0 for j in range(3))] for i, row in enumerate(torques)),
    ]
