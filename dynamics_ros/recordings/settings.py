"""Parameters of a node from a YAML file, without the node."""

from __future__ import annotations

from collections.abc import Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, TypeVar

import yaml

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.settings import declared, replaced

Settings = TypeVar('Settings')

PARAMETERS = 'ros__parameters'


def read_parameters(path: Path, node: str) -> dict[str, Any]:
    """What a file of ROS parameters says about a node, under dotted names.

    Args:
        path: as for ``--params-file``; patterns such as ``/**`` are followed.
        node: name of the node, without a namespace.

    Raises:
        InvalidArgumentError: no such file, or it does not hold parameters.
    """
    try:
        content = yaml.safe_load(path.read_text())
    except (OSError, yaml.YAMLError) as error:
        raise InvalidArgumentError('parameters', str(error), 'a YAML file') from error
    if not isinstance(content, Mapping):
        raise InvalidArgumentError('parameters', f'{path} is no mapping', 'node: ros__parameters:')
    values: dict[str, Any] = {}
    for pattern, group in content.items():
        if not isinstance(group, Mapping) or PARAMETERS not in group:
            raise InvalidArgumentError(
                'parameters', f'{pattern} has no {PARAMETERS}', f'{pattern}: {PARAMETERS}:'
            )
        if fnmatchcase(f'/{node}', f'/{pattern.lstrip("/")}'.replace('/**/', '/')):
            values |= dict(_flat(group[PARAMETERS] or {}))
    return values


def settings_of(kind: type[Settings], values: Mapping[str, Any]) -> Settings:
    """A dataclass of parameters with these values; names that it does not have are passed over.

    Raises:
        InvalidArgumentError: a value that the parameter cannot take.
    """
    settings = kind()
    for item in declared(kind):
        if item.name in values:
            settings = replaced(settings, item.path, item.checked(values[item.name]))
    return settings


def _flat(group: Mapping[str, Any], prefix: str = '') -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    for name, value in group.items():
        if isinstance(value, Mapping):
            found += _flat(value, f'{prefix}{name}.')
        else:
            found.append((f'{prefix}{name}', value))
    return found
