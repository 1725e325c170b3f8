# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Base class of components with parameters and the robot of a context."""

from __future__ import annotations

from abc import ABC
from typing import Generic

from rclpy.node import Node

from dynamics_ros.nodes.parameters.declaration import ParameterSet
from dynamics_ros.settings import Settings

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
