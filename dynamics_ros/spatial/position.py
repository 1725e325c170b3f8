# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Positions in Cartesian, cylindrical and spherical coordinates, and their rates ([RD] 2.2, 2.3).

The coordinates are orthogonal: unit parameter rates are velocities along orthogonal unit vectors
e_i with scale factors h_i. E_P has the columns h_i e_i, and its inverse the rows e_i / h_i.

On the z axis the azimuth is undefined and set to 0 (`atan2` of the origin). The map from velocities
to rates is singular there: it raises a `SingularParametrizationError` for numbers, and gives inf or
NaN in a trace.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from dynamics_ros.errors import SingularParametrizationError

from .over_arrays import over_arrays_method
from .scalar import Scalar, atan2, cos, refuse_less, sin, sqrt
from .vector import Matrix3, Vector3

MIN_RADIUS = 1e-12
"""Distance [m] from the z axis below which the rate of the azimuth counts as undefined."""


class PositionParametrization(ABC):
    """Parametrization of positions by three numbers. Every method takes arrays (..., 3), too.

    Attributes:
        name: cartesian, cylindrical or spherical.
        parameters: names of the three parameters.
    """

    name: str
    parameters: tuple[str, str, str]

    @over_arrays_method
    def to_cartesian(self, p: Vector3) -> Vector3:
        """Position vector r [m] of the parameters, [RD] eq. 2.4, 2.6, 2.8."""
        return self._position(p)

    @over_arrays_method
    def from_cartesian(self, r: Vector3) -> Vector3:
        """Parameters of a position vector r [m]."""
        return self._parameters(r)

    @over_arrays_method
    def rate_map(self, p: Vector3) -> Matrix3:
        """E_P, which maps rates to the velocity [m/s], [RD] eq. 2.10, 2.12, 2.15, 2.16."""
        directions, scales = self._directions(p)
        return Matrix3([e * h for e, h in zip(directions, scales)]).T

    @over_arrays_method
    def rate_map_inverse(self, p: Vector3) -> Matrix3:
        """E_P^-1, which maps the velocity [m/s] to rates, [RD] eq. 2.11, 2.12, 2.14, 2.17.

        Raises:
            SingularParametrizationError: the velocity does not determine the rates.
        """
        directions, scales = self._directions(p)
        where = 'the point is on the z axis, where the rate of the azimuth is undefined'
        for h in scales:
            refuse_less(
                h * h, MIN_RADIUS**2, lambda: SingularParametrizationError(self.name, where)
            )
        return Matrix3([e * (1.0 / h) for e, h in zip(directions, scales)])

    @abstractmethod
    def _position(self, p: Vector3) -> Vector3: ...

    @abstractmethod
    def _parameters(self, r: Vector3) -> Vector3: ...

    @abstractmethod
    def _directions(self, p: Vector3) -> tuple[Matrix3, tuple[Scalar, Scalar, Scalar]]:
        """Rows e_i, and h_i."""

    def __repr__(self) -> str:
        return self.name.upper()


class Cartesian(PositionParametrization):
    """(x, y, z) [m], [RD] eq. 2.3."""

    name = 'cartesian'
    parameters = ('x', 'y', 'z')

    def _position(self, p: Vector3) -> Vector3:
        return p

    def _parameters(self, r: Vector3) -> Vector3:
        return r

    def _directions(self, p: Vector3) -> tuple[Matrix3, tuple[Scalar, Scalar, Scalar]]:
        return Matrix3.identity(), (1.0, 1.0, 1.0)


class Cylindrical(PositionParametrization):
    """(rho, theta, z): distance from the z axis [m], azimuth from the x axis [rad], height [m].

    rho >= 0 and theta in [-pi, pi]. Singular on the z axis, rho = 0, where theta and its rate are
    undefined.
    """

    name = 'cylindrical'
    parameters = ('rho', 'theta', 'z')

    def _position(self, p: Vector3) -> Vector3:
        rho, theta, z = p
        return Vector3(rho * cos(theta), rho * sin(theta), z)

    def _parameters(self, r: Vector3) -> Vector3:
        return Vector3(sqrt(r.x * r.x + r.y * r.y), atan2(r.y, r.x), r.z)

    def _directions(self, p: Vector3) -> tuple[Matrix3, tuple[Scalar, Scalar, Scalar]]:
        c, s = cos(p[1]), sin(p[1])
        return Matrix3(((c, s, 0.0), (-s, c, 0.0), (0.0, 0.0, 1.0))), (1.0, p[0], 1.0)


class Spherical(PositionParametrization):
    """(r, theta, phi): distance [m], azimuth about z from x [rad], polar angle from z [rad].

    Symbols as in [RD] eq. 2.7: theta in [-pi, pi] is the azimuth, phi in [0, pi] the polar angle.
    Singular on the z axis, r sin(phi) = 0, where theta and its rate are undefined; at the origin
    phi is undefined, too. Undefined angles are 0.
    """

    name = 'spherical'
    parameters = ('r', 'theta', 'phi')

    def _position(self, p: Vector3) -> Vector3:
        directions, _ = self._directions(p)
        return directions.rows[0] * p[0]

    def _parameters(self, r: Vector3) -> Vector3:
        rho = sqrt(r.x * r.x + r.y * r.y)
        return Vector3(r.norm(), atan2(r.y, r.x), atan2(rho, r.z))

    def _directions(self, p: Vector3) -> tuple[Matrix3, tuple[Scalar, Scalar, Scalar]]:
        r, theta, phi = p
        c, s, cp, sp = cos(theta), sin(theta), cos(phi), sin(phi)
        directions = Matrix3(((c * sp, s * sp, cp), (-s, c, 0.0), (c * cp, s * cp, -sp)))
        return directions, (1.0, r * sp, r)


CARTESIAN = Cartesian()
"""x, y, z."""

CYLINDRICAL = Cylindrical()
"""Distance from the z axis, angle about it, z."""

SPHERICAL = Spherical()
"""Distance from the origin, angle about z, angle from z."""

POSITIONS: dict[str, PositionParametrization] = {
    p.name: p for p in (CARTESIAN, CYLINDRICAL, SPHERICAL)
}
"""All parametrizations of positions by name."""
