# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the middleware raises, in words for people."""

from __future__ import annotations

import re

from rclpy.exceptions import NameValidationException

from dynamics_ros.nodes.rclpy_private import RCL_ERROR

MIDDLEWARE_ERRORS = (RCL_ERROR, NameValidationException)
"""What making a publisher, subscription or service raises where it may not, or cannot, be."""

_PLACE = re.compile(r'\s*, at \S+:\d+')
"""Where in the sources of ROS an error was found, which helps nobody here."""


_WITHOUT_LOG = 'logging directory'
_LOG_CURE = '; set HOME or ROS_LOG_DIR to a folder that may be written'
"""A service of the system often has no HOME, where ROS keeps its logs."""


def in_words(error: BaseException) -> str:
    """One line of what an error says, with the cure where it is known."""
    words = ' '.join(_PLACE.sub('', str(error)).split())
    return words + _LOG_CURE if _WITHOUT_LOG in words else words
