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

PUSH_SECONDS = 2


class Requests:
    """Tab with buttons that call services, and the result of the last call.

    Attributes:
        tab: the tab of the page.
    """

    def __init__(
        self, node: Node, scene: Scene, explorer: Explorer, nodes: tuple[str, str]
    ) -> None:
        """Add the tab.

        Args:
            node: node that calls the services.
            scene: scene of the page.
            explorer: has the tabs of the page, and the frame to push.
            nodes: names of contact_node and of robot_simulator.
        """
        contact, simulator = nodes
        self._explorer, self._faults, self._scene = explorer, FaultLog.of(node), scene
        self._push_client = node.create_client(ApplyWrench, f'{simulator}/apply_wrench')
        self._buttons: list[tuple[Any, Any]] = []
        with explorer.tabs.add_tab('Requests') as self.tab:
            for label, color, hint in (
                ('tare', 'teal', 'Takes the present wrench as zero: only without contact'),
                ('reset', 'orange', 'Clears a latched collision'),
            ):
                client = node.create_client(Trigger, f'{contact}/{label}')
                self._add(label.capitalize(), color, hint, client, Trigger.Request)
            self._force = scene.gui.add_vector3(
                'force [N]', (0.0, 15.0, 0.0),
                min=(-MAX_FORCE,) * 3, max=(MAX_FORCE,) * 3, step=1.0,
            )  # fmt: skip
            hint = f'Pushes the frame of the tab Robot for {PUSH_SECONDS} s'
            push = self._push_client, self._push_request
            self._add('Push in the simulator', 'red', hint, *push)
            self._status_text = scene.gui.add_markdown('')

    def _add(
        self, text: str, color: str, hint: str, client: Any, request: Callable[[], Any]
    ) -> None:
        """Add a button that calls a service."""
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
