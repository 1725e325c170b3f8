# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Residuals of an identified robot, learned from free motion.

``identify_drives`` also identifies friction, offsets and noise, with masses as described.

``learn_unexplained`` runs the observer of external torques over recordings and computes its error
for each joint, by speed, load and reversals: the parameters ``unexplained.*`` of ``contact_node``.
"""

from .free_motion import Drives, Recorder, identify_drives, with_torques
from .learn import FALSE_ALARMS, Learned, calibrated_robot, learn, learn_unexplained

__all__ = [
    'FALSE_ALARMS',
    'Drives',
    'Learned',
    'Recorder',
    'calibrated_robot',
    'identify_drives',
    'learn',
    'learn_unexplained',
    'with_torques',
]
