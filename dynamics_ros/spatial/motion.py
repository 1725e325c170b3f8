# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Motion and force vectors, linear part first, and their products ([SE3] 3, 4 and 6).

Only this file depends on the order of the components of a 6-vector.
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
    """Base of `Motion` and `Force`: a linear and an angular part, sums, and multiples."""

    __slots__ = ('angular', 'linear')

    # NumPy then leaves ``array * vector`` to ``__rmul__`` of this class.
    __array_ufunc__ = None

    def __init__(self, linear: Vector3, angular: Vector3) -> None:
        self.linear = linear
        self.angular = angular

    @classmethod
    def from_array(cls: type[Same], array: ArrayLike) -> Same:
        """Vector with components (..., 6), linear first; leading axes make components arrays."""
        return cls.of(split(array, (6,), cls.__name__.lower()))

    def array(self) -> Array:
        """The components as an array (..., 6), linear first."""
        return stack(self.components())

    @classmethod
    def zero(cls: type[Same]) -> Same:
        """The zero vector."""
        return cls(Vector3.zero(), Vector3.zero())

    @classmethod
    def of(cls: type[Same], components: Iterable[Scalar]) -> Same:
        """Vector with six components, linear first."""
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
        """Linear and angular part multiplied by separate factors, for example to change units."""
        return type(self)(self.linear * linear, self.angular * angular)

    def __repr__(self) -> str:
        return f'{type(self).__name__}({self.components()})'


class Motion(SixVector):
    """A twist or spatial acceleration (v, w): linear part at the frame's origin, angular part."""

    __slots__ = ()

    def dot(self, force: Force) -> Scalar:
        """Power v.f + w.tau of a force on a body with this twist [W]."""
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
        """Rows of the 4x4 matrix [w_x v; 0 0] of a twist; its matrix exponential is a pose ([RBM]).

        d/dt X_AB = X_AB hat(v) for the body twist v of B, and hat(v) X_AB for its spatial twist.
        """
        rows = zip(Matrix3.skew(self.angular), self.linear, strict=True)
        return [*([*turning, moving] for turning, moving in rows), [0.0] * 4]

    @classmethod
    def vee(cls, matrix: ArrayLike | Sequence[Sequence[Scalar]]) -> Motion:
        """Twist of a 4x4 matrix, the inverse of `hat`.

        If the upper left 3x3 block is not skew-symmetric, its skew-symmetric part is used.

        Args:
            matrix: rows of scalars, or an array (..., 4, 4).
        """
        rows: Any = split(matrix, (4, 4), 'matrix') if isinstance(matrix, np.ndarray) else matrix
        turning = Matrix3([row[:3] for row in rows[:3]])
        return cls(Vector3.of(row[3] for row in rows[:3]), turning.unskew())

    def cross_matrix(self) -> list[list[Scalar]]:
        """Rows of the 6x6 matrix of the map m -> v x m on motions ([SE3] 6)."""
        return matrix_of(Motion, lambda m: self.cross(m))

    def cross_force_matrix(self) -> list[list[Scalar]]:
        """Rows of the 6x6 matrix of the map f -> v x* f on forces ([SE3] 6).

        It is the negative transpose of `cross_matrix`.
        """
        return matrix_of(Force, lambda f: self.cross(f))


class Force(SixVector):
    """A wrench or spatial momentum (f, tau): force, and torque about the frame's origin."""

    __slots__ = ()

    def dot(self, motion: Motion) -> Scalar:
        """Power f.v + tau.w of this force on a body with the given twist [W]."""
        return motion.dot(self)


Domain = TypeVar('Domain', Motion, Force)


def matrix_of(
    domain: type[Domain], function: Callable[[Domain], Motion | Force]
) -> list[list[Scalar]]:
    """Rows of the 6x6 matrix of a linear map between motions or forces.

    Args:
        domain: the class of the argument, `Motion` or `Force`.
        function: the linear map.
    """
    units = [[1.0 if i == j else 0.0 for j in range(6)] for i in range(6)]
    columns = [function(domain.of(unit)).components() for unit in units]
    return [list(row) for row in zip(*columns)]


def shift_matrix(arm: Vector3, length: Scalar = 1.0) -> list[list[Scalar]]:
    """Rows of the 6x6 matrix [1 0; -l arm_x l], which moves the reference point of a wrench.

    Args:
        arm: vector from the reference point of the given wrench to that of the result.
        length: l, a factor for the torques of the result.
    """
    torques = Matrix3.skew(arm * -length)
    return [
        *([1.0 if i == j else 0.0 for j in range(6)] for i in range(3)),
        *([*row, *(length if i == j else 0.0 for j in range(3))] for i, row in enumerate(torques)),
    ]
