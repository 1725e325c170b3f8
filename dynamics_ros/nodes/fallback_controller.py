# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Controller of ros2_control that takes over an arm from impedance_controller_node."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.nodes.guarded_node import GuardedNode


class FallbackController:
    """Client that asks the controller manager to activate a controller."""

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
        self._name = name
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
            return f'{service} does not exist, so {self._name} is not activated'
        infos = self._node.get_subscriptions_info_by_topic(topic)
        names = sorted({info.node_name for info in infos} - {self._name})
        # Of the subscribers, those that are no controllers are ignored.
        request = self._request(
            activate_controllers=[self._name],
            deactivate_controllers=names,
            strictness=self._request.BEST_EFFORT,
            activate_asap=True,
        )

        def answered(future: Any) -> None:
            response = future.result()
            why = getattr(response, 'message', '')
            refused = f'{self._name} was not activated: {why or "the switch failed"}'
            report(f'{self._name} takes over' if response.ok else refused)

        future = self._client.call_async(request)
        future.add_done_callback(self._node.faults.guarded('fallback_controller', answered))
        return ''

    def close(self) -> None:
        """Destroy the client."""
        self._node.destroy_client(self._client)
