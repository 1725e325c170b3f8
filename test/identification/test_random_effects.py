# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Least squares with random effects: what is stated of the shared unknowns holds."""

from __future__ import annotations

import numpy as np
import pytest

from dynamics_ros.identification.random_effects import MixedEquations, estimated

TRUE = np.array([2.0, -1.0])
ROWS, EFFECTS = 150, 12


def independent(left):
    """Residuals hang together in no way."""
    return np.ones(len(left))


def equations(seed, size, noise=0.1, levels=None):
    """Two joints whose effects have a deviation, and columns alike those of the unknowns."""
    rng = np.random.default_rng(seed)
    t = np.linspace(0.0, 1.0, ROWS)
    waves = np.stack([np.cos(np.pi * k * t) for k in range(1, EFFECTS + 1)], axis=-1)
    X = np.stack([t, t**2], axis=-1) + 0.02 * rng.normal(size=(2, ROWS, 2))
    level = np.zeros((2, ROWS), dtype=np.int64) if levels is None else levels
    noises = noise * np.where(level == 1, 8.0, 1.0)
    z = size * rng.normal(size=(2, EFFECTS))
    y = X @ TRUE + z @ waves.T + noises * rng.normal(size=(2, ROWS))
    Z, groups = np.tile(waves, (2, 1, 1)), np.zeros(EFFECTS, dtype=np.int64)
    return MixedEquations(X, Z, y, level, groups, 1e-6 * np.eye(2), np.zeros(2))


def errors(size, **options):
    """(k, 2) over stated deviations."""
    found = []
    for seed in range(100):
        x, covariance = estimated(equations(seed, size, **options), np.ones(2), independent)
        found.append((x - TRUE) / np.sqrt(np.diag(covariance)))
    return np.array(found)


@pytest.mark.parametrize('size', [0.0, 0.03, 0.5])
def test_deviations_hold_whatever_the_size_of_the_effects(size):
    assert np.sqrt((errors(size) ** 2).mean()) == pytest.approx(1.0, abs=0.2)


def test_effects_that_are_there_widen_the_deviations():
    _, without = estimated(equations(0, 0.0), np.ones(2), independent)
    _, with_effects = estimated(equations(0, 0.5), np.ones(2), independent)
    assert np.sqrt(np.diag(with_effects) / np.diag(without)).min() > 1.5


def test_effects_that_are_not_there_cost_nothing():
    one = equations(0, 0.0)
    x, covariance = estimated(one, np.ones(2), independent)
    X, y = one.fixed.reshape(-1, 2), one.right.ravel()
    plain = np.linalg.inv(X.T @ X)
    assert np.diag(covariance) == pytest.approx(0.1**2 * np.diag(plain), rel=0.25)
    assert x == pytest.approx(plain @ X.T @ y, abs=0.5 * np.sqrt(np.diag(covariance)).min())


def test_rows_of_a_noisy_level_count_less():
    levels = (np.random.default_rng(0).random((2, ROWS)) < 0.3).astype(np.int64)
    one = equations(3, 0.0, levels=levels)
    alike = MixedEquations(
        *(one.fixed, one.random, one.right, 0 * levels, one.groups, one.precision, one.pull)
    )
    (_, told), (_, not_told) = (estimated(e, np.ones(2), independent) for e in (one, alike))
    assert np.trace(told) < 0.5 * np.trace(not_told)
    assert np.sqrt((errors(0.0, levels=levels) ** 2).mean()) == pytest.approx(1.0, abs=0.2)


def test_rows_of_known_deviation_tell_nothing_of_the_noise():
    one = equations(4, 0.0)
    level, right = one.level.copy(), one.right.copy()
    level[:, :20], right[:, :20] = -1, 1e-3 * right[:, :20]
    fixed, random = one.fixed.copy(), one.random.copy()
    fixed[:, :20] *= 1e-3
    random[:, :20] *= 1e-3
    light = MixedEquations(fixed, random, right, level, *(one.groups, one.precision, one.pull))
    rest = MixedEquations(
        *(one.fixed[:, 20:], one.random[:, 20:], one.right[:, 20:], one.level[:, 20:]),
        *(one.groups, one.precision, one.pull),
    )
    (x, C), (y, D) = (estimated(e, np.ones(2), independent) for e in (light, rest))
    assert x == pytest.approx(y, abs=1e-2)
    assert np.diag(C) == pytest.approx(np.diag(D), rel=0.05)


def test_residuals_that_hang_together_count_as_fewer_rows():
    one = equations(5, 0.0)
    _, C = estimated(one, np.ones(2), independent)
    _, D = estimated(one, np.ones(2), lambda left: np.full(2, 4.0))
    # Less than four times, where a little of the noise was taken for effects before.
    assert ((np.diag(D) > 3.0 * np.diag(C)) & (np.diag(D) < 4.5 * np.diag(C))).all()
