# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Identification of masses, friction, rotors and drive gains from recorded joint states.

``identify`` creates linear equations from recordings, finds the physically possible parameters that
fit them best, and estimates the accuracy of each. It uses no files; ``calibration`` does.
"""

from dynamics_ros.estimation import PayloadEstimate

from .bodies.base_parameters import BaseParameters
from .evaluation import Evaluation, Identified
from .identify import identify
from .joint_states.joint_matching import NotThisRobotError, for_robot
from .joint_states.samples import JointSamples, UnusableRecordingError
from .payload import (
    DriveGains,
    KnownLoad,
    identify_drive_gains,
    identify_with_payload,
)

__all__ = [
    'BaseParameters',
    'DriveGains',
    'Evaluation',
    'Identified',
    'JointSamples',
    'KnownLoad',
    'NotThisRobotError',
    'PayloadEstimate',
    'UnusableRecordingError',
    'for_robot',
    'identify',
    'identify_drive_gains',
    'identify_with_payload',
]
