# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Status of impedance control: the current action of the arm and what limits it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from rclpy.node import Node

from dynamics_ros.control import CompliantArm
from dynamics_ros.nodes.outputs import Status
from dynamics_ros.reasons import FAULTS, Explanation, Reason, reason_of

HOLDING, GUIDED, PAUSED, BRAKING = 'holding', 'guided by hand', 'paused', 'braking'

OK_REASONS = frozenset(
    {
        *(Reason.HOLDING, Reason.GUIDED, Reason.PAUSED, Reason.FOLLOWING),
        *(Reason.UNCONFIGURED, Reason.INACTIVE, Reason.FINALIZED),
    }
)
"""Codes of actions that indicate no problem."""


class Action(NamedTuple):
    """What the arm does.

    Attributes:
        reason: code of the action, or of the reason for it.
        text: description for people.
        has_problem: whether the text names a problem beside an action that is none.
    """

    reason: Reason
    text: str
    has_problem: bool = False


LIMITS = {
    'singular': 'near a singularity',
    'joint_limit': 'a joint near the end of its range',
    'guard': 'a joint kept from the end of its range',
    'energy': 'the energy tank is empty',
    'torque': 'largest torque',
    'torque_rate': 'largest torque rate',
    'force_integral': 'largest integral of a force',
    'lead': 'the tool does not follow',
    'speed': 'a joint far beyond its velocity limit',
    'range': 'a joint far beyond its range',
}
"""Descriptions of the flags of the control law."""


class ImpedanceStatus(Status):
    """Topic ~/status; each message includes all limits that were active since the previous one."""

    def __init__(self, node: Node) -> None:
        super().__init__(node, 'impedance')
        self._action: Action | None = None
        self._active_limits: set[str] = set()

    def record(self, acting: Iterable[str], setpoint_waited: bool) -> None:
        """Record the limits that were active in a step.

        Args:
            acting: flags of the control law in the step.
            setpoint_waited: whether the setpoint waited for the tool.
        """
        self._active_limits.update(acting)
        if setpoint_waited:
            self._active_limits.add('lead')

    def publish_action(
        self,
        action: Action,
        robot: str,
        lifecycle: str,
        arm: CompliantArm | None,
        other_publishers: str = '',
        warning: str = '',
    ) -> None:
        """Publish the status if it has changed or is due.

        Args:
            action: what the arm does.
            robot: name of the robot; '' without one.
            lifecycle: lifecycle state of the node.
            arm: the controlled arm; None without one.
            other_publishers: description of other publishers of commands or targets; '' for none.
            warning: of what lasts, whose code is the name of its value; '' for none.
        """
        if action == self._action and not self.is_due(self.text):
            return
        limits = [
            description for flag, description in LIMITS.items() if flag in self._active_limits
        ]
        text = '; limited by: '.join([action.text, *([', '.join(limits)] if limits else [])])
        text = '; '.join(filter(None, (text, other_publishers)))
        reason = action.reason
        if limits and reason not in FAULTS:
            reason = Reason.LIMITED
        fine = action.reason in OK_REASONS and not action.has_problem
        ok = fine and not limits and not other_publishers
        values = {'lifecycle': lifecycle, 'acting': ' '.join(sorted(self._active_limits))}
        if arm is not None and arm.started:
            values['energy [J]'] = f'{arm.energy:.3g}'
        if warning:
            values[reason_of(warning).value] = warning
        self._action = action
        self._active_limits.clear()
        self.publish(Explanation(reason, text), ok, robot, values)
