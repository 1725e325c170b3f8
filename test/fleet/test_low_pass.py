# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The low-pass of columns is that of scipy, however samples are cut into blocks."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

from dynamics_ros.fleet.statistics import low_pass


@pytest.mark.parametrize('sizes', [(1,), (197,), (7, 1, 128, 90)])
def test_it_is_that_of_scipy(sizes):
    rng = np.random.default_rng(1)
    decay = np.array([0.0, 0.3, 0.99, 1.0])
    values = rng.normal(size=(sum(sizes), len(decay), 3))
    found, last = [], values[0]
    for part in np.split(values, np.cumsum(sizes)[:-1]):
        found.append(low_pass(part, decay, last))
        last = found[-1][-1]
    found = np.concatenate(found)
    for row, d in enumerate(decay):
        expected, _ = scipy.signal.lfilter(
            [1.0 - d], [1.0, -d], values[:, row], axis=0, zi=d * values[:1, row]
        )
        np.testing.assert_allclose(found[:, row], expected, rtol=0.0, atol=1e-13)
