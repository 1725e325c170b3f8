# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Forwards log messages of the library and Python warnings to the log of the first node."""

from __future__ import annotations

import logging
from typing import Any

LIBRARY = 'dynamics_ros'


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
