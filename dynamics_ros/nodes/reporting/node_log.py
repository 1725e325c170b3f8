# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Log of a node, which escapes unprintable characters, and also gets messages of the library."""

from __future__ import annotations

import logging
import os
import traceback
from typing import Any

from rclpy.impl.rcutils_logger import RcutilsLogger
from rclpy.logging import LoggingSeverity

from dynamics_ros.errors import printable
from dynamics_ros.nodes.rclpy_private import log_for_callers_of

_OWN_FILE = os.path.realpath(__file__)

LIBRARY = 'dynamics_ros'


class MultilineText(str):
    """Text of several lines whose unprintable characters are already escaped."""

    __slots__ = ()


def with_traceback(head: str, error: BaseException) -> MultilineText:
    """Return a line followed by the indented traceback of an error."""
    trace = ''.join(traceback.format_tb(error.__traceback__)).splitlines()
    summary = f'{type(error).__name__}: {error}'
    lines = [f'  {printable(line)}' for line in (*trace, summary)]
    return MultilineText('\n'.join([printable(head), *lines]))


class NodeLog(RcutilsLogger):
    """Logger of rclpy that escapes control characters, so that none reaches a terminal."""

    def log(
        self,
        message: str,
        severity: int | LoggingSeverity,
        name: str | None = None,
        **options: Any,
    ) -> bool:
        """Log one line, or a ``MultilineText``; arguments as of ``RcutilsLogger.log``."""
        if not log_for_callers_of(_OWN_FILE):
            self.contexts.clear()  # else rclpy takes all messages to come from this line
        text = message if isinstance(message, MultilineText) else printable(str(message))
        if name is not None:
            options['name'] = name  # a keyword-only argument in Jazzy
        return super().log(text, severity, **options)


class LibraryLog(logging.Handler):
    """Handler that forwards records of Python's logging to a logger of rclpy.

    Attributes:
        logger: the logger of rclpy.
    """

    def __init__(self, logger: Any) -> None:
        """Install the handler, once per process."""
        super().__init__()
        self.logger = logger
        logging.captureWarnings(True)
        for name in (LIBRARY, 'py.warnings'):
            logging.getLogger(name).addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Log a record with its severity."""
        text = record.getMessage()
        # One call for each severity, because rclpy allows only one for each line of code.
        if record.levelno >= logging.ERROR:
            self.logger.error(text)
        elif record.levelno >= logging.WARNING:
            self.logger.warning(text)
        else:
            self.logger.info(text)
