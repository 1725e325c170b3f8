# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What an identified robot leaves unexplained, learned from free motion.

``identify_drives`` learns friction, offsets and noise as well, with masses as described.

``learn_unexplained`` runs the observer of external torques over recordings and says how far it is
off, joint by joint, by speed, load and reversals: what ``contact_node`` takes as ``unexplained.*``.
"""

from .free_motion import Drives, identify_drives
from .learn import FALSE_ALARMS, Learned, calibrated_robot, learn, learn_unexplained
from .observer_choice import ObserverChoice
from .recorder import Recorder

__all__ = [
    'FALSE_ALARMS',
    'Drives',
    'Learned',
    'ObserverChoice',
    'Recorder',
    'calibrated_robot',
    'identify_drives',
    'learn',
    'learn_unexplained',
]
