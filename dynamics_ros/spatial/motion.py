"""Motion and force vectors, linear part first, and their products ([SE3] 3, 4 and 6).

The order inside a 6-vector is known to this file alone.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import overload

from .scalar import Scalar
from .vector import Vector3


class Motion:
    """A twist or spatial acceleration (v, w): linear part at the frame's origin, angular part."""

    __slots__ = ('angular', 'linear')

    def __init__(self, linear: Vector3, angular: Vector3) -> None:
        self.linear = linear
        self.angular = angular

    @classmethod
    def zero(cls) -> Motion:
        """No motion."""
        return cls(Vector3.zero(), Vector3.zero())

    @classmethod
    def of(cls, components: Iterable[Scalar]) -> Motion:
        """The motion of six components (vx, vy, vz, wx, wy, wz)."""
        vx, vy, vz, wx, wy, wz = components
        return cls(Vector3(vx, vy, vz), Vector3(wx, wy, wz))

    def components(self) -> list[Scalar]:
        """The six components (vx, vy, vz, wx, wy, wz)."""
        return [*self.linear, *self.angular]

    def __add__(self, other: Motion) -> Motion:
        return Motion(self.linear + other.linear, self.angular + other.angular)

    def __sub__(self, other: Motion) -> Motion:
        return Motion(self.linear - other.linear, self.angular - other.angular)

    def __neg__(self) -> Motion:
        return Motion(-self.linear, -self.angular)

    def __mul__(self, factor: Scalar) -> Motion:
        return Motion(self.linear * factor, self.angular * factor)

    __rmul__ = __mul__

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

    def __repr__(self) -> str:
        return f'Motion({self.components()})'


class Force:
    """A wrench or momentum (f, tau): force, and torque about the frame's origin."""

    __slots__ = ('angular', 'linear')

    def __init__(self, linear: Vector3, angular: Vector3) -> None:
        self.linear = linear
        self.angular = angular

    @classmethod
    def zero(cls) -> Force:
        """No force."""
        return cls(Vector3.zero(), Vector3.zero())

    @classmethod
    def of(cls, components: Iterable[Scalar]) -> Force:
        """The force of six components (fx, fy, fz, tx, ty, tz)."""
        fx, fy, fz, tx, ty, tz = components
        return cls(Vector3(fx, fy, fz), Vector3(tx, ty, tz))

    def components(self) -> list[Scalar]:
        """The six components (fx, fy, fz, tx, ty, tz)."""
        return [*self.linear, *self.angular]

    def __add__(self, other: Force) -> Force:
        return Force(self.linear + other.linear, self.angular + other.angular)

    def __sub__(self, other: Force) -> Force:
        return Force(self.linear - other.linear, self.angular - other.angular)

    def __neg__(self) -> Force:
        return Force(-self.linear, -self.angular)

    def __mul__(self, factor: Scalar) -> Force:
        return Force(self.linear * factor, self.angular * factor)

    __rmul__ = __mul__

    def __repr__(self) -> str:
        return f'Force({self.components()})'
