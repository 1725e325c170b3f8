# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The inertia of a rigid body as the triplet (m, c, I) of [SE3] 5."""

from __future__ import annotations

from collections.abc import Iterable

from numpy.typing import ArrayLike

from .arrays import Array, split, stack
from .motion import Force, Motion, matrix_of
from .scalar import Scalar, where_less
from .vector import Matrix3, Vector3

SMALLEST_MASS = 1e-300
"""Below it [kg] a first moment gives no centre."""


class Inertia:
    """Mass m, centre of mass c, and inertia I about that centre in the axes of the frame."""

    __slots__ = ('center', 'mass', 'rotational')

    def __init__(self, mass: Scalar, center: Vector3, rotational: Matrix3) -> None:
        self.mass = mass
        self.center = center
        self.rotational = rotational

    @classmethod
    def zero(cls) -> Inertia:
        """A massless body."""
        return cls(0.0, Vector3.zero(), Matrix3.zero())

    @classmethod
    def of_parameters(cls, parameters: Iterable[Scalar]) -> Inertia:
        """The inertia of its ten `parameters`; of a massless one the centre is the origin."""
        mass, hx, hy, hz, xx, xy, yy, xz, yz, zz = parameters
        none = where_less(mass, SMALLEST_MASS, 1.0, 0.0)
        center = Vector3(hx, hy, hz) * ((1.0 - none) / (mass + none))
        origin = Matrix3(((xx, xy, xz), (xy, yy, yz), (xz, yz, zz)))
        return cls(mass, center, origin - _parallel_axis(center) * mass)

    @classmethod
    def from_array(cls, array: ArrayLike) -> Inertia:
        """The inertia, or the inertias at once, of the ten parameters (..., 10)."""
        return cls.of_parameters(split(array, (10,), 'inertia'))

    def array(self) -> Array:
        """The ten parameters (..., 10)."""
        return stack(self.parameters())

    def matrix(self) -> list[list[Scalar]]:
        """The 6x6 matrix of v -> Y v ([SE3] 5.1)."""
        return matrix_of(Motion, self.__matmul__)

    def __matmul__(self, motion: Motion) -> Force:
        """Y v: the momentum of a twist, or the force of an acceleration ([SE3] 5.1)."""
        c, w = self.center, motion.angular
        f = (motion.linear - c.cross(w)) * self.mass
        return Force(f, c.cross(f) + self.rotational @ w)

    def bias_force(self, motion: Motion) -> Force:
        """v x* Y v, in the form of five cross products ([SE3] 6, last equation)."""
        v, w, c = motion.linear, motion.angular, self.center
        beta = c.cross(w) * self.mass
        momentum = v * self.mass - beta
        return Force(
            w.cross(momentum),
            w.cross(c.cross(momentum) + self.rotational @ w) - v.cross(beta),
        )

    def __add__(self, other: Inertia) -> Inertia:
        """Both bodies as one ([SE3] 5.2): the parallel axis theorem about the common centre."""
        mass = self.mass + other.mass
        if _is_zero(mass):
            return Inertia(0.0, self.center, self.rotational + other.rotational)
        # Symbols may turn out to be zero; then the centre is the origin.
        none = where_less(mass, SMALLEST_MASS, 1.0, 0.0)
        inverse = (1.0 - none) / (mass + none)
        center = (self.center * self.mass + other.center * other.mass) * inverse
        rotational = self.rotational + other.rotational
        reduced = self.mass * other.mass * inverse
        parallel = _parallel_axis(self.center - other.center)
        return Inertia(mass, center, rotational + parallel * reduced)

    def about_origin(self) -> Matrix3:
        """Rotational inertia about the frame's origin, I - m c_x c_x."""
        return self.rotational + _parallel_axis(self.center) * self.mass

    def parameters(self) -> list[Scalar]:
        """The ten in which dynamics is linear: m, m c, Ixx Ixy Iyy Ixz Iyz Izz about the origin."""
        origin = self.about_origin()
        pairs = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))
        return [self.mass, *(self.center * self.mass), *(origin[pair] for pair in pairs)]

    def __repr__(self) -> str:
        return f'Inertia({self.mass}, {self.center}, {self.rotational})'


def _parallel_axis(arm: Vector3) -> Matrix3:
    """-arm_x arm_x: the inertia of a unit mass at the end of an arm."""
    return Matrix3.identity() * arm.dot(arm) - Matrix3.outer(arm, arm)


def _is_zero(mass: Scalar) -> bool:
    """A symbolic mass is never zero for sure."""
    return isinstance(mass, (int, float)) and mass == 0.0
