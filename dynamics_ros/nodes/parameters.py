# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters of nodes: declaration from frozen dataclasses, checks, changes, and unknown names.

A dataclass field made with ``parameter()`` is a ROS parameter; a field that is a dataclass itself
is a group, and its name a prefix: ``observer.gain``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, Generic

from rcl_interfaces.msg import (
    FloatingPointRange,
    ParameterDescriptor,
    SetParametersResult,
)
from rclpy.exceptions import ParameterNotDeclaredException
from rclpy.node import Node
from rclpy.parameter import Parameter

from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError
from dynamics_ros.nodes.guarded_node import GuardedNode
from dynamics_ros.nodes.rclpy_private import given_parameters
from dynamics_ros.parameters.robot import advice, instead_of
from dynamics_ros.ros_yaml import read_yaml
from dynamics_ros.settings import NUMBERS, Declared, Settings, declared, replaced, undeclared

ROS_TYPES: dict[Any, Parameter.Type] = {
    bool: Parameter.Type.BOOL,
    int: Parameter.Type.INTEGER,
    float: Parameter.Type.DOUBLE,
    str: Parameter.Type.STRING,
    NUMBERS: Parameter.Type.DOUBLE_ARRAY,
    tuple[str, ...]: Parameter.Type.STRING_ARRAY,
}


def descriptor(item: Declared, read_only: bool) -> ParameterDescriptor:
    """Return the descriptor of a parameter, which `ros2 param describe` shows."""
    rule = item.constraint
    result = ParameterDescriptor(
        name=item.name,
        type=ROS_TYPES[item.type].value,
        description=f'{rule.description} [{rule.unit}]' if rule.unit else rule.description,
        additional_constraints=item.notes(),
        read_only=read_only,
    )
    # Ranges of ROS apply only to single numbers, and cannot include infinity as well.
    if item.type is float and item.bounded and not rule.may_be_infinite:
        limits = FloatingPointRange(from_value=rule.minimum, to_value=rule.maximum)
        result.floating_point_range = [limits]
    return result


class ParameterSet(Generic[Settings]):
    """Parameters of a node that are declared from a dataclass.

    Attributes:
        values: current values; replaced as a whole by the executor's thread, between callbacks.
    """

    def __init__(self, node: GuardedNode, kind: type[Settings]) -> None:
        """Declare all parameters, with values of the command line and of parameter files.

        Raises:
            InvalidArgumentError: a value is invalid.
        """
        self._node = node
        self._declared = {item.name: item for item in declared(kind)}
        self._checks: list[Callable[[Settings], None]] = []
        self._listeners: list[Callable[[frozenset[str]], None]] = []
        self._storing = False
        self.values = self._declare(kind())
        node.declared |= self._declared
        node.add_on_set_parameters_callback(self._check)
        node.add_post_set_parameters_callback(self._apply)

    @property
    def names(self) -> frozenset[str]:
        """Names of the parameters."""
        return frozenset(self._declared)

    def add_check(self, check: Callable[[Settings], None]) -> None:
        """Check the current values and, from now on, new ones.

        Args:
            check: raises a DynamicsRosError to refuse values.
        """
        check(self.values)
        self._checks.append(check)

    def add_listener(self, listener: Callable[[frozenset[str]], None]) -> None:
        """Add a function that is called with the changed names after ``values`` was replaced."""
        self._listeners.append(listener)

    def store(self, values: Mapping[str, Any]) -> None:
        """Set values by name without calling the listeners, for a caller that applies them itself.

        Raises:
            DynamicsRosError: a check refuses the values.
        """
        changed = [_parameter(self._declared[name], value) for name, value in values.items()]
        self._storing = True
        try:
            result = self._node.set_parameters_atomically(changed)
        finally:
            self._storing = False
        if not result.successful:
            raise DynamicsRosError(result.reason)

    def use_file(self, name: str, written_by: str) -> None:
        """Use the values of a parameter file for the parameters that are not given.

        Args:
            name: name of the parameter with the path of the file; nothing happens if it is empty.
            written_by: what has written the file, for errors.

        Raises:
            InvalidArgumentError: the file cannot be read, or has other parameters.
        """
        path, values = self.value(name), {}
        if not path:
            return
        try:
            (section,) = read_yaml(Path(os.path.expanduser(path))).values()
            for group, members in section[SECTION].items():
                for member, value in members.items():
                    key = f'{group}.{member}'
                    if key not in self._declared:
                        problem = f'{path}: no parameter {key!r}{advice(key, self._declared)}'
                        raise InvalidArgumentError(name, problem, f'a file of {written_by}')
                    item = self._declared[key]
                    values[item.name] = item.checked(value)
        except DynamicsRosError:
            raise
        except Exception as error:  # whatever is in the file
            problem = f'{path}: {type(error).__name__}: {" ".join(str(error).split())}'
            raise InvalidArgumentError(name, problem, f'a file of {written_by}') from error
        given = given_parameters(self._node)
        self.store({name: value for name, value in values.items() if name not in given})

    def value(self, name: str) -> Any:
        """Return the current value of a parameter."""
        return _value(self.values, self._declared[name])

    def _declare(self, values: Settings) -> Settings:
        """Declare all parameters; return ``values`` with the given values in place of defaults."""
        node, items = self._node, list(self._declared.values())
        # Declared without a type first: rclpy refuses integers for floating-point parameters, and
        # treats an empty list as bytes.
        free = [(item.name, None, ParameterDescriptor(dynamic_typing=True)) for item in items]
        for item, parameter in zip(items, node.declare_parameters('', free), strict=True):
            values = replaced(values, item.path, item.checked(parameter.value))
        # All at once: separate changes would each be published on /parameter_events.
        node.set_parameters_atomically([_parameter(item, _value(values, item)) for item in items])
        for item in items:
            node.set_descriptor(item.name, descriptor(item, item.constraint.read_only))
        return values

    def _candidate(self, parameters: Sequence[Parameter[Any]]) -> Settings:
        settings = self.values
        for parameter in parameters:
            if item := self._declared.get(parameter.name):
                settings = replaced(settings, item.path, item.checked(parameter.value))
        return settings

    def _check(self, parameters: Sequence[Parameter[Any]]) -> SetParametersResult:
        if not any(parameter.name in self._declared for parameter in parameters):
            # The current values may no longer fit the robot; that must not block other parameters.
            return SetParametersResult(successful=True)
        try:
            candidate = self._candidate(parameters)
            for check in self._checks:
                check(candidate)
        except DynamicsRosError as error:
            return SetParametersResult(successful=False, reason=str(error))
        return SetParametersResult(successful=True)

    def _apply(self, parameters: Sequence[Parameter[Any]]) -> None:
        before = self.values
        self.values = self._candidate(parameters)
        changed = frozenset(
            parameter.name
            for parameter in parameters
            if (item := self._declared.get(parameter.name)) is not None
            and _value(before, item) != _value(self.values, item)
        )
        if not changed or self._storing:
            return
        for listener in self._listeners:
            listener(changed)


