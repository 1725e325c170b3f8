# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Descriptions in xacro, by the package of that name where it is installed."""

from __future__ import annotations

import os
from collections.abc import Mapping

from dynamics_ros.errors import ModelError

from .hardened_xml import quoted


def expanded_xacro(path: str | os.PathLike[str], arguments: Mapping[str, object]) -> str:
    """The URDF text of a xacro file; expanding it runs expressions in it.

    Args:
        path: of the file.
        arguments: values of its ``<xacro:arg>`` by name.

    Raises:
        ModelError: the package xacro is not there, or refuses the file.
    """
    try:
        import xacro
    except ImportError:
        reason = 'is xacro, and the package xacro is not installed (pip install xacro)'
        raise ModelError(f'file {quoted(str(path))}', reason) from None
    mappings = {name: str(value) for name, value in arguments.items()}
    try:
        return str(xacro.process_file(os.fspath(path), mappings=mappings).toxml())
    except Exception as error:
        # What a file may raise is whatever the expressions in it raise.
        problem = f'xacro cannot expand it: {type(error).__name__}: {error}'
        raise ModelError(f'file {quoted(str(path))}', problem) from error
