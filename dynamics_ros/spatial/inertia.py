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

MIN_MASS = 1e-300
"""Mass [kg] below which a body counts as massless: its centre of mass is set to the origin."""


class Inertia:
    """Mass m [kg], centre of mass c [m], rotational inertia I about c [kg m^2], in one frame."""

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
        """Inertia with the given ten `parameters`; the centre of a massless body is the origin."""
        mass, hx, hy, hz, xx, xy, yy, xz, yz, zz = parameters
        massless = where_less(mass, MIN_MASS, 1.0, 0.0)
        center = Vector3(hx, hy, hz) * ((1.0 - massless) / (mass + massless))
        origin = Matrix3(((xx, xy, xz), (xy, yy, yz), (xz, yz, zz)))
        return cls(mass, center, origin - _parallel_axis(center) * mass)

    @classmethod
    def from_array(cls, array: ArrayLike) -> Inertia:
        """Inertia with the ten `parameters` (..., 10); leading axes make its numbers arrays."""
        return cls.of_parameters(split(array, (10,), 'inertia'))

    def array(self) -> Array:
        """The ten `parameters` as an array (..., 10)."""
        return stack(self.parameters())

    def matrix(self) -> list[list[Scalar]]:
        """Rows of the 6x6 matrix Y of this inertia, linear part first ([SE3] 5.1)."""
        return matrix_of(Motion, self.__matmul__)

    def __matmul__(self, motion: Motion) -> Force:
        """Y v: the momentum of a twist, or the force of a spatial acceleration ([SE3] 5.1)."""
        c, w = self.center, motion.angular
        f = (motion.linear - c.cross(w)) * self.mass
        return Force(f, c.cross(f) + self.rotational @ w)

    def bias_force(self, motion: Motion) -> Force:
        """Bias force v x* Y v of a twist v, by five cross products ([SE3] 6, last equation)."""
        v, w, c = motion.linear, motion.angular, self.center
        beta = c.cross(w) * self.mass
        momentum = v * self.mass - beta
        return Force(
            w.cross(momentum),
            w.cross(c.cross(momentum) + self.rotational @ w) - v.cross(beta),
        )

    def __add__(self, other: Inertia) -> Inertia:
        """Inertia of two rigidly connected bodies, by the parallel axis theorem ([SE3] 5.2)."""
        mass = self.mass + other.mass
        if _is_zero(mass):
            return Inertia(0.0, self.center, self.rotational + other.rotational)
        # A symbolic mass may be zero at run time; then the centre is set to the origin.
        massless = where_less(mass, MIN_MASS, 1.0, 0.0)
        inverse = (1.0 - massless) / (mass + massless)
        center = (self.center * self.mass + other.center * other.mass) * inverse
        rotational = self.rotational + other.rotational
        reduced = self.mass * other.mass * inverse
        parallel = _parallel_axis(self.center - other.center)
        return Inertia(mass, center, rotational + parallel * reduced)

    def about_origin(self) -> Matrix3:
        """Rotational inertia about the origin of the frame, I - m c_x c_x [kg m^2]."""
        return self.rotational + _parallel_axis(self.center) * self.mass

    def parameters(self) -> list[Scalar]:
        """The ten inertial parameters, in which the dynamics are linear.

        In order: m, the first moment m c (3), and Ixx Ixy Iyy Ixz Iyz Izz about the origin.
        """
        origin = self.about_origin()
        pairs = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))
        return [self.mass, *(self.center * self.mass), *(origin[pair] for pair in pairs)]

    def __repr__(self) -> str:
        return f'Inertia({self.mass}, {self.center}, {self.rotational})'


def _parallel_axis(arm: Vector3) -> Matrix3:
    """-arm_x arm_x: rotational inertia about the origin of a unit point mass at ``arm``."""
    return Matrix3.identity() * arm.dot(arm) - Matrix3.outer(arm, arm)


def _is_zero(mass: Scalar) -> bool:
    """Whether a mass is the number zero; a symbol has no number, so it is not."""
    return isinstance(mass, (int, float)) and mass == 0.0
