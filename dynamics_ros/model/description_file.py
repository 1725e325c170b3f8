# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A robot description from a file: URDF as it is, xacro expanded."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from dynamics_ros.errors import ModelError


def read_description_file(
    path: str | os.PathLike[str], xacro_arguments: Mapping[str, str] | None = None
) -> str:
    """The URDF text of a file.

    Args:
        path: a URDF file, or a xacro file if its name ends in ``.xacro``; ``~`` is the home folder.
        xacro_arguments: values of the xacro file's ``<xacro:arg>``.

    Raises:
        ModelError: the file cannot be read or expanded.
    """
    file = Path(path).expanduser()
    if file.suffix == '.xacro':
        return _expanded(file, dict(xacro_arguments or {}))
    if xacro_arguments:
        raise ModelError(f'file {str(file)!r}', 'takes no xacro arguments: it is no .xacro file')
    try:
        text = file.read_text(encoding='utf-8')
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, 'strerror', None) or error
        raise ModelError(f'file {str(file)!r}', f'cannot be read: {reason}') from error
    # Whoever reads it would take it for the name of another file.
    if text.lstrip('\ufeff \t\r\n')[:1] not in ('<', ''):
        raise ModelError(f'file {str(file)!r}', 'is no URDF: XML begins with "<"')
    return text


def _expanded(file: Path, arguments: dict[str, str]) -> str:
    try:
        import xacro
    except ImportError:
        raise ModelError(f'file {str(file)!r}', 'the package xacro is not installed') from None
    try:
        text: str = xacro.process_file(str(file), mappings=arguments).toxml()
    except Exception as error:  # xacro raises whatever the expressions of the file raise
        raise ModelError(f'file {str(file)!r}', f'xacro: {error}') from error
    return text
