# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""~/gravity_commands: torques for an effort controller, sent only while the node is active."""

from __future__ import annotations

from collections.abc import Callable

from std_msgs.msg import Float64MultiArray

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels import Kernel
from dynamics_ros.nodes.app.managed import ManagedNode
from dynamics_ros.nodes.output.outputs import Output
from dynamics_ros.nodes.parameters.declaration import ParameterSet
from dynamics_ros.parameters.dynamics import DynamicsParameters


class GravityCommands:
    """Topic of gravity torques for an effort controller.

    With ``command_joints`` the node becomes a managed node.

    Attributes:
        kernel: kernel of the torques; None without command joints.
    """

    def __init__(
        self,
        node: ManagedNode,
        parameters: ParameterSet[DynamicsParameters],
        on_change: Callable[[], None],
    ) -> None:
        """Manage the node if there are command joints; call ``on_change`` in its transitions."""
        self._node = node
        self._parameters = parameters
        self._on_change = on_change
        self._topic: Output | None = None
        self._started = False
        self.kernel: Kernel | None = None
        self.manage_node()

    @property
    def output(self) -> Output | None:
        """Publisher of the commands while they are sent, otherwise None."""
        return self._topic if self._node.active and self.kernel is not None else None

    def outputs(self) -> list[Output]:
        """Return the publisher if it exists, whether or not commands are sent."""
        return [] if self._topic is None else [self._topic]

    def details(self) -> dict[str, str]:
        """Return the lifecycle state of a managed node."""
        return {'lifecycle': self._node.lifecycle} if self._node.managed else {}

    def caution(self) -> str:
        """Return why configured commands are not sent; '' if they are."""
        if not self._parameters.values.command_joints or self._node.active:
            return ''
        return f'no gravity_commands: {self._node.refusal or self._node.lifecycle}'

    def manage_node(self) -> None:
        """Make the node a managed node as soon as there are command joints."""
        if self._node.managed or not self._parameters.values.command_joints:
            return
        self._node.manage(self, self._on_change)
        if self._started:
            self.start()

    def start(self) -> None:
        """Configure and activate a managed node if ``autostart`` is set."""
        self._started = True
        if self._node.managed:
            self._node.begin(self._parameters.values.autostart)

    def end(self) -> None:
        """Deactivate the node before the process ends."""
        self._node.end()

    def adopt(self, kernel: Kernel | None) -> None:
        """Switch to the kernel of other joints; None ends the commands."""
        if kernel is None and self.output is not None:
            self.deactivate()
        self.kernel = kernel

    # --- transitions ----------------------------------------------------------------------------

    def configure(self) -> None:
        """Create the topic.

        Raises:
            InvalidArgumentError: there are no command joints.
        """
        if not self._parameters.values.command_joints:
            raise InvalidArgumentError('command_joints', 'empty', 'the joints of the controller')
        self._topic = Output(self._node, Float64MultiArray, '~/gravity_commands')

    def activate(self) -> None:
        """Do nothing: ``output`` is available from now on."""

    def deactivate(self) -> None:
        """Send zeros, unless the parameter ``commands_at_end`` is 'hold'."""
        topic, kernel = self._topic, self.kernel
        if topic is None or kernel is None or self._parameters.values.commands_at_end == 'hold':
            return
        topic.publish(gravity_commands(kernel.trace.outputs[0].size))
        topic.wait_until_received()

    def cleanup(self) -> None:
        """Destroy the topic."""
        if self._topic is not None:
            self._topic.close()
            self._topic = None


def gravity_commands(count: int) -> Float64MultiArray:
    """Return a command of ``count`` zeros."""
    return Float64MultiArray(data=[0.0] * count)
