# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What takes the place of faster ways that not every ROS has; a switch takes it everywhere.

Each way is probed when it is first needed, and what replaces it is taken where the probe fails. On
a ROS that has them all, the environment variable DYNAMICS_ROS_FALLBACKS makes the probes named in
it fail, separated by commas, so that tests reach what else only other distributions would.
"""

from __future__ import annotations

import os
from enum import Enum
from functools import lru_cache

from dynamics_ros.errors import InvalidArgumentError

VARIABLE = 'DYNAMICS_ROS_FALLBACKS'

ALL = 'all'


class Fallback(Enum):
    """What a way is replaced by."""

    EXECUTOR = 'executor'
    """The single-threaded executor, without the events executor."""
    MESSAGES = 'messages'
    """Messages as objects, not as bytes of a known layout."""
    RCLPY = 'rclpy'
    """No private API of rclpy: see ``rclpy_private``."""


def forced(fallback: Fallback) -> bool:
    """Whether it is to be taken though the other way works."""
    return fallback in _wanted(os.environ.get(VARIABLE, ''))


def check() -> None:
    """Refuse a name in the variable that there is not.

    Raises:
        InvalidArgumentError: with the names that there are.
    """
    _wanted(os.environ.get(VARIABLE, ''))


@lru_cache(maxsize=1)  # asked for every message that waits
def _wanted(text: str) -> frozenset[Fallback]:
    names = {name.strip() for name in text.split(',')} - {''}
    if ALL in names:
        return frozenset(Fallback)
    known = {fallback.value: fallback for fallback in Fallback}
    unknown = sorted(names - known.keys())
    if unknown:
        raise InvalidArgumentError(VARIABLE, repr(unknown[0]), f'of {", ".join([*known, ALL])}')
    return frozenset(known[name] for name in names)
