# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How long the tests wait before they give up, and how often they repeat what they do."""

from __future__ import annotations

from typing import Any, TypeVar

PATIENCE = 400.0
"""Seconds: far more than anything here takes, also beside many busy processes on two cores."""

thorough = False
"""Whether the run has ``--thorough``."""


T = TypeVar('T')


def times(usual: T, many: T) -> T:
    """How often something is done, or with what: as usual, or as with ``--thorough``."""
    return many if thorough else usual


def examples(usual: int) -> Any:
    """Settings of hypothesis for so many examples, and ten times as many with ``--thorough``."""
    from hypothesis import settings

    return settings(max_examples=times(usual, 10 * usual))
