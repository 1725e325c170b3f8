# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Subproblems of inverse kinematics: rotations about fixed axes that solve equations [Elias2022].

Each subproblem has closed-form solutions. A rotation is stored as cosine and sine of its angle,
because all formulas use these; no angle is computed. If no rotation satisfies the equation, the
best approximation is returned; if all rotations do, the preferred one (``liked``) is returned.
"""

from __future__ import annotations

from typing import NamedTuple

from dynamics_ros.spatial import Scalar, Vector3
from dynamics_ros.spatial.scalar import sqrt, where_less

INDIFFERENT = 1e-24
"""Squared length of a lever below which a rotation has no effect [m^2, or of unit vectors]."""

BRACKETING = 24
"""Steps to the root of a cubic polynomial: Newton steps inside the bracket, else bisection."""

REFINING = 4
"""Newton steps to refine a point on the circle that has at least half of its digits."""

FLAT = 1e-26
"""Squared ratio of quadratic to linear terms below which a conic counts as a line."""


Conic = tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar]
"""Coefficients xx, xy, yy, x, y, one of xx c^2 + 2 xy c s + yy s^2 + 2 x c + 2 y s + one = 0."""


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


def turn_between(axis: Vector3, u: Vector3, w: Vector3, liked: Turn) -> Turn:
    """Rotation about an axis that moves u closest to w ([Elias2022] subproblem 1).

    Args:
        axis: unit vector.
        u: vector that is rotated.
        w: target of u.
        liked: result if u or w is parallel to the axis.
    """
    along = axis.dot(u) * axis.dot(w)
    return direction(u.dot(w) - along, axis.dot(u.cross(w)), liked)


def turns_to_plane(
    normal: Vector3, axis: Vector3, u: Vector3, distance: Scalar, liked: Turn
) -> tuple[Turn, Turn]:
    """Both rotations with normal . (rotated u) = distance ([Elias2022] subproblem 4).

    Args:
        normal: vector of any length.
        axis: unit vector.
        u: vector that is rotated about the axis.
        distance: desired product.
        liked: result if the rotation does not change the product.
    """
    along = axis * axis.dot(u)
    return turns_to_line(
        normal.dot(u - along), normal.dot(axis.cross(u)), distance - normal.dot(along), liked
    )


def turns_to_distance(
    axis: Vector3, u: Vector3, offset: Vector3, squared: Scalar, liked: Turn
) -> tuple[Turn, Turn]:
    """Both rotations with |rotated u + offset|^2 = squared ([Elias2022] subproblem 3)."""
    rest = 0.5 * (squared - u.dot(u) - offset.dot(offset))
    return turns_to_plane(offset, axis, u, rest, liked)


def turns_to_line(a: Scalar, b: Scalar, c: Scalar, liked: Turn) -> tuple[Turn, Turn]:
    """Both rotations with a cos + b sin = c: the intersections of a line and the unit circle."""
    squared = a * a + b * b
    foot = direction(a, b, liked)
    half = sqrt(_at_least(squared - c * c, 0.0))
    # If the line does not intersect the circle, this is the point nearest to it.
    away = direction(c, half, Turn(1.0, 0.0))
    return foot.after(away), foot.after(away.inverse())


def turns_to_conic(conic: Conic, liked: Turn) -> list[Turn]:
    """Rotations whose cosine c and sine s lie on a conic: at most four.

    The conic plus any multiple of the unit circle contains the same intersection points. For one
    multiple it is a pair of lines. That multiple is the root of a cubic polynomial, which always
    lies between the multiples that make the conic a parabola. Each line intersects the circle
    twice.

    Args:
        conic: coefficients xx, xy, yy, x, y, one.
        liked: result if all rotations lie on the conic.

    Returns:
        Four rotations; if there are fewer solutions, the others are repeated or not on the conic.
    """
    xx, xy, yy, x, y, one = conic
    # In principal axes of the conic: a c^2 + b s^2 + 2 d c + 2 e s + f, with a >= b.
    axes = _half(direction(xx - yy, 2.0 * xy, Turn(1.0, 0.0)))
    mean, radius = 0.5 * (xx + yy), 0.5 * sqrt((xx - yy) * (xx - yy) + 4.0 * xy * xy)
    d = axes.cos * x + axes.sin * y
    e = axes.cos * y - axes.sin * x
    delta = 2.0 * radius
    linear = d * d + e * e + one * one
    is_flat = where_less(FLAT * (linear + mean * mean), delta * delta, 0.0, 1.0)
    scale = 1.0 / where_less(0.5, is_flat, 1.0, delta)
    d, e, g = d * scale, e * scale, (one + mean + radius) * scale

    # With the coefficients p of c^2 and -n = p - 1 of s^2: p (c + d/p)^2 = n (s - e/n)^2.
    p = _bracketed_root(d * d, e * e, g)
    n = 1.0 - p
    far_p = where_less(p, 0.5, 0.0, 1.0)
    root_p, root_n = sqrt(_at_least(p, 0.0)), sqrt(_at_least(n, 0.0))
    safe_p, safe_n = where_less(p, 0.5, 1.0, root_p), where_less(p, 0.5, root_n, 1.0)
    # One of d / root_p and e / root_n may be 0 / 0; it is then computed from the other.
    direct_d, direct_e = d / safe_p, e / safe_n
    rest = g - p
    implied_d = _signed(sqrt(_at_least(direct_e * direct_e + rest, 0.0)), d)
    implied_e = _signed(sqrt(_at_least(direct_d * direct_d - rest, 0.0)), e)
    shift_d = far_p * direct_d + (1.0 - far_p) * implied_d
    shift_e = far_p * implied_e + (1.0 - far_p) * direct_e
    found: list[Turn] = []
    for sign in (1.0, -1.0):
        first = where_less(0.5, is_flat, 2.0 * d, root_p)
        second = where_less(0.5, is_flat, 2.0 * e, -sign * root_n)
        third = where_less(0.5, is_flat, -(one + mean), -shift_d - sign * shift_e)
        found += turns_to_line(first, second, third, axes.inverse().after(liked))
    return [_refined(axes.after(turn), conic) for turn in found]


def direction(x: Scalar, y: Scalar, liked: Turn) -> Turn:
    """Rotation from the x axis to the point (x, y); ``liked`` at the origin."""
    squared = x * x + y * y
    scale = 1.0 / sqrt(where_less(squared, INDIFFERENT, 1.0, squared))
    return Turn(
        where_less(squared, INDIFFERENT, liked.cos, x * scale),
        where_less(squared, INDIFFERENT, liked.sin, y * scale),
    )


def _bracketed_root(dd: Scalar, ee: Scalar, g: Scalar) -> Scalar:
    """A root in [0, 1] of dd (1 - p) - ee p - (g - p) p (1 - p)."""
    # The polynomial is not negative at 0 and not positive at 1.
    low: Scalar = 0.0
    high: Scalar = 1.0
    p: Scalar = 0.5
    total = dd + ee + g
    for i in range(BRACKETING):
        # p^3 coefficient -1, p^2 coefficient g + 1, p^1 coefficient -(dd + ee + g).
        value = dd + p * (p * ((g + 1.0) - p) - total)
        slope = p * (2.0 * (g + 1.0) - 3.0 * p) - total
        low = where_less(value, 0.0, low, p)
        high = where_less(value, 0.0, p, high)
        newton = p - value / where_less(slope * slope, 1e-300, 1.0, slope)
        # If the root is an end of the bracket, Newton steps may miss it by rounding.
        below, above = (low, high) if i % 2 else (0.5 * (low + high),) * 2
        p = where_less(newton, low, below, where_less(high, newton, above, newton))
    return p


def _refined(turn: Turn, conic: Conic) -> Turn:
    """A rotation after Newton steps along the circle; unchanged where the slope is zero."""
    xx, xy, yy, x, y, one = conic
    for _ in range(REFINING):
        c, s = turn
        first, second = xx * c + xy * s + x, xy * c + yy * s + y
        value = c * (first + x) + s * (second + y) + one
        slope = 2.0 * (c * second - s * first)
        step = value / where_less(slope * slope, 1e-300, 1.0, slope)
        # At a double root the slope is zero, and a long step is due to rounding.
        step = where_less(step * step, 1e-6, step, 0.0)
        turn = direction(c + step * s, s - step * c, turn)
    return turn


def _half(turn: Turn) -> Turn:
    """Rotation by half the angle, between minus and plus a quarter turn."""
    c, s = turn
    far = where_less(c, 0.0, -c, c)
    larger = sqrt(0.5 * (1.0 + far))
    smaller = 0.5 * s / larger
    sign = where_less(s, 0.0, -1.0, 1.0)
    return Turn(
        where_less(c, 0.0, smaller * sign, larger), where_less(c, 0.0, larger * sign, smaller)
    )


def _signed(magnitude: Scalar, sign: Scalar) -> Scalar:
    return where_less(sign, 0.0, -magnitude, magnitude)


def _at_least(x: Scalar, bound: float) -> Scalar:
    return where_less(x, bound, bound, x)
