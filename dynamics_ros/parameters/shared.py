# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters that several nodes have: autostart and rates of outputs."""

from __future__ import annotations

from dynamics_ros.settings import parameter

AUTOSTART = (
    'Configure and activate what commands the robot at start; false: a lifecycle manager, or '
    'ros2 lifecycle set, does'
)

PUBLISH_RATE = 'Most messages a second of each output; 0: one for every joint state'


def output_rate(what: str) -> float:
    """The rate of one output."""
    value: float = parameter(
        -1.0,
        f'Most messages a second of {what}; 0: one for every joint state; negative: publish_rate',
        unit='Hz',
        minimum=-1.0,
    )
    return value
