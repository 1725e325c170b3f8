# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Turns about fixed axes that meet a condition: the subproblems of inverse kinematics [Elias2022].

Each has its solutions in closed form. A turn is kept as the cosine and sine of its angle, which the
formulas give and take; no angle is computed on the way. Where no turn meets the condition, the one
that comes nearest to it is returned, and where all do, the one that is asked for.
"""

from __future__ import annotations

from typing import NamedTuple

from dynamics_ros.spatial import Scalar, Vector3
from dynamics_ros.spatial.scalar import sqrt, where_less

INDIFFERENT = 1e-24
"""Squared lever [m^2, or of unit vectors] below which a turn changes nothing but rounding."""

BRACKETING = 24
"""Steps to the root of a bracketed cubic: Newton's where they stay inside, else halvings."""

REFINING = 4
"""Newton steps for a point on a circle, which is right to half of the digits at least."""

FLAT = 1e-26
"""Squared ratio of curved to linear terms below which a conic is a line."""


Conic = tuple[Scalar, Scalar, Scalar, Scalar, Scalar, Scalar]
"""xx, xy, yy, x, y, one of xx c^2 + 2 xy c s + yy s^2 + 2 x c + 2 y s + one = 0."""


class Turn(NamedTuple):
    """A rotation about an axis that the context knows."""

    cos: Scalar
    sin: Scalar

    def apply(self, axis: Vector3, v: Vector3) -> Vector3:
        """A vector turned about a unit axis: Rodrigues' formula, [RD] eq. 2.48."""
        along = axis * axis.dot(v)
        return along + (v - along) * self.cos + axis.cross(v) * self.sin

    def undo(self, axis: Vector3, v: Vector3) -> Vector3:
        """A vector turned the other way."""
        return self.inverse().apply(axis, v)

    def inverse(self) -> Turn:
        """The turn back."""
        return Turn(self.cos, -self.sin)

    def after(self, other: Turn) -> Turn:
        """Both turns about one axis."""
        return Turn(
            self.cos * other.cos - self.sin * other.sin,
            self.sin * other.cos + self.cos * other.sin,
        )


def turn_between(axis: Vector3, u: Vector3, w: Vector3, liked: Turn) -> Turn:
    """The turn about a unit axis that takes u nearest to w: subproblem 1 of [Elias2022].

    Args:
        axis: unit vector.
        u: what is turned.
        w: where it should come to.
        liked: the answer where u or w lies along the axis.
    """
    along = axis.dot(u) * axis.dot(w)
    return direction(u.dot(w) - along, axis.dot(u.cross(w)), liked)


def turns_to_plane(
    normal: Vector3, axis: Vector3, u: Vector3, distance: Scalar, liked: Turn
) -> tuple[Turn, Turn]:
    """Both turns with normal . (turned u) = distance: subproblem 4 of [Elias2022].

    Args:
        normal: of any length.
        axis: unit vector.
        u: what is turned about it.
        distance: what the product shall be.
        liked: the answer where the turn does not change the product.
    """
    along = axis * axis.dot(u)
    return turns_to_line(
        normal.dot(u - along), normal.dot(axis.cross(u)), distance - normal.dot(along), liked
    )


def turns_to_distance(
    axis: Vector3, u: Vector3, offset: Vector3, squared: Scalar, liked: Turn
) -> tuple[Turn, Turn]:
    """Both turns with |turned u + offset|^2 = squared: subproblem 3 of [Elias2022]."""
    rest = 0.5 * (squared - u.dot(u) - offset.dot(offset))
    return turns_to_plane(offset, axis, u, rest, liked)


def turns_to_line(a: Scalar, b: Scalar, c: Scalar, liked: Turn) -> tuple[Turn, Turn]:
    """Both turns with a cos + b sin = c: where a line meets the unit circle."""
    squared = a * a + b * b
    foot = direction(a, b, liked)
    half = sqrt(_at_least(squared - c * c, 0.0))
    # A line that misses the circle: the point nearest to it.
    away = direction(c, half, Turn(1.0, 0.0))
    return foot.after(away), foot.after(away.inverse())


