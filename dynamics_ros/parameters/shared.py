# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Common parameters of several nodes: autostart and rates of outputs."""

from __future__ import annotations

from dynamics_ros.settings import parameter

AUTOSTART = (
    'Configure and activate the commands to the robot at start; false: left to a lifecycle '
    'manager, or ros2 lifecycle set'
)

PUBLISH_RATE = 'Maximum rate of each output; 0: one message for every joint state'


def output_rate(what: str) -> float:
    """Return the field of the maximum rate of an output."""
    value: float = parameter(
        -1.0,
        f'Maximum rate of {what}; 0: one message for every joint state; negative: publish_rate',
        unit='Hz',
        minimum=-1.0,
    )
    return value
