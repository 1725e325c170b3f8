# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Assembly of components on one robot into the application of a process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rclpy.node import Node

from dynamics_ros.errors import DynamicsRosError
from dynamics_ros.nodes.app.executor import Application
from dynamics_ros.nodes.parameters.undeclared import refuse_undeclared
from dynamics_ros.nodes.robot.component import Component
from dynamics_ros.nodes.robot.context import RobotContext
from dynamics_ros.nodes.robot.diagnostics import Diagnostics, report_in_turn
from dynamics_ros.nodes.robot.gravity_follower import GravityFollower


def check_names(nodes: Mapping[str, Node]) -> None:
    """Check that no ``-r __node:=NAME``, such as ``name`` of a launch action, renames all nodes.

    Args:
        nodes: nodes by their names before remapping.

    Raises:
        DynamicsRosError: several nodes have the same name.
    """
    given = [node.get_name() for node in nodes.values()]
    twice = next((name for name in given if given.count(name) > 1), None)
    if twice is not None:
        first = next(iter(nodes))
        raise DynamicsRosError(
            f'__node:={twice}: this process has the nodes {", ".join(nodes)}, which need a name '
            f'each; expected none, or one for a node of them: -r {first}:__node:={twice}'
        )


def application(context: RobotContext, parts: Sequence[Component]) -> Application:
    """Return the application of components, which process each state in the given order.

    Raises:
        DynamicsRosError: an unknown parameter is set for a node.
    """
    for part in parts:
        context.add(part)
    nodes = [part.node for part in parts]
    report_in_turn(context.node, [Diagnostics(context, part) for part in parts])
    GravityFollower(context)
    refuse_undeclared(nodes, context.node if parts[1:] else None)
    return Application(nodes, context)