def _value(settings: Any, item: Declared) -> Any:
    for step in item.path:
        settings = getattr(settings, step)
    return settings


def _parameter(item: Declared, value: Any) -> Parameter[Any]:
    stored = list(value) if isinstance(value, tuple) else value
    return Parameter(item.name, ROS_TYPES[item.type], stored)


SECTION = 'ros__parameters'


def check_undeclared(nodes: Sequence[GuardedNode]) -> None:
    """Warn of unknown parameters; name unknown parameters in later requests.

    A parameter that is given for all nodes of a process may be known to only one of them.

    Args:
        nodes: all nodes of this process, after the declaration of their parameters.

    Raises:
        InvalidArgumentError: a parameter of an earlier version is given.
    """
    known = [name for node in nodes for name in _names(node)]
    warned = set(known)
    for node in nodes:
        outputs = f'qos_overrides.{node.get_fully_qualified_name()}/'
        for name in given_parameters(node):
            if name not in known and (instead := instead_of(name)):
                raise InvalidArgumentError(name, 'is no parameter any more', instead)
            # Outputs of frames are created with the robot.
            if name not in warned and not name.startswith(outputs):
                warned.add(name)
                node.get_logger().warning(undeclared(name, known))
    for node in nodes:
        node.add_pre_set_parameters_callback(partial(_checked_parameters, node))


def _checked_parameters(node: GuardedNode, requested: list[Parameter[Any]]) -> list[Parameter[Any]]:
    """Check that the parameters of a request exist, and convert them to their declared types.

    rclpy refuses unknown parameters without naming them, and `ros2 param` guesses types: 1 is an
    integer, [] a list of booleans, 1e-05 a text. A node may have only one callback of this kind,
    because rclpy concatenates the lists of several.

    Raises:
        ParameterNotDeclaredException: the node has no such parameter.
    """
    result = []
    for given in requested:
        if not node.has_parameter(given.name):
            problem = f'{given.name!r}{advice(given.name, _names(node))}'
            raise ParameterNotDeclaredException(problem)
        item = node.declared.get(given.name)
        if item is not None and given.type_ is not Parameter.Type.NOT_SET:
            with suppress(InvalidArgumentError):  # ``ParameterSet`` refuses it with the reason
                given = _parameter(item, item.typed(given.value))
        result.append(given)
    return result


def _names(node: Node) -> list[str]:
    return list(node.get_parameters_by_prefix(''))
