# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Differential inverse kinematics: joint velocities for prioritized tasks, within limits."""

from .limits import Limits
from .motion import DifferentialInverseKinematics, DifferentialMotion
from .servo import CartesianServo, ServoSettings, ServoStep
from .tasks import CenterOfMassTask, FrameTask, PostureTask, VelocityTask

__all__ = [
    'CartesianServo',
    'CenterOfMassTask',
    'DifferentialInverseKinematics',
    'DifferentialMotion',
    'FrameTask',
    'Limits',
    'PostureTask',
    'ServoSettings',
    'ServoStep',
    'VelocityTask',
]
