# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Ages by the node's clock, which may be simulated and may be reset.

Timeouts of commands and of joint states while a robot moves use the steady clock, which cannot be
stopped. This module measures ages by stamps or by simulated time.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from rclpy.clock import Clock, ClockType, JumpThreshold
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.timer import Timer


def age(now: int, then: int, ahead: float = 0.0) -> float:
    """Return the age of a time [s]; infinite for a future time, since the clock was reset then.

    Args:
        now, then: times of the same clock [ns].
        ahead: offset into the future that is tolerated as a difference between two machines [s].
    """
    seconds = (now - then) * 1e-9
    return seconds if seconds >= -ahead else math.inf


def steady_timer(node: Node, period: float, callback: Callable[[], object]) -> Timer:
    """Create a timer with a period [s] that continues while a simulated clock is stopped."""
    return node.create_timer(period, callback, clock=Clock(clock_type=ClockType.STEADY_TIME))


class NodeTime:
    """Clock of a node, with detection of resets.

    Attributes:
        simulated: whether the time comes from the topic /clock.
    """

    def __init__(self, node: Node, on_reset: Callable[[], object] = lambda: None) -> None:
        """Observe the clock.

        Args:
            node: node of the clock.
            on_reset: called when the time goes back, or when its source changes.
        """
        self._clock: Any = node.get_clock()
        self._on_reset = on_reset
        self.simulated = bool(self._clock.ros_time_is_active)
        threshold = JumpThreshold(
            min_forward=None, min_backward=Duration(nanoseconds=-1), on_clock_change=True
        )
        self._handle = self._clock.create_jump_callback(threshold, post_callback=self._jumped)

    def now(self) -> int:
        """Return the time [ns]."""
        return int(self._clock.now().nanoseconds)

    def _jumped(self, _jump: object) -> None:
        self.simulated = bool(self._clock.ros_time_is_active)
        self._on_reset()
