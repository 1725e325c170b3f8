# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Buttons of the page that call services: tare, reset, and a push on the simulated robot."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from builtin_interfaces.msg import Duration
from geometry_msgs.msg import Vector3, Wrench
from rclpy.node import Node
from std_srvs.srv import Trigger

from dynamics_ros.nodes.reporting import FaultLog
from dynamics_ros.page.explorer import Explorer
from dynamics_ros.page.scene import Scene
from dynamics_ros_msgs.msg import Result
from dynamics_ros_msgs.srv import ApplyWrench

MAX_FORCE = 100.0
"""Largest force of the sliders [N]."""

PUSH, PUSH_SECONDS = 'robot_simulator/apply_wrench', 2


class Requests:
    """Tab with buttons that call services, and the result of the last call."""

    def __init__(self, node: Node, scene: Scene, explorer: Explorer, contact_node: str) -> None:
        """Add the tab.

        Args:
            node: node that calls the services.
            scene: scene of the page.
            explorer: has the tabs of the page, and the frame to push.
            contact_node: full name of contact_node.
        """
        self._node, self._scene, self._explorer = node, scene, explorer
        self._faults = FaultLog.of(node)
        self._buttons: list[tuple[Any, Any]] = []
        with explorer.tabs.add_tab('Requests'):
            hint = 'Takes the present wrench as zero: only without contact'
            self._add('Tare', 'teal', hint, f'{contact_node}/tare', Trigger.Request)
            hint = 'Clears a latched collision'
            self._add('Reset', 'orange', hint, f'{contact_node}/reset', Trigger.Request)
            self._force = scene.gui.add_vector3(
                'force [N]', (0.0, 15.0, 0.0),
                min=(-MAX_FORCE,) * 3, max=(MAX_FORCE,) * 3, step=1.0,
            )  # fmt: skip
            hint = f'Pushes the frame of the tab Robot for {PUSH_SECONDS} s'
            self._add('Push in the simulator', 'red', hint, PUSH, self._push_request)
            self._status_text = scene.gui.add_markdown('')

    def _add(
        self, text: str, color: str, hint: str, service: str, request: Callable[[], Any]
    ) -> None:
        """Add a button that calls a service."""
        kind = ApplyWrench if service == PUSH else Trigger
        client = self._node.create_client(kind, service)
        button = self._scene.gui.add_button(text, disabled=True, color=color, hint=hint)
        call = partial(self._call, text.split()[0].lower(), client, request)
        button.on_click(lambda _: self._scene.later(call))
        self._buttons.append((button, client))

    def update(self) -> None:
        """Disable the buttons whose services are not available."""
        for button, client in self._buttons:
            disabled = not client.service_is_ready()
            if button.disabled != disabled:
                button.disabled = disabled

    def _push_request(self) -> ApplyWrench.Request:
        x, y, z = map(float, self._force.value)
        return ApplyWrench.Request(
            frame=self._explorer.frame,
            wrench=Wrench(force=Vector3(x=x, y=y, z=z)),
            duration=Duration(sec=PUSH_SECONDS),
        )

    def _call(self, label: str, client: Any, request: Callable[[], Any]) -> None:
        if not client.service_is_ready():
            self._status_text.content = f'**{label}**: {client.srv_name} is not available'
            return
        self._status_text.content = f'**{label}** ...'
        show = self._faults.guarded(label, partial(self._show_result, label))
        client.call_async(request()).add_done_callback(show)

    def _show_result(self, label: str, future: Any) -> None:
        answer = future.result()
        if isinstance(answer, Trigger.Response):
            done, message = answer.success, answer.message
        else:
            done, message = answer.result.code == Result.SUCCESS, answer.result.message
        self._status_text.content = f'**{label}**: {"done" if done else "refused"}. {message}'
