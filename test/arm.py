# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The arm of the package, and a posture that is far from its limits and from singularities."""

from __future__ import annotations

import numpy as np
from ros_harness import description

from dynamics_ros import Robot

ARM = description()
ROBOT = Robot.from_urdf(ARM)
NAMES = list(ROBOT.joint_names)
Q = np.array([0.3, -0.5, 0.2, 1.1, -0.4, 0.7, 0.1])
STILL = np.zeros(7)
