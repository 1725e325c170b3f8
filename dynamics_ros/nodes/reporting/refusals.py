# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Refused inputs: the current reason for each subject, logged once."""

from __future__ import annotations

import time

from rclpy.node import Node

from dynamics_ros.errors import DynamicsRosError
from dynamics_ros.nodes.reporting.rate_limits import Burst

from .results import FaultLog

MAX_LOGGED, LOGGED_SECONDS = 20, 10.0
"""Maximum number of logged refusals within a time [s], so that invalid input cannot flood the
log."""


class SourceLostError(DynamicsRosError):
    """The source of gravity is lost; the text says since when."""


class Refusals:
    """Current refusals of a node, by subject."""

    def __init__(self, node: Node, faults: FaultLog) -> None:
        """Start without refusals, which the log of the node is going to report."""
        self._node, self._faults = node, faults
        self._texts: dict[str, str] = {}
        self._logged = Burst(MAX_LOGGED, LOGGED_SECONDS)

    @property
    def first(self) -> str:
        """Text of the oldest current refusal; '' without one."""
        return next(iter(self._texts.values()), '')

    def record(self, subject: str, error: BaseException | None, consequence: str) -> None:
        """Record and log a refusal, or remove it.

        Args:
            subject: what is refused.
            error: the reason; None: the subject is no longer refused.
            consequence: text to append to the reason.
        """
        if error is None:
            self._texts.pop(subject, None)
            return
        if not isinstance(error, DynamicsRosError):
            self._faults.report(subject, error)
        text = f'{subject} refused: {error}{consequence}'
        if isinstance(error, SourceLostError):
            text = str(error)
        if text != self._texts.get(subject) and self._logged.passes(time.monotonic()):
            self._node.get_logger().error(text)
        self._texts[subject] = text
