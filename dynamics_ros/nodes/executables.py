# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The nodes of each executable, which imports only the modules of its nodes.

Executable dynamics_ros has three nodes in one process, with one robot and shared subscriptions:
topics, services and parameters are the same as when the nodes run separately, except that the
parameters of the robot belong to dynamics_node, which manages payload and gravity.
impedance_controller_node also runs contact_node in its process if it reacts to collisions.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from importlib import import_module
from typing import Any

from rclpy.node import Node

from dynamics_ros.errors import DynamicsRosError
from dynamics_ros.nodes.context import RobotContext
from dynamics_ros.nodes.diagnostics import Diagnostics, start_reports
from dynamics_ros.nodes.guarded_node import GuardedNode
from dynamics_ros.nodes.lifecycle import CommandingComponent, ManagedNode
from dynamics_ros.nodes.load import LoadSubscriber
from dynamics_ros.nodes.parameters import check_undeclared
from dynamics_ros.nodes.process import Application, run

COMPONENTS = {
    'kinematics_node': 'Kinematics',
    'dynamics_node': 'Dynamics',
    'contact_node': 'Contact',
    'impedance_controller_node': 'Impedance',
    'cartesian_servo_node': 'Servo',
}
"""Class of the component of each node, in the module of that name.

Kernels of services are compiled in this order; those of inverse kinematics come first.
"""


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


def build(*names: str) -> Application:
    """Create nodes on one robot; dynamics_node, or else the first one, has its parameters.

    Args:
        names: names of the nodes, before remapping.

    Raises:
        DynamicsRosError: a remapping gives several nodes the same name, or a parameter is invalid.
    """
    kinds = [getattr(import_module(f'{__package__}.{x}'), COMPONENTS[x]) for x in names]
    nodes = {
        name: (ManagedNode if issubclass(kind, CommandingComponent) else GuardedNode)(name)
        for name, kind in zip(names, kinds, strict=True)
    }
    check_names(nodes)
    host = nodes['dynamics_node' if 'dynamics_node' in nodes else names[0]]
    context = RobotContext(host)
    if 'dynamics_node' not in nodes:
        LoadSubscriber(context)
    for kind, node in zip(kinds, nodes.values(), strict=True):
        context.components.append(kind(node, context))
    if names == ('impedance_controller_node',):
        _add_collision_detector(context)
    components = context.components
    start_reports(host, [Diagnostics(context, component) for component in components])
    all_nodes = [component.node for component in components]
    check_undeclared(all_nodes)
    return Application(all_nodes, context)


def _add_collision_detector(context: RobotContext) -> None:
    """Run contact_node as the detector of collisions, if an arm reacts to them."""
    impedance: Any = context.components[0]
    if impedance.parameters.values.collision.reaction == 'none':
        return
    from dynamics_ros.nodes.contact_node import NAME, Contact

    node = GuardedNode(NAME)
    check_names({'impedance_controller_node': impedance.node, NAME: node})
    impedance.detector = Contact(node, context)
    context.components.insert(0, impedance.detector)  # it processes a state first


kinematics_node, dynamics_node, contact_node, impedance_controller_node, cartesian_servo_node = (
    partial(run, partial(build, name)) for name in COMPONENTS
)

build_composed = partial(build, 'kinematics_node', 'dynamics_node', 'contact_node')

composed = partial(run, build_composed)
