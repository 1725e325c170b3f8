# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The log of a node: whatever came from outside is made printable before it is written."""

from __future__ import annotations

import os
import traceback
from typing import Any

from rclpy.impl.rcutils_logger import RcutilsLogger
from rclpy.logging import LoggingSeverity

from dynamics_ros.errors import printable
from dynamics_ros.nodes.rclpy_private import log_for_callers_of

_OWN_FILE = os.path.realpath(__file__)


class Block(str):
    """Text of several lines, each of which has been made printable."""

    __slots__ = ()


def with_traceback(head: str, error: BaseException) -> Block:
    """A line, and below it where an error came from; no line below begins like one of a log."""
    trace = ''.join(traceback.format_tb(error.__traceback__)).splitlines()
    told = f'{type(error).__name__}: {error}'
    lines = [f'  {printable(line)}' for line in (*trace, told)]
    return Block('\n'.join([printable(head), *lines]))


class NodeLog(RcutilsLogger):
    """Logs like the logger that it is made of, but nothing that a terminal would obey."""

    def log(
        self,
        message: str,
        severity: int | LoggingSeverity,
        name: str | None = None,
        **options: Any,
    ) -> bool:
        """Log one line, or a ``Block``; arguments as of ``RcutilsLogger.log``."""
        if not log_for_callers_of(_OWN_FILE):
            self.contexts.clear()  # all lines look like this one, of whatever severity
        text = message if isinstance(message, Block) else printable(str(message))
        if name is not None:
            options['name'] = name  # by its name only, in Jazzy
        return super().log(text, severity, **options)
