"""The inertia of a rigid body as the triplet (m, c, I) of [SE3] 5."""

from __future__ import annotations

from .motion import Force, Motion
from .scalar import Scalar
from .vector import Matrix3, Vector3


class Inertia:
    """Mass m, centre of mass c in the frame, and inertia I about the centre, in the frame's axes."""

    __slots__ = ('center', 'mass', 'rotational')

    def __init__(self, mass: Scalar, center: Vector3, rotational: Matrix3) -> None:
        self.mass = mass
        self.center = center
        self.rotational = rotational

    @classmethod
    def zero(cls) -> Inertia:
        """A massless body."""
        return cls(0.0, Vector3.zero(), Matrix3.zero())

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
        center = (self.center * self.mass + other.center * other.mass) * (1.0 / mass)
        rotational = self.rotational + other.rotational
        arm = self.center - other.center
        reduced = self.mass * other.mass * (1.0 / mass)
        parallel = Matrix3.identity() * arm.dot(arm) - Matrix3.outer(arm, arm)
        return Inertia(mass, center, rotational + parallel * reduced)

    def about_origin(self) -> Matrix3:
        """Rotational inertia about the frame's origin, I - m c_x c_x."""
        c = self.center
        shift = Matrix3.identity() * c.dot(c) - Matrix3.outer(c, c)
        return self.rotational + shift * self.mass

    def parameters(self) -> list[Scalar]:
        """The ten in which dynamics is linear: m, m c, Ixx Ixy Iyy Ixz Iyz Izz about the origin."""
        origin = self.about_origin()
        pairs = ((0, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 2))
        return [self.mass, *(self.center * self.mass), *(origin[pair] for pair in pairs)]

    def __repr__(self) -> str:
        return f'Inertia({self.mass}, {self.center}, {self.rotational})'


def _is_zero(mass: Scalar) -> bool:
    """A symbolic mass is never zero for sure."""
    return isinstance(mass, (int, float)) and mass == 0.0
