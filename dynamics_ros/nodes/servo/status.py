# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Status of the servo: its current action, and what slows or halts it."""

from __future__ import annotations

from rclpy.node import Node

from dynamics_ros.commanding.prepared_servo import limits_of, values_of
from dynamics_ros.inverse_kinematics.differential import ServoStep
from dynamics_ros.nodes.commanding.targets import TwistTarget
from dynamics_ros.nodes.outputs import Status
from dynamics_ros.reasons import Explanation, Reason

STOPPING = Explanation(Reason.BRAKING, 'stopping')
PAUSED = Explanation(Reason.PAUSED, 'paused')
READY = Explanation(Reason.WAITING_FOR_COMMAND, 'waiting for a command')

AT_LARGEST_SPEED = ' at the largest speed, which is below what it asks for'

OK_REASONS = frozenset(
    {
        *(Reason.BRAKING, Reason.WAITING_FOR_COMMAND, Reason.PAUSED, Reason.FOLLOWING),
        *(Reason.UNCONFIGURED, Reason.INACTIVE, Reason.FINALIZED),
    }
)
"""Codes that indicate no problem."""


class ServoStatus(Status):
    """Topic ~/status of the servo."""

    def __init__(self, node: Node) -> None:
        super().__init__(node, 'servo')

    def publish_step(
        self,
        text: Explanation,
        robot: str,
        lifecycle: str,
        step: ServoStep | None,
        other_publishers: str,
    ) -> None:
        """Publish the status if it has changed or is due.

        Args:
            text: description of the current action, with its code.
            robot: name of the robot; '' without one.
            lifecycle: lifecycle state of the node.
            step: last step of the current motion; None without motion.
            other_publishers: description of other publishers of commands or targets; '' for none.
        """
        ok = text.reason in OK_REASONS and not other_publishers
        text = Explanation.joined((text, other_publishers))
        if not self.is_due(text):
            return
        values = {'lifecycle': lifecycle} | ({} if step is None else values_of(step))
        self.publish(text, ok, robot, values)


def following(target: str, step: ServoStep) -> Explanation:
    """Return the text that a target is followed, with the limits that slow the motion."""
    # For a pose target, the distance often asks for more than the largest speed; that is normal.
    scaled = step.scaled < 1.0 and target == TwistTarget.name
    doing = f'following {target}' + (AT_LARGEST_SPEED if scaled else '')
    limits = limits_of(step)
    reason = Reason.LIMITED if limits else Reason.FOLLOWING
    return Explanation(reason, '; '.join([doing, *limits]))
