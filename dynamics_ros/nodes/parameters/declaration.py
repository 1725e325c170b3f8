# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Declaration of parameters from frozen dataclasses, with checks and notification of changes.

A dataclass field made with ``parameter()`` is a ROS parameter; a field that is a dataclass itself
is a group, and its name a prefix: ``observer.gain``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic
from weakref import WeakKeyDictionary

from rcl_interfaces.msg import (
    FloatingPointRange,
    IntegerRange,
    ParameterDescriptor,
    SetParametersResult,
)
from rclpy.node import Node
from rclpy.parameter import Parameter

from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError
from dynamics_ros.settings import NUMBERS, Declared, Settings, declared, replaced

MAX_INTEGER = 2**63 - 1
"""Largest value of an integer parameter in ROS."""

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
    if item.type is int and item.bounded:
        low, high = max(rule.minimum, -MAX_INTEGER), min(rule.maximum, MAX_INTEGER)
        result.integer_range = [IntegerRange(from_value=int(low), to_value=int(high))]
    return result


class ParameterSet(Generic[Settings]):
    """Parameters of a node that are declared from a dataclass.

    Attributes:
        values: current values; replaced as a whole by the executor's thread, between callbacks.
    """

    def __init__(self, node: Node, kind: type[Settings]) -> None:
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
        _sets.setdefault(node, []).append(self)
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
        changed = [self._parameter(self._declared[name], value) for name, value in values.items()]
        self._storing = True
        try:
            result = self._node.set_parameters_atomically(changed)
        finally:
            self._storing = False
        if not result.successful:
            raise DynamicsRosError(result.reason)

    def value(self, name: str) -> Any:
        """Return the current value of a parameter."""
        return _value(self.values, self._declared[name])

    def converted(self, parameter: Parameter[Any]) -> Parameter[Any]:
        """Convert a parameter to its declared type; return it unchanged if that fails."""
        item = self._declared.get(parameter.name)
        if item is None or parameter.type_ is Parameter.Type.NOT_SET:
            return parameter
        try:
            return self._parameter(item, item.typed(parameter.value))
        except InvalidArgumentError:
            return parameter  # ``_check`` refuses it with the reason

    def _parameter(self, item: Declared, value: Any) -> Parameter[Any]:
        stored = list(value) if isinstance(value, tuple) else value
        return Parameter(item.name, ROS_TYPES[item.type], stored)

    def _declare(self, values: Settings) -> Settings:
        """Declare all parameters; return ``values`` with the given values in place of defaults."""
        node, items = self._node, list(self._declared.values())
        # Declared without a type first: rclpy refuses integers for floating-point parameters, and
        # treats an empty list as bytes.
        free = [(item.name, None, ParameterDescriptor(dynamic_typing=True)) for item in items]
        for item, parameter in zip(items, node.declare_parameters('', free), strict=True):
            values = replaced(values, item.path, item.checked(parameter.value))
        # All at once: separate changes would each be published on /parameter_events.
        node.set_parameters_atomically(
            [self._parameter(item, _value(values, item)) for item in items]
        )
        for item in items:
            node.set_descriptor(item.name, descriptor(item, item.constraint.read_only))
        return values

    def _candidate(self, parameters: Sequence[Parameter[Any]]) -> Settings:
        settings = self.values
        for parameter in parameters:
            item = self._declared.get(parameter.name)
            if item is not None:
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
        if changed and not self._storing:
            for listener in self._listeners:
                listener(changed)


def _value(settings: Any, item: Declared) -> Any:
    for step in item.path:
        settings = getattr(settings, step)
    return settings


_sets: WeakKeyDictionary[Node, list[ParameterSet[Any]]] = WeakKeyDictionary()
"""Parameter sets of each node."""


def converted(node: Node, asked: Sequence[Parameter[Any]]) -> list[Parameter[Any]]:
    """Convert the parameters of a request to the types with which a node has declared them.

    `ros2 param` guesses types: 1 is an integer, [] a list of booleans, 1e-05 a text.
    """
    result = list(asked)
    for parameters in _sets.get(node, ()):
        result = [parameters.converted(parameter) for parameter in result]
    return result
