# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A simulated robot, without ROS."""

from .actuators import Actuators, gentle_push
from .assembly import Assembly
from .engines import TIME_STEP_NS, Push, require_simulable
from .motion import SmoothMotion, comfortable_posture, slow_motion
from .simulated_robot import Sample, SimulatedRobot

__all__ = [
    'TIME_STEP_NS',
    'Actuators',
    'Assembly',
    'Push',
    'Sample',
    'SimulatedRobot',
    'SmoothMotion',
    'comfortable_posture',
    'gentle_push',
    'require_simulable',
    'slow_motion',
]
