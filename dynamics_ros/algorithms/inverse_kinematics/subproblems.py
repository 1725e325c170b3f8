# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Subproblems of inverse kinematics: rotations about fixed axes that solve equations [Elias2022].

Each subproblem has closed-form solutions. A rotation is stored as cosine and sine of its angle,
because all formulas use these; no angle is computed. If no rotation satisfies the equation, the
best approximation is returned; if all rotations do, the preferred one (``preferred``) is returned.
"""

from __future__ import annotations

from typing import NamedTuple

from dynamics_ros.spatial import Scalar, Vector3
from dynamics_ros.spatial.scalar import larger, sqrt, where_less

MIN_SQUARED_LEVER = 1e-24
"""Squared length of a lever below which a rotation has no effect [m^2, or of unit vectors]."""


class Turn(NamedTuple):
    """Cosine and sine of a rotation about an axis that is stored elsewhere."""

    cos: Scalar
    sin: Scalar

    def apply(self, axis: Vector3, v: Vector3) -> Vector3:
        """v rotated about a unit axis, by Rodrigues' formula, [RD] eq. 2.48."""
        along = axis * axis.dot(v)
        return along + (v - along) * self.cos + axis.cross(v) * self.sin

    def undo(self, axis: Vector3, v: Vector3) -> Vector3:
        """v rotated about a unit axis by the inverse rotation."""
        return self.inverse().apply(axis, v)

    def inverse(self) -> Turn:
        """The inverse rotation."""
        return Turn(self.cos, -self.sin)

    def after(self, other: Turn) -> Turn:
        """Composition of two rotations about the same axis."""
        return Turn(
            self.cos * other.cos - self.sin * other.sin,
            self.sin * other.cos + self.cos * other.sin,
        )


def turn_between(axis: Vector3, u: Vector3, w: Vector3, preferred: Turn) -> Turn:
    """Rotation about an axis that moves u closest to w ([Elias2022] subproblem 1).

    Args:
        axis: unit vector.
        u: vector that is rotated.
        w: target of u.
        preferred: result if u or w is parallel to the axis.
    """
    along = axis.dot(u) * axis.dot(w)
    return direction(u.dot(w) - along, axis.dot(u.cross(w)), preferred)


def turns_to_plane(
    normal: Vector3, axis: Vector3, u: Vector3, distance: Scalar, preferred: Turn
) -> tuple[Turn, Turn]:
    """Both rotations with normal . (rotated u) = distance ([Elias2022] subproblem 4).

    Args:
        normal: vector of any length.
        axis: unit vector.
        u: vector that is rotated about the axis.
        distance: desired product.
        preferred: result if the rotation does not change the product.
    """
    along = axis * axis.dot(u)
    return turns_to_line(
        normal.dot(u - along), normal.dot(axis.cross(u)), distance - normal.dot(along), preferred
    )


def turns_to_distance(
    axis: Vector3, u: Vector3, offset: Vector3, squared: Scalar, preferred: Turn
) -> tuple[Turn, Turn]:
    """Both rotations with |rotated u + offset|^2 = squared ([Elias2022] subproblem 3)."""
    rest = 0.5 * (squared - u.dot(u) - offset.dot(offset))
    return turns_to_plane(offset, axis, u, rest, preferred)


def turns_to_line(a: Scalar, b: Scalar, c: Scalar, preferred: Turn) -> tuple[Turn, Turn]:
    """Both rotations with a cos + b sin = c: the intersections of a line and the unit circle."""
    squared = a * a + b * b
    foot = direction(a, b, preferred)
    # If the line does not intersect the circle, the result is the point nearest to it.
    half = sqrt(larger(squared - c * c, 0.0))
    away = direction(c, half, Turn(1.0, 0.0))
    return foot.after(away), foot.after(away.inverse())


def direction(x: Scalar, y: Scalar, preferred: Turn) -> Turn:
    """Rotation from the x axis to the point (x, y); ``preferred`` at the origin."""
    squared = x * x + y * y
    scale = 1.0 / sqrt(where_less(squared, MIN_SQUARED_LEVER, 1.0, squared))
    return Turn(
        where_less(squared, MIN_SQUARED_LEVER, preferred.cos, x * scale),
        where_less(squared, MIN_SQUARED_LEVER, preferred.sin, y * scale),
    )
