# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Values of a file or the command line for parameters that do not exist."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from rclpy.exceptions import ParameterNotDeclaredException
from rclpy.node import Node
from rclpy.parameter import Parameter

from dynamics_ros.errors import DynamicsRosError
from dynamics_ros.nodes.rclpy_private import given_parameters
from dynamics_ros.settings import meant, undeclared

from .declaration import understood

TYPE_DESCRIPTIONS = 'start_type_description_service'

OF_RCLPY = ('use_sim_time', 'qos_overrides.', TYPE_DESCRIPTIONS)
"""How the names begin that rclpy declares; some only in newer versions, or for some topics."""


def refuse_undeclared(nodes: Sequence[Node], host: Node | None = None) -> None:
    """Have no value go unseen that sets no parameter, now and while the nodes run.

    What a node is given under its name is refused: it may be misspelt. What is given to all nodes
    may be for those of other processes: that is warned of.

    Args:
        nodes: all of this process, after all of their parameters have been declared.
        host: the one that has the parameters of the robot, when there are several. A value given
            to another one is fine if it is the same.

    Raises:
        DynamicsRosError: a node has no such parameter.
    """
    refused: list[str] = []
    warned: set[str] = set()
    for node in nodes:
        unknown = {
            name: given.value
            for name, given in given_parameters(node).items()
            if not node.has_parameter(name)
        }
        for_all = _given_to_all(node) if unknown else frozenset()
        for name, value in unknown.items():
            if host is not None and host.has_parameter(name):
                if _plain(value) != _plain(host.get_parameter(name).value):
                    node.get_logger().warning(
                        f'{name!r} is a parameter of {host.get_name()} in this process: '
                        'not used here'
                    )
            elif name not in for_all and not name.startswith(OF_RCLPY):
                known = [*_names(node), *(_names(host) if host else ())]
                refused.append(f'{node.get_name()} has no parameter {name!r}{meant(name, known)}')
            elif name.startswith(f'qos_overrides.{node.get_fully_qualified_name()}/'):
                continue  # an output of a frame, which comes with the robot
            elif name not in warned and not any(other.has_parameter(name) for other in nodes):
                warned.add(name)
                known = [known for other in nodes for known in _names(other)]
                node.get_logger().warning(undeclared(name, known))
    if refused:
        raise DynamicsRosError('; '.join(refused))
    for node in nodes:
        node.add_pre_set_parameters_callback(partial(_declared_ones, node))


def _declared_ones(node: Node, asked: list[Parameter[Any]]) -> list[Parameter[Any]]:
    """All that are asked for; rclpy refuses those that do not exist without naming them.

    The one callback of its kind on a node: rclpy would join the lists of several.
    """
    for given in asked:
        if not node.has_parameter(given.name):
            problem = f'{given.name!r}{meant(given.name, _names(node))}'
            raise ParameterNotDeclaredException(problem)
    return understood(node, asked)


def _names(node: Node) -> list[str]:
    return list(node.get_parameters_by_prefix(''))


def _given_to_all(node: Node) -> frozenset[str]:
    """Names that any node of its namespace is given: of /**, and of -p without a node's name."""
    # Which section is for which node, ROS alone knows. So it is asked what it would give to a node
    # that nobody can have meant; one without services, which DDS security may not allow to it.
    stranger = f'beside_{node.get_name()}'
    quiet = Parameter(TYPE_DESCRIPTIONS, Parameter.Type.BOOL, False)
    other = Node(
        stranger,
        context=node.context,
        namespace=node.get_namespace(),
        cli_args=['--ros-args', '-r', f'__node:={stranger}'],
        enable_rosout=False,
        start_parameter_services=False,
        parameter_overrides=[quiet],
    )
    try:
        return frozenset(given_parameters(other))
    finally:
        other.destroy_node()


def _plain(value: Any) -> Any:
    """A value as it compares: an empty list of a file has no type, and so is no value."""
    if value is None:
        return []
    return value if isinstance(value, bool | int | float | str) else list(value)
