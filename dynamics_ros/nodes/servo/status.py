# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Status of the servo: its current action, and what slows or halts it."""

from __future__ import annotations

from rclpy.node import Node

from dynamics_ros.commanding.prepared_servo import limits_of, values_of
from dynamics_ros.inverse_kinematics.differential import ServoStep
from dynamics_ros.nodes.app.managed import FINALIZED, INACTIVE, UNCONFIGURED
from dynamics_ros.nodes.commanding.targets import TwistTarget
from dynamics_ros.nodes.output.status import Status

STOPPING, PAUSED, READY = 'stopping', 'paused', 'waiting for a command'

AT_LARGEST_SPEED = ' at the largest speed, which is below what it asks for'

OK_TEXTS = (STOPPING, READY, PAUSED, UNCONFIGURED, INACTIVE, FINALIZED)
"""Texts, other than of following a target, that indicate no problem."""


class ServoStatus(Status):
    """Topic ~/status of the servo."""

    def __init__(self, node: Node) -> None:
        super().__init__(node, 'servo')

    def publish_step(self, text: str, robot: str, lifecycle: str, step: ServoStep | None) -> None:
        """Publish the status if it has changed or is due.

        Args:
            text: description of the current action.
            robot: name of the robot; '' without one.
            lifecycle: lifecycle state of the node.
            step: last step of the current motion; None without motion.
        """
        if not self.is_due(text):
            return
        # Limits that slow the motion follow a semicolon.
        ok = text in OK_TEXTS or (text.startswith('following') and '; ' not in text)
        values = {'lifecycle': lifecycle} | ({} if step is None else values_of(step))
        self.publish(text, ok, robot, values)


def following(target: str, step: ServoStep) -> str:
    """Return the text that a target is followed, with the limits that slow the motion."""
    # For a pose target, the distance often asks for more than the largest speed; that is normal.
    scaled = step.scaled < 1.0 and target == TwistTarget.name
    doing = f'following {target}' + (AT_LARGEST_SPEED if scaled else '')
    return '; '.join([doing, *limits_of(step)])
