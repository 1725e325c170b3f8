# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Fallbacks for features that not every ROS distribution has, and a switch to force them.

Each feature is probed when it is first needed, and the fallback is used if the probe fails. The
environment variable DYNAMICS_ROS_FALLBACKS, a list separated by commas, forces fallbacks, so that
tests reach code that would otherwise run only on other distributions.
"""

from __future__ import annotations

import os
from enum import Enum
from functools import lru_cache

from dynamics_ros.errors import InvalidArgumentError

VARIABLE = 'DYNAMICS_ROS_FALLBACKS'

ALL = 'all'


class Fallback(Enum):
    """Fallback for a feature."""

    EXECUTOR = 'executor'
    """The single-threaded executor instead of the events executor."""
    MESSAGES = 'messages'
    """Message objects instead of serialized bytes with a known layout."""
    RCLPY = 'rclpy'
    """Public API of rclpy only: see ``rclpy_private``."""


def forced(fallback: Fallback) -> bool:
    """Return whether a fallback is forced by the environment variable."""
    return fallback in _forced_fallbacks(os.environ.get(VARIABLE, ''))


def check() -> None:
    """Check the names in the environment variable.

    Raises:
        InvalidArgumentError: a name is unknown.
    """
    _forced_fallbacks(os.environ.get(VARIABLE, ''))


@lru_cache(maxsize=1)  # ``forced`` is called for every waiting message
def _forced_fallbacks(text: str) -> frozenset[Fallback]:
    names = {name.strip() for name in text.split(',')} - {''}
    if ALL in names:
        return frozenset(Fallback)
    known = {fallback.value: fallback for fallback in Fallback}
    unknown = sorted(names - known.keys())
    if unknown:
        raise InvalidArgumentError(VARIABLE, repr(unknown[0]), f'of {", ".join([*known, ALL])}')
    return frozenset(known[name] for name in names)
