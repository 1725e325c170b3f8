# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Assembly of components on one robot into the application of a process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rclpy.node import Node

from dynamics_ros.errors import DynamicsRosError
from dynamics_ros.nodes.app.executor import Application
from dynamics_ros.nodes.parameters.undeclared import check_undeclared
from dynamics_ros.nodes.robot.component import Component
from dynamics_ros.nodes.robot.context import RobotContext
from dynamics_ros.nodes.robot.diagnostics import Diagnostics, start_reports
from dynamics_ros.nodes.robot.gravity_follower import GravityFollower


def check_names(nodes: Mapping[str, Node]) -> None:
    """Check that no ``-r __node:=NAME``, such as ``name`` of a launch action, renames all nodes.

    Args:
        nodes: nodes by their names before remapping.

    Raises:
        DynamicsRosError: several nodes have the same name.
    """
    names = [node.get_name() for node in nodes.values()]
    duplicate = next((name for name in names if names.count(name) > 1), None)
    if duplicate is not None:
        first = next(iter(nodes))
        raise DynamicsRosError(
            f'__node:={duplicate}: this process has the nodes {", ".join(nodes)}, which need a '
            f'name each; expected none, or one for a node of them: -r {first}:__node:={duplicate}'
        )


def application(context: RobotContext, components: Sequence[Component]) -> Application:
    """Return the application of components, which process each state in the given order.

    Raises:
        DynamicsRosError: an unknown parameter is set for a node.
    """
    for component in components:
        context.add(component)
    nodes = [component.node for component in components]
    start_reports(context.node, [Diagnostics(context, component) for component in components])
    GravityFollower(context)
    check_undeclared(nodes, context.node if components[1:] else None)
    return Application(nodes, context)