def turns_to_conic(conic: Conic, liked: Turn) -> list[Turn]:
    """The turns whose cosine c and sine s lie on a conic: four at most.

    Of the conics through the points that are looked for, that is of the given one plus a multiple
    of the circle, one is a pair of lines; its parameter is the root of a cubic, which is always
    found between the multiples that flatten the conic to parabolas. Each line has two points.

    Args:
        conic: xx, xy, yy, x, y, one.
        liked: the answer where all turns lie on the conic.

    Returns:
        Four turns; where there are less, the others repeat some or miss the conic.
    """
    xx, xy, yy, x, y, one = conic
    # In axes along those of the conic: a c^2 + b s^2 + 2 d c + 2 e s + f, with a >= b.
    axes = _half(direction(xx - yy, 2.0 * xy, Turn(1.0, 0.0)))
    mean, radius = 0.5 * (xx + yy), 0.5 * sqrt((xx - yy) * (xx - yy) + 4.0 * xy * xy)
    d = axes.cos * x + axes.sin * y
    e = axes.cos * y - axes.sin * x
    delta = 2.0 * radius
    linear = d * d + e * e + one * one
    is_flat = where_less(FLAT * (linear + mean * mean), delta * delta, 0.0, 1.0)
    scale = 1.0 / where_less(0.5, is_flat, 1.0, delta)
    d, e, g = d * scale, e * scale, (one + mean + radius) * scale

    # With p the curvature along c, n = 1 - p against it along s: p (c + d/p)^2 = n (s - e/n)^2.
    p = _bracketed_root(d * d, e * e, g)
    n = 1.0 - p
    far_p = where_less(p, 0.5, 0.0, 1.0)
    root_p, root_n = sqrt(_at_least(p, 0.0)), sqrt(_at_least(n, 0.0))
    safe_p, safe_n = where_less(p, 0.5, 1.0, root_p), where_less(p, 0.5, root_n, 1.0)
    # One of d / root_p and e / root_n may be 0 / 0; it follows from the other.
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
    """The turn from the x axis to the point (x, y); ``liked`` at the origin."""
    squared = x * x + y * y
    scale = 1.0 / sqrt(where_less(squared, INDIFFERENT, 1.0, squared))
    return Turn(
        where_less(squared, INDIFFERENT, liked.cos, x * scale),
        where_less(squared, INDIFFERENT, liked.sin, y * scale),
    )


def _bracketed_root(dd: Scalar, ee: Scalar, g: Scalar) -> Scalar:
    """A root in [0, 1] of dd (1 - p) - ee p - (g - p) p (1 - p)."""
    # Not negative at 0, not positive at 1.
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
        # Where the root is an end of the bracket, Newton's steps may miss it by rounding.
        below, above = (low, high) if i % 2 else (0.5 * (low + high),) * 2
        p = where_less(newton, low, below, where_less(high, newton, above, newton))
    return p


def _refined(turn: Turn, conic: Conic) -> Turn:
    """The turn after Newton steps along the circle; unchanged where the slope vanishes."""
    xx, xy, yy, x, y, one = conic
    for _ in range(REFINING):
        c, s = turn
        first, second = xx * c + xy * s + x, xy * c + yy * s + y
        value = c * (first + x) + s * (second + y) + one
        slope = 2.0 * (c * second - s * first)
        step = value / where_less(slope * slope, 1e-300, 1.0, slope)
        # A double root has no slope: what a long step says there is rounding.
        step = where_less(step * step, 1e-6, step, 0.0)
        turn = direction(c + step * s, s - step * c, turn)
    return turn


def _half(turn: Turn) -> Turn:
    """The turn by half the angle, within a quarter turn."""
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
