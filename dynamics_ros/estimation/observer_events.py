# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What becomes of the samples that an observer is given."""

from __future__ import annotations

from enum import Enum


class ObserverEvent(Enum):
    """What became of a sample."""

    STARTED = 'started'
    """The first sample; the estimate is zero."""

    UPDATED = 'updated'
    """An ordinary step."""

    DUPLICATE = 'duplicate'
    """The stamp of the sample before; ignored."""

    LATE = 'older than the sample before'
    """A stamp of up to ``clock_jumps.JUMP`` ago; ignored."""

    CLOCK_JUMP = 'clock jumped backwards'
    """A stamp further in the past; started anew from this sample."""

    UNEVEN = 'samples missing or delayed'
    """Another interval than usual (``samples/cadence.py``): what efforts were in between is not
    known. The estimate stays, and the next one is of the time from this sample on."""

    GAP = 'gap longer than max_gap'
    """Too long since the sample before; started anew from this sample."""


IGNORED = (ObserverEvent.DUPLICATE, ObserverEvent.LATE, ObserverEvent.UNEVEN)
"""Samples that leave the estimate as it is."""

RESTARTS = (ObserverEvent.STARTED, ObserverEvent.CLOCK_JUMP, ObserverEvent.GAP)
"""Samples that the estimate begins anew with."""

UPDATED = ObserverEvent.UPDATED
"""Looked up once: members of an Enum cost a call, a thousand times a second."""
