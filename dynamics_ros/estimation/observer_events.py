# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Outcomes of the samples that an observer receives."""

from __future__ import annotations

from enum import Enum


class ObserverEvent(Enum):
    """Outcome of a sample."""

    STARTED = 'started'
    """First sample; the estimate is zero."""

    UPDATED = 'updated'
    """Ordinary step."""

    DUPLICATE = 'duplicate'
    """Same stamp as the previous sample; ignored."""

    LATE = 'older than the sample before'
    """Stamp older than the previous one by at most ``clock_jumps.JUMP``; ignored."""

    CLOCK_JUMP = 'clock jumped backwards'
    """Stamp further in the past; the observer restarts with this sample."""

    UNEVEN = 'samples missing or delayed'
    """Unusual interval (``samples/cadence.py``): the efforts in between are unknown. The estimate
    does not change, and the next step begins at this sample."""

    GAP = 'gap longer than max_gap'
    """Interval longer than ``max_gap``; the observer restarts with this sample."""


IGNORED = (ObserverEvent.DUPLICATE, ObserverEvent.LATE, ObserverEvent.UNEVEN)
"""Events of samples that do not change the estimate."""

RESTARTS = (ObserverEvent.STARTED, ObserverEvent.CLOCK_JUMP, ObserverEvent.GAP)
"""Events of samples that restart the estimate."""

UPDATED = ObserverEvent.UPDATED
"""Cached, since Enum member access costs a call and happens a thousand times a second."""
