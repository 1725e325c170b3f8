# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What laws that tie quantities together are checked with."""

from __future__ import annotations

import numpy as np
from tolerances import DIFFERENCE_STEP, LAW


def assert_close(actual, expected, tolerance=LAW, scale=1.0):
    size = max(scale, float(np.abs(expected).max(initial=0.0)))
    assert np.abs(actual - expected).max(initial=0.0) <= tolerance * size


def along(robot, s, a, t):
    """The state (q, v) a moment t later, to second order in t."""
    return robot.integrate(s.q, t * s.v + 0.5 * t**2 * a), s.v + t * a


def rate(function, robot, s, a):
    """Time derivative of a function of (q, v) by a central difference."""
    h = DIFFERENCE_STEP
    return (function(*along(robot, s, a, h)) - function(*along(robot, s, a, -h))) / (2.0 * h)
