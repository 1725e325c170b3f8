# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The semidefinite program finds the best bodies that are physically possible."""

from __future__ import annotations

import numpy as np
import pytest

from dynamics_ros.identification.bodies.consistency import Program, solve
from dynamics_ros.identification.bodies.pseudo_inertia import (
    consistent,
    parameters_of,
    pseudo_inertia,
)


def bodies(rng, count):
    points = rng.normal(size=(count, 6, 4)) * np.array([0.2, 0.1, 0.3, 0.0])
    points[..., 3] = 1.0
    return parameters_of(0.5 * points.transpose(0, 2, 1) @ points)


def program(weight):
    """A fit whose best bodies without a cone are none that exist."""
    rng = np.random.default_rng(0)
    near = bodies(rng, 2)
    n = 22
    A = rng.normal(size=(18, n))
    wanted = np.concatenate([near.ravel(), [-0.3, 0.4]])
    wanted[4] = -0.2
    H = 100.0 * A.T @ A + np.diag([*np.zeros(20), 1.0, 1.0])
    positive = np.zeros(n, dtype=bool)
    positive[20:] = True
    return Program(H, H @ wanted, near, weight, positive)


def test_a_body_of_points_is_consistent_and_one_of_negative_mass_is_not():
    some = bodies(np.random.default_rng(1), 5)
    assert consistent(some)
    assert np.abs(parameters_of(pseudo_inertia(some)) - some).max() < 1e-12
    some[2, 0] *= -1.0
    assert not consistent(some)


def test_newton_copes_with_unknowns_of_very_different_size_and_bodies_that_are_hardly_possible():
    task = program(1e-3)
    size = np.ones(22)
    size[20:] = 1e-4, 1e4
    # The same task in other units.
    H, g = task.H / np.outer(size, size), task.g / size
    x = solve(Program(H, g, task.bodies, task.weight, task.positive))
    assert consistent(x[:20].reshape(2, 10))
    assert np.linalg.eigvalsh(pseudo_inertia(x[:20].reshape(2, 10)))[:, 0].min() < 1e-4
    assert x / size == pytest.approx(solve(task), abs=1e-5)


def test_no_step_from_the_solution_is_better():
    task = program(1.0)
    x = solve(task)
    rng = np.random.default_rng(4)
    for _ in range(50):
        step = x + 1e-3 * rng.normal(size=22) * np.abs(x)
        if consistent(step[:20].reshape(2, 10)) and (step[20:] >= 0.0).all():
            assert task.value(step) > task.value(x) - 1e-5
