# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Kinematics and dynamics of robots from their description, for ROS 2 and plain Python."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .export import export_kernels
    from .robot import Robot

__all__ = ['Robot', '__version__', 'export_kernels']

__version__ = '0.1.0'

_HOMES = {'Robot': 'robot', 'export_kernels': 'export'}


def __getattr__(name: str) -> Any:
    # Lazy import: the executables install signal handlers before any heavy import.
    if name not in _HOMES:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    value = getattr(import_module(f'.{_HOMES[name]}', __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
