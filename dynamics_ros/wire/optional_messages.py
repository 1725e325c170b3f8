# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Message and service types of optional packages."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from dynamics_ros.errors import InvalidArgumentError


def message_type(name: str, parameter: str, otherwise: str) -> Any:
    """Import a message or service type.

    Args:
        name: name of the type, such as ``tf2_msgs/msg/TFMessage``.
        parameter: name of the parameter that requires it, for the error.
        otherwise: valid values of that parameter without the package, for the error.

    Raises:
        InvalidArgumentError: the package is not installed.
    """
    package, kind, own = name.split('/')
    try:
        return getattr(import_module(f'{package}.{kind}'), own)
    except ImportError:
        raise InvalidArgumentError(parameter, f'{package} is not installed', otherwise) from None
