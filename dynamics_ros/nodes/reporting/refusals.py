# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What is refused, and why: one reason for each subject, told once."""

from __future__ import annotations

import time

from rclpy.node import Node

from dynamics_ros.errors import DynamicsRosError
from dynamics_ros.nodes.reporting.rate_limits import Burst

from .results import FaultLog

MAX_LOGGED, LOGGED_SECONDS = 20, 10.0
"""Refusals that are logged within so many seconds: whoever sends ever new nonsense cannot fill the
log."""


class SourceLostError(DynamicsRosError):
    """What a node follows tells it nothing any more; the text says since when."""


class Refusals:
    """The refusals in force."""

    def __init__(self, node: Node, faults: FaultLog) -> None:
        """Begin with none.

        Args:
            node: whose log tells them.
            faults: where unforeseen errors go.
        """
        self._node, self._faults = node, faults
        self._texts: dict[str, str] = {}
        self._logged = Burst(MAX_LOGGED, LOGGED_SECONDS)

    @property
    def first(self) -> str:
        """One of them; empty when there is none."""
        return next(iter(self._texts.values()), '')

    def note(self, subject: str, error: BaseException | None, consequence: str) -> None:
        """Keep in mind why something is refused; None: it no longer is.

        Args:
            subject: what is.
            error: why.
            consequence: what follows from that, to be added.
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
