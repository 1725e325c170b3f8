# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Warnings of the library below the nodes, and of Python, in the log of the first node."""

from __future__ import annotations

import logging
from typing import Any

LIBRARY = 'dynamics_ros'


class LibraryLog(logging.Handler):
    """Hands what the library logs with Python's logging on to a logger of rclpy.

    Attributes:
        logger: of rclpy.
    """

    def __init__(self, logger: Any) -> None:
        """Begin to hand on; there is one for as long as the process lives."""
        super().__init__()
        self.logger = logger
        logging.captureWarnings(True)
        for name in (LIBRARY, 'py.warnings'):
            logging.getLogger(name).addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Log a record with its severity."""
        text = record.getMessage()
        # One call for each severity: rclpy wants one for each place in the code.
        if record.levelno >= logging.ERROR:
            self.logger.error(text)
        elif record.levelno >= logging.WARNING:
            self.logger.warning(text)
        else:
            self.logger.info(text)
