# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Stiffness targets, fallback controller and status of impedance_controller_node."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from std_msgs.msg import Float64MultiArray

from dynamics_ros.commanding.arm import stiffness_of
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.nodes.commander import POSE, TWIST, WRENCH, Frames, TargetKind, check_size
from dynamics_ros.nodes.guarded_node import GuardedNode
from dynamics_ros.parameters.impedance import MAX_STIFFNESS
from dynamics_ros.reasons import FAULTS, Explanation, Reason
from dynamics_ros.wire.conversions import Array, float_array

HOLDING, GUIDED, PAUSED, BRAKING = 'holding', 'guided by hand', 'paused', 'braking'


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
    'torque': 'largest torque',
    'torque_rate': 'largest torque rate',
    'lead': 'the tool does not follow',
    'speed': 'a joint far beyond its velocity limit',
    'range': 'a joint far beyond its range',
}
"""Descriptions of the flags of the control law."""


def described(action: Action, acting: Collection[str]) -> Explanation:
    """Return an action with the limits that acted since the last status, flags of the law."""
    limits = ', '.join(text for flag, text in LIMITS.items() if flag in acting)
    reason = Reason.LIMITED if limits and action.reason not in FAULTS else action.reason
    return Explanation(reason, f'{action.text}; limited by: {limits}' if limits else action.text)


class FallbackController:
    """Controller of ros2_control that takes over an arm from the node.

    Attributes:
        name: of the controller.
    """

    def __init__(self, node: GuardedNode, name: str) -> None:
        """Create the client of the controller manager.

        Raises:
            InvalidArgumentError: the messages of the controller manager are not installed.
        """
        try:
            from controller_manager_msgs.srv import SwitchController
        except ImportError:
            package = 'ros-<distribution>-controller-manager-msgs'
            expected = f'the package controller_manager_msgs ({package}), which is not installed'
            raise InvalidArgumentError('fallback_controller', name, expected) from None
        self.name = name
        self._node, self._request = node, SwitchController.Request
        self._client = node.create_client(SwitchController, 'controller_manager/switch_controller')

    def take_over(self, topic: str, report: Callable[[str], None]) -> str:
        """Ask for the switch from the controllers that subscribe to a topic; returns at once.

        Args:
            topic: of the commands. A controller has a node of its name.
            report: called with the response, as a part of a sentence.

        Returns:
            Why nobody can be asked; '' if the controller manager was.
        """
        if not self._client.service_is_ready():
            service = self._node.resolve_service_name(self._client.srv_name)
            return f'{service} does not exist, so {self.name} is not activated'
        infos = self._node.get_subscriptions_info_by_topic(topic)
        names = sorted({info.node_name for info in infos} - {self.name})
        # Of the subscribers, those that are no controllers are ignored.
        request = self._request(
            activate_controllers=[self.name],
            deactivate_controllers=names,
            strictness=self._request.BEST_EFFORT,
            activate_asap=True,
        )

        def answered(future: Any) -> None:
            response = future.result()
            why = getattr(response, 'message', '')
            refused = f'{self.name} was not activated: {why or "the switch failed"}'
            report(f'{self.name} takes over' if response.ok else refused)

        future = self._client.call_async(request)
        future.add_done_callback(self._node.faults.guarded('fallback_controller', answered))
        return ''

    def close(self) -> None:
        """Destroy the client."""
        self._node.destroy_client(self._client)


def _stiffness(name: str, message: Any, _frames: Frames, _q: Array) -> Array:
    values = float_array(message.data)
    matrix = stiffness_of(f'{name}.data', values)
    check_size(f'{name}.data', values, MAX_STIFFNESS)
    return matrix


STIFFNESS = TargetKind('stiffness_command', Float64MultiArray, _stiffness, 'stiffness')
"""Stiffness (6, 6) [N/m, Nm/rad] in the axes of ``stiffness_frame``; it does not become stale."""

KINDS = (POSE, TWIST, WRENCH, STIFFNESS)
