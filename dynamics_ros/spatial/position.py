# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Positions in Cartesian, cylindrical and spherical coordinates, and their rates ([RD] 2.2, 2.3).

On the z axis the azimuth is undefined and set to 0 (`atan2` of the origin). The map from velocities
to rates is singular there: it raises a `SingularParametrizationError` for numbers, and gives inf or
NaN in a trace.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

from dynamics_ros.errors import SingularParametrizationError

from .over_arrays import over_arrays_method
from .scalar import atan2, cos, refuse_less, sin, sqrt
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
    @abstractmethod
    def to_cartesian(self, p: Vector3) -> Vector3:
        """Position vector r [m] of the parameters."""

    @over_arrays_method
    @abstractmethod
    def from_cartesian(self, r: Vector3) -> Vector3:
        """Parameters of a position vector r [m]."""

    @over_arrays_method
    @abstractmethod
    def rate_map(self, p: Vector3) -> Matrix3:
        """E_P, which maps rates of the parameters to the velocity [m/s], [RD] eq. 2.10."""

    @over_arrays_method
    @abstractmethod
    def rate_map_inverse(self, p: Vector3) -> Matrix3:
        """E_P^-1, which maps the velocity [m/s] to rates of the parameters, [RD] eq. 2.11.

        Raises:
            SingularParametrizationError: the velocity does not determine the rates.
        """

    def __repr__(self) -> str:
        return self.name.upper()


class Cartesian(PositionParametrization):
    """(x, y, z) [m], [RD] eq. 2.3."""

    name = 'cartesian'
    parameters = ('x', 'y', 'z')

    @over_arrays_method
    def to_cartesian(self, p: Vector3) -> Vector3:
        """Position vector r = p, [RD] eq. 2.4."""
        return p

    @over_arrays_method
    def from_cartesian(self, r: Vector3) -> Vector3:
        """Parameters p = r, [RD] eq. 2.4."""
        return r

    @over_arrays_method
    def rate_map(self, p: Vector3) -> Matrix3:
        """The identity, [RD] eq. 2.12."""
        return Matrix3.identity()

    @over_arrays_method
    def rate_map_inverse(self, p: Vector3) -> Matrix3:
        """The identity, [RD] eq. 2.12."""
        return Matrix3.identity()


class Cylindrical(PositionParametrization):
    """(rho, theta, z): distance from the z axis [m], azimuth from the x axis [rad], height [m].

    Singular on the z axis, rho = 0, where theta and its rate are undefined.
    """

    name = 'cylindrical'
    parameters = ('rho', 'theta', 'z')

    @over_arrays_method
    def to_cartesian(self, p: Vector3) -> Vector3:
        """Position vector [m], [RD] eq. 2.6."""
        rho, theta, z = p
        return Vector3(rho * cos(theta), rho * sin(theta), z)

    @over_arrays_method
    def from_cartesian(self, r: Vector3) -> Vector3:
        """Parameters with rho >= 0 and theta in [-pi, pi]; theta is 0 on the z axis."""
        return Vector3(sqrt(r.x * r.x + r.y * r.y), atan2(r.y, r.x), r.z)

    @over_arrays_method
    def rate_map(self, p: Vector3) -> Matrix3:
        """E_P, [RD] eq. 2.15."""
        rho, theta, _ = p
        c, s = cos(theta), sin(theta)
        return Matrix3(((c, -(rho * s), 0.0), (s, rho * c, 0.0), (0.0, 0.0, 1.0)))

    @over_arrays_method
    def rate_map_inverse(self, p: Vector3) -> Matrix3:
        """E_P^-1, [RD] eq. 2.14.

        Raises:
            SingularParametrizationError: a point on the z axis.
        """
        rho, theta, _ = p
        refuse_less(rho * rho, MIN_RADIUS**2, lambda: _on_axis(self))
        c, s = cos(theta), sin(theta)
        return Matrix3(((c, s, 0.0), (-(s / rho), c / rho, 0.0), (0.0, 0.0, 1.0)))


class Spherical(PositionParametrization):
    """(r, theta, phi): distance [m], azimuth about z from x [rad], polar angle from z [rad].

    Symbols as in [RD] eq. 2.7: theta is the azimuth, phi the polar angle. Singular on the z axis,
    r sin(phi) = 0, where theta and its rate are undefined; at the origin phi is undefined, too.
    """

    name = 'spherical'
    parameters = ('r', 'theta', 'phi')

    @over_arrays_method
    def to_cartesian(self, p: Vector3) -> Vector3:
        """Position vector [m], [RD] eq. 2.8."""
        r, theta, phi = p
        rho = r * sin(phi)
        return Vector3(rho * cos(theta), rho * sin(theta), r * cos(phi))

    @over_arrays_method
    def from_cartesian(self, r: Vector3) -> Vector3:
        """Parameters r >= 0, theta in [-pi, pi], phi in [0, pi]; undefined angles are 0."""
        rho = sqrt(r.x * r.x + r.y * r.y)
        return Vector3(r.norm(), atan2(r.y, r.x), atan2(rho, r.z))

    @over_arrays_method
    def rate_map(self, p: Vector3) -> Matrix3:
        """E_P, [RD] eq. 2.16."""
        r, theta, phi = p
        c, s, cp, sp = cos(theta), sin(theta), cos(phi), sin(phi)
        rho, height = r * sp, r * cp
        return Matrix3(
            ((c * sp, -(rho * s), height * c), (s * sp, rho * c, height * s), (cp, 0.0, -rho))
        )

    @over_arrays_method
    def rate_map_inverse(self, p: Vector3) -> Matrix3:
        """E_P^-1, [RD] eq. 2.17.

        Raises:
            SingularParametrizationError: a point on the z axis.
        """
        r, theta, phi = p
        c, s, cp, sp = cos(theta), sin(theta), cos(phi), sin(phi)
        rho = r * sp
        refuse_less(rho * rho, MIN_RADIUS**2, lambda: _on_axis(self))
        return Matrix3(
            (
                (c * sp, s * sp, cp),
                (-(s / rho), c / rho, 0.0),
                (cp * c / r, cp * s / r, -(sp / r)),
            )
        )


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


def _on_axis(parametrization: PositionParametrization) -> SingularParametrizationError:
    return SingularParametrizationError(
        parametrization.name,
        'the point is on the z axis, where the rate of the azimuth is undefined',
    )
