# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Detection of unknown parameters in parameter files, on the command line and in requests."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from rclpy.exceptions import ParameterNotDeclaredException
from rclpy.node import Node
from rclpy.parameter import Parameter

from dynamics_ros.errors import DynamicsRosError, meant
from dynamics_ros.nodes.rclpy_private import given_parameters
from dynamics_ros.settings import undeclared

from .declaration import converted
from .parameter_files import ineffective_files

TYPE_DESCRIPTIONS = 'start_type_description_service'

RCLPY_PREFIXES = ('use_sim_time', 'qos_overrides.', TYPE_DESCRIPTIONS)
"""Prefixes of parameters of rclpy, some only in newer versions or for some topics."""


def check_undeclared(nodes: Sequence[Node], host: Node | None = None) -> None:
    """Report unknown parameters, now and in later requests to set parameters, and unused files.

    An unknown parameter that is given for one node by name is an error, since it may be misspelt.
    One that is given for all nodes may be for another process, and causes a warning.

    Args:
        nodes: all nodes of this process, after the declaration of their parameters.
        host: node with the parameters of the robot, if there are several nodes. A parameter of the
            host that is given for another node causes a warning if the values differ.

    Raises:
        DynamicsRosError: an unknown parameter is given for a node by name.
    """
    for warning in ineffective_files(sys.argv, [node.get_fully_qualified_name() for node in nodes]):
        nodes[0].get_logger().warning(warning)
    refused: list[str] = []
    warned: set[str] = set()
    for node in nodes:
        unknown = {
            name: given.value
            for name, given in given_parameters(node).items()
            if not node.has_parameter(name)
        }
        for_all = _names_for_all_nodes(node) if unknown else frozenset()
        for name, value in unknown.items():
            if host is not None and host.has_parameter(name):
                if _comparable(value) != _comparable(host.get_parameter(name).value):
                    node.get_logger().warning(
                        f'{name!r} is a parameter of {host.get_name()} in this process: '
                        'not used here'
                    )
            elif name not in for_all and not name.startswith(RCLPY_PREFIXES):
                known = [*_names(node), *(_names(host) if host else ())]
                refused.append(f'{node.get_name()} has no parameter {name!r}{meant(name, known)}')
            elif name.startswith(f'qos_overrides.{node.get_fully_qualified_name()}/'):
                continue  # an output of a frame, which is created with the robot
            elif name not in warned and not any(other.has_parameter(name) for other in nodes):
                warned.add(name)
                known = [known for other in nodes for known in _names(other)]
                node.get_logger().warning(undeclared(name, known))
    if refused:
        raise DynamicsRosError('; '.join(refused))
    for node in nodes:
        node.add_pre_set_parameters_callback(partial(_checked_parameters, node))


def _checked_parameters(node: Node, requested: list[Parameter[Any]]) -> list[Parameter[Any]]:
    """Check that the parameters of a request exist, and convert them to their declared types.

    rclpy refuses unknown parameters without naming them. A node may have only one callback of this
    kind, because rclpy concatenates the lists of several.

    Raises:
        ParameterNotDeclaredException: the node has no such parameter.
    """
    for given in requested:
        if not node.has_parameter(given.name):
            problem = f'{given.name!r}{meant(given.name, _names(node))}'
            raise ParameterNotDeclaredException(problem)
    return converted(node, requested)


def _names(node: Node) -> list[str]:
    return list(node.get_parameters_by_prefix(''))


def _names_for_all_nodes(node: Node) -> frozenset[str]:
    """Return the names given for all nodes in a namespace: in /**, or by -p without a node name."""
    # Only ROS can tell which section applies to which node. Therefore this creates a node with a
    # name that nobody uses, and reads what it is given. It has no services, which DDS security may
    # not allow.
    probe_name = f'beside_{node.get_name()}'
    quiet = Parameter(TYPE_DESCRIPTIONS, Parameter.Type.BOOL, False)
    probe = Node(
        probe_name,
        context=node.context,
        namespace=node.get_namespace(),
        cli_args=['--ros-args', '-r', f'__node:={probe_name}'],
        enable_rosout=False,
        start_parameter_services=False,
        parameter_overrides=[quiet],
    )
    try:
        return frozenset(given_parameters(probe))
    finally:
        probe.destroy_node()


def _comparable(value: Any) -> Any:
    """Convert a value for comparison; an empty list in a file has no type and is read as None."""
    if value is None:
        return []
    return value if isinstance(value, bool | int | float | str) else list(value)
