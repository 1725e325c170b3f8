# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Errors of the middleware and their texts for users."""

from __future__ import annotations

import re

from rclpy.exceptions import NameValidationException

from dynamics_ros.nodes.rclpy_private import RCL_ERROR

MIDDLEWARE_ERRORS = (RCL_ERROR, NameValidationException)
"""Errors raised when a publisher, subscription or service is not allowed or cannot be created."""

_SOURCE_LOCATION = re.compile(r'\s*, at \S+:\d+')
"""Source location in an error text of ROS, which does not help users."""


_WITHOUT_LOG = 'logging directory'
_LOG_REMEDY = '; set HOME or ROS_LOG_DIR to a folder that may be written'
"""Remedy for system services, which often have no HOME, where ROS writes its logs."""


def describe_error(error: BaseException) -> str:
    """Return the text of an error as one line, with the remedy if it is known."""
    text = ' '.join(_SOURCE_LOCATION.sub('', str(error)).split())
    return text + _LOG_REMEDY if _WITHOUT_LOG in text else text
