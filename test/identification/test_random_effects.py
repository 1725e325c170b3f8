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
