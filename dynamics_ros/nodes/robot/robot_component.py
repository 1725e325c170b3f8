# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Base class of components with parameters and the robot of a context."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Hashable
from typing import Any, Generic

from rclpy.node import Node

from dynamics_ros.estimation.samples.state_buffer import StateBuffer
from dynamics_ros.kernels import Kernel, Step
from dynamics_ros.nodes.output.outputs import Output, cap
from dynamics_ros.nodes.output.plan import KernelMessage
from dynamics_ros.nodes.parameters.declaration import ParameterSet
from dynamics_ros.settings import Settings
from dynamics_ros.wire.conversions import Array

from .component import Component
from .context import RobotContext


class RobotComponent(Component, ABC, Generic[Settings]):
    """Component with parameters; its parts, such as an action, get it as their only argument.

    Attributes:
        context: the robot and its state.
        parameters: parameters of its node.
    """

    def __init__(self, node: Node, context: RobotContext, settings: type[Settings]) -> None:
        super().__init__(node)
        self.context = context
        self.parameters = ParameterSet(node, settings)

    @property
    def values(self) -> Settings:
        """Current values of the parameters."""
        return self.parameters.values

    @property
    def arrays(self) -> StateBuffer:
        """Arrays of the current state, which kernels of messages read."""
        assert self.context.buffer is not None, 'outputs are computed only for a state'
        return self.context.buffer

    def rate_of(self, name: str) -> float:
        """Return the maximum rate of an output by the parameter ``publish_rates.NAME`` [Hz]."""
        values: Any = self.values
        return cap(getattr(values.publish_rates, name), values.publish_rate)

    @staticmethod
    def kernel_message(
        output: Output,
        path: str,
        key: Hashable,
        prototype: Callable[[Any], Any],
        kernel: Kernel,
        *inputs: Array,
    ) -> KernelMessage:
        """Return a message whose field ``path`` a kernel fills; see ``Output.template``."""
        template = output.template(key, prototype, (path,))
        return KernelMessage(template, (Step(kernel, inputs, template.numbers),))
