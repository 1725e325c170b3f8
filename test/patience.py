# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How long the tests wait before they give up, and how often they repeat what they do."""

from __future__ import annotations

PATIENCE = 400.0
"""Seconds: far more than anything here takes, also beside many busy processes on two cores."""

thorough = False
"""Whether the run has ``--thorough``."""


def times(usual: int, many: int) -> int:
    """How often something is repeated: as usual, or as often as in a run with ``--thorough``."""
    return many if thorough else usual
