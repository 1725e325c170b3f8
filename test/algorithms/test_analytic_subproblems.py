# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The subproblems of inverse kinematics: every turn that meets the condition, or the nearest."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from random_robots import SEEDS
from scipy.spatial.transform import Rotation

from dynamics_ros.algorithms.inverse_kinematics.subproblems import (
    Turn,
    turn_between,
    turns_to_conic,
    turns_to_distance,
    turns_to_line,
    turns_to_plane,
)
from dynamics_ros.spatial import Vector3

LIKED = Turn(math.cos(0.4), math.sin(0.4))

NEAR = 1e-7
"""rad: where two turns meet, rounding moves them by its square root, some 1e-8."""

CONIC = 1e-6
"""rad: roots of a quartic, found by two methods, of a slope that the tests admit."""


def random_vectors(seed, count):
    """A unit axis, and vectors of some length."""
    rng = np.random.default_rng(seed)
    axis, *others = rng.normal(size=(count + 1, 3))
    return axis / np.linalg.norm(axis), others, rng


def turned(axis, v, angle):
    return Rotation.from_rotvec(angle * axis).apply(v)


def nearest(turns, angle):
    """Distance of the nearest turn to an angle; all must be turns."""
    for turn in turns:
        assert math.isclose(turn.cos**2 + turn.sin**2, 1.0, rel_tol=1e-12)
    differences = [math.atan2(t.sin, t.cos) - angle for t in turns]
    return min(abs(math.remainder(x, 2.0 * math.pi)) for x in differences)


@given(SEEDS)
def test_a_turn_is_found_from_a_vector_and_where_it_goes(seed):
    axis, (u,), rng = random_vectors(seed, 1)
    angle = rng.uniform(-math.pi, math.pi)
    w = 3.0 * turned(axis, u, angle) + rng.normal() * axis
    turn = turn_between(Vector3.of(axis), Vector3.of(u), Vector3.of(w), LIKED)
    assert nearest([turn], angle) < NEAR
    there = turn.apply(Vector3.of(axis), Vector3.of(u))
    np.testing.assert_allclose([*there], turned(axis, u, angle), atol=1e-12)
    np.testing.assert_allclose([*turn.undo(Vector3.of(axis), there)], u, atol=1e-12)


@given(SEEDS)
def test_both_turns_into_a_plane_and_to_a_distance_are_found(seed):
    axis, (u, normal), rng = random_vectors(seed, 2)
    angle = rng.uniform(-math.pi, math.pi)
    there = turned(axis, u, angle)
    h, v, n = (Vector3.of(x) for x in (axis, u, normal))
    turns = turns_to_plane(n, h, v, float(normal @ there), LIKED)
    assert nearest(turns, angle) < CONIC
    for turn in turns:
        assert math.isclose(n.dot(turn.apply(h, v)), normal @ there, abs_tol=1e-12)
    squared = float(np.sum((there + normal) ** 2))
    turns = turns_to_distance(h, v, n, squared, LIKED)
    assert nearest(turns, angle) < CONIC
    for turn in turns:
        end = turn.apply(h, v) + n
        assert math.isclose(end.dot(end), squared, rel_tol=1e-12)


def test_a_line_that_misses_the_circle_gives_its_nearest_point_twice():
    for turn in turns_to_line(3.0, 4.0, 10.0, LIKED):
        np.testing.assert_allclose(turn, (0.6, 0.8), atol=1e-15)


def test_a_turn_that_changes_nothing_is_the_one_that_is_liked():
    z, u = Vector3(0.0, 0.0, 1.0), Vector3(0.0, 0.0, 0.3)
    assert turn_between(z, u, Vector3(1.0, 0.0, 0.0), LIKED) == LIKED
    first, second = turns_to_plane(Vector3(1.0, 0.0, 0.0), z, u, 0.0, LIKED)
    for turn in (first, second):
        np.testing.assert_allclose(turn, LIKED, atol=1e-15)


def roots_of_conic(xx, xy, yy, x, y, one):
    """Angles of the roots on the unit circle of the quartic in exp(i angle)."""
    mean, half = 0.5 * (xx + yy) + one, 0.5 * (xx - yy)
    # half cos 2a + xy sin 2a + 2 x cos a + 2 y sin a + mean
    ends = (0.5 * (half - 1j * xy), x - 1j * y)
    quartic = [*ends, mean, ends[1].conjugate(), ends[0].conjugate()]
    return [np.angle(z) for z in np.roots(quartic) if abs(abs(z) - 1.0) < 1e-9]


CURVES = ('any', 'upright', 'line', 'difference of squares')


@given(SEEDS, st.sampled_from(CURVES))
def test_every_point_of_a_conic_on_the_circle_is_found(seed, curve):
    rng = np.random.default_rng(seed)
    angle = rng.uniform(-math.pi, math.pi)
    c, s = math.cos(angle), math.sin(angle)
    a, b = rng.normal(size=(2, 2)) * 10.0 ** rng.uniform(-2.0, 1.0)
    x, y = rng.normal(size=2)
    matrix = {
        'any': np.outer(a, a) + np.outer(b, b),
        'upright': np.diag(a),
        'line': np.zeros((2, 2)),
        'difference of squares': np.outer(a, a) - np.outer(b, b),
    }[curve]
    if curve == 'upright':
        x *= rng.integers(2)
    (xx, xy), (_, yy) = matrix.tolist()
    one = -(xx * c * c + 2.0 * xy * c * s + yy * s * s + 2.0 * x * c + 2.0 * y * s)
    turns = turns_to_conic((xx, xy, yy, x, y, one), LIKED)
    slope = (yy - xx) * 2.0 * c * s + 2.0 * xy * (c * c - s * s) + 2.0 * (y * c - x * s)
    scale = max(abs(v) for v in (xx, xy, yy, x, y, one))
    # Near a double root, and there only, rounding moves the points by its root.
    if abs(slope) > 1e-3 * scale:
        assert nearest(turns, angle) < CONIC
    for root in roots_of_conic(xx, xy, yy, x, y, one):
        r, t = math.cos(root), math.sin(root)
        steep = (yy - xx) * 2.0 * r * t + 2.0 * xy * (r * r - t * t) + 2.0 * (y * r - x * t)
        if abs(steep) > 1e-3 * scale:
            assert nearest(turns, root) < CONIC
