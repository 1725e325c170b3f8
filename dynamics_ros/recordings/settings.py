# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Reader of node parameters from YAML files, without a node."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TypeVar

from yaml import YAMLError

from dynamics_ros.errors import DynamicsRosError, InvalidArgumentError
from dynamics_ros.parameters.contact import ContactParameters
from dynamics_ros.parameters.dynamics import DynamicsParameters, PayloadParameters
from dynamics_ros.parameters.robot import RobotParameters, advice
from dynamics_ros.ros_yaml import read_yaml, yaml_problem
from dynamics_ros.settings import declared, replaced, undeclared

Settings = TypeVar('Settings')

PARAMETERS = 'ros__parameters'
LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class EstimationSettings:
    """Parameters of the estimators for a recording.

    Attributes:
        contact, robot: parameters of contact_node.
        carried: initial payload.
    """

    contact: ContactParameters = field(default_factory=ContactParameters)
    robot: RobotParameters = field(default_factory=RobotParameters)
    carried: PayloadParameters = field(default_factory=PayloadParameters)


def read_settings(path: Path | None) -> EstimationSettings:
    """Returns the settings of a ROS parameter file; the defaults if ``path`` is None.

    Raises:
        DynamicsRosError: a parameter that contact_node does not declare, or an invalid value.
    """
    if path is None:
        return EstimationSettings()
    values = read_parameters(path, 'contact_node')
    known = [item.name for kind in (ContactParameters, RobotParameters) for item in declared(kind)]
    _refuse_undeclared(read_parameters(path, ''), values.keys() - known, known)
    return EstimationSettings(
        settings_of(ContactParameters, values),
        settings_of(RobotParameters, values),
        settings_of(DynamicsParameters, read_parameters(path, 'dynamics_node')).payload,
    )


def read_parameters(path: Path, node: str) -> dict[str, Any]:
    """Returns the parameters of a node in a ROS parameter file, with dotted names.

    Args:
        path: file as for ``--params-file``; patterns such as ``/**`` are supported.
        node: name of the node, without namespace.

    Raises:
        InvalidArgumentError: the file does not exist or contains no parameters.
    """
    try:
        content = read_yaml(path)
    except (OSError, UnicodeDecodeError, YAMLError) as error:
        raise InvalidArgumentError(
            'parameters', f'{path}: {yaml_problem(error)}', 'a YAML file in UTF-8'
        ) from error
    if not isinstance(content, Mapping):
        raise InvalidArgumentError('parameters', f'{path} is no mapping', 'node: ros__parameters:')
    values: dict[str, Any] = {}
    for pattern, group in content.items():
        if not isinstance(group, Mapping) or PARAMETERS not in group:
            raise InvalidArgumentError(
                'parameters', f'{pattern} has no {PARAMETERS}', f'{pattern}: {PARAMETERS}:'
            )
        parameters = group[PARAMETERS] or {}
        if not isinstance(parameters, Mapping):
            problem = f'{PARAMETERS} of {pattern} is {type(parameters).__name__}'
            raise InvalidArgumentError('parameters', problem, 'NAME: VALUE')
        if fnmatchcase(f'/{node}', f'/{pattern.lstrip("/")}'.replace('/**/', '/')):
            values |= dict(_flat(parameters))
    return values


def settings_of(kind: type[Settings], values: Mapping[str, Any]) -> Settings:
    """Returns a parameter dataclass with these values; unknown names are ignored.

    Raises:
        InvalidArgumentError: a value is invalid for its parameter.
    """
    settings = kind()
    for item in declared(kind):
        if item.name in values:
            settings = replaced(settings, item.path, item.checked(values[item.name]))
    return settings


def _refuse_undeclared(
    for_all: Mapping[str, Any], unknown: Iterable[str], known: Sequence[str]
) -> None:
    """Raises for unknown parameters of the node; warns if they are set for all nodes."""
    refused = []
    for name in sorted(unknown):
        if name in for_all:
            LOG.warning(undeclared(name, known))
        else:
            refused.append(f'contact_node has no parameter {name!r}{advice(name, known)}')
    if refused:
        raise DynamicsRosError('; '.join(refused))


def _flat(group: Mapping[str, Any], prefix: str = '') -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, value in group.items():
        if isinstance(value, Mapping):
            found += _flat(value, f'{prefix}{name}.')
        else:
            found.append((f'{prefix}{name}', value))
    return found
