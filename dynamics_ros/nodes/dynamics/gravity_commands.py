# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""~/gravity_commands: sent only while the node is active, and ended as its parameter says."""

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
    """Gravity torques for an effort controller; with ``command_joints`` the node is a managed one.

    Attributes:
        kernel: of the torques; None without joints.
    """

    def __init__(
        self,
        node: ManagedNode,
        parameters: ParameterSet[DynamicsParameters],
        changed: Callable[[], None],
    ) -> None:
        """Begin, silent.

        Args:
            node, parameters: of dynamics_node.
            changed: told when commands begin or end.
        """
        self._node = node
        self._parameters = parameters
        self._changed = changed
        self._topic: Output | None = None
        self._started = False
        self.kernel: Kernel | None = None
        self.offer()

    @property
    def output(self) -> Output | None:
        """The topic, while something is to be sent there."""
        return self._topic if self._node.active and self.kernel is not None else None

    def outputs(self) -> list[Output]:
        """The topic, whether or not anything is sent there."""
        return [] if self._topic is None else [self._topic]

    def details(self) -> dict[str, str]:
        """The state of the managed node."""
        return {'lifecycle': self._node.lifecycle} if self._node.managed else {}

    def caution(self) -> str:
        """That commands are configured and not sent; '' otherwise."""
        if not self._parameters.values.command_joints or self._node.active:
            return ''
        return f'no gravity_commands: {self._node.refusal or self._node.lifecycle}'

    def offer(self) -> None:
        """Be a managed node from the first joints on."""
        if self._node.managed or not self._parameters.values.command_joints:
            return
        self._node.manage(self, self._changed)
        if self._started:
            self._begin()

    def start(self) -> None:
        """Be active at once, if that is asked for."""
        self._started = True
        if self._node.managed:
            self._begin()

    def _begin(self) -> None:
        self._node.begin(self._parameters.values.autostart)

    def end(self) -> None:
        """End the commands before the process ends."""
        self._node.end()

    def adopt(self, kernel: Kernel | None) -> None:
        """Have other joints, or none any more."""
        if kernel is None and self.output is not None:
            self.deactivate()
        self.kernel = kernel

    # --- transitions ----------------------------------------------------------------------------

    def configure(self) -> None:
        """Have the topic.

        Raises:
            InvalidArgumentError: there are no joints to command.
        """
        if not self._parameters.values.command_joints:
            raise InvalidArgumentError('command_joints', 'empty', 'the joints of the controller')
        self._topic = Output(self._node, Float64MultiArray, '~/gravity_commands')

    def activate(self) -> None:
        """Nothing to do: states are answered with commands from now on."""

    def deactivate(self) -> None:
        """Send zeros, where they are asked for."""
        topic, kernel = self._topic, self.kernel
        if topic is None or kernel is None or self._parameters.values.commands_at_end == 'hold':
            return
        topic.publish(gravity_commands(kernel.trace.outputs[0].size))
        topic.wait_until_received()

    def cleanup(self) -> None:
        """Take the topic away."""
        if self._topic is not None:
            self._topic.close()
            self._topic = None


def gravity_commands(count: int) -> Float64MultiArray:
    """A command of zeros."""
    return Float64MultiArray(data=[0.0] * count)
