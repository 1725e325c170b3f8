# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Ages by the node's clock, which may be simulated, and may be reset.

What has to come in time, such as commands and joint states while a robot moves, is measured by the
steady clock, which nobody can stop. What is as old as its stamp says, or as the simulation says, is
measured here.
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
    """Seconds since a time; infinite where that lies ahead: the clock has been reset since.

    Args:
        now, then: by one clock [ns].
        ahead: s that is taken for a difference between the clocks of two machines.
    """
    seconds = (now - then) * 1e-9
    return seconds if seconds >= -ahead else math.inf


def steady_timer(node: Node, period: float, callback: Callable[[], object]) -> Timer:
    """A timer of a period [s] that goes on where a simulated clock stands still."""
    return node.create_timer(period, callback, clock=Clock(clock_type=ClockType.STEADY_TIME))


class NodeTime:
    """The clock of a node.

    Attributes:
        simulated: whether it is that of the topic /clock.
    """

    def __init__(self, node: Node, on_reset: Callable[[], object] = lambda: None) -> None:
        """Watch the clock.

        Args:
            node: whose clock it is.
            on_reset: called when it has gone back, or has become another.
        """
        self._clock: Any = node.get_clock()
        self._on_reset = on_reset
        self.simulated = bool(self._clock.ros_time_is_active)
        threshold = JumpThreshold(
            min_forward=None, min_backward=Duration(nanoseconds=-1), on_clock_change=True
        )
        self._handle = self._clock.create_jump_callback(threshold, post_callback=self._jumped)

    def now(self) -> int:
        """Its time [ns]."""
        return int(self._clock.now().nanoseconds)

    def _jumped(self, _jump: object) -> None:
        self.simulated = bool(self._clock.ros_time_is_active)
        self._on_reset()
