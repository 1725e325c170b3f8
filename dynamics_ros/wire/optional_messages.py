# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Types of messages and services of packages that need not be installed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from dynamics_ros.errors import InvalidArgumentError


def message_type(name: str, parameter: str, otherwise: str) -> Any:
    """A type of another package.

    Args:
        name: such as ``tf2_msgs/msg/TFMessage``.
        parameter: that asks for it.
        otherwise: what the parameter is to be without the package.

    Raises:
        InvalidArgumentError: the package is not installed.
    """
    package, kind, own = name.split('/')
    try:
        return getattr(import_module(f'{package}.{kind}'), own)
    except ImportError:
        raise InvalidArgumentError(parameter, f'{package} is not installed', otherwise) from None
