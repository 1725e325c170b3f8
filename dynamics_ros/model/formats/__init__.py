# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Readers of descriptions: any format, by its first element; MJCF with mujoco, SDF with drake."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

from dynamics_ros.model.description import Contents
from dynamics_ros.model.description_file import description_text
from dynamics_ros.model.hardened_xml import is_text
from dynamics_ros.model.urdf import parse_urdf

from .mjcf import read_mjcf
from .sdf import read_sdf

FIRST_ELEMENT = re.compile(r'<(\w+)')
COMMENT = re.compile(r'<!--.*?-->', re.DOTALL)


def read_any(
    source: str | os.PathLike[str], xacro_arguments: Mapping[str, str] | None = None
) -> Contents:
    """Read a description of any supported format.

    Args:
        source: text that begins with '<': URDF, MJCF or SDF; or the path of a file, also a xacro
            file, whose name ends in ``.xacro``.
        xacro_arguments: values of the arguments (``<xacro:arg>``) of a xacro file by name.

    Raises:
        ModelError: the file cannot be read, or is not a description.
        InvalidArgumentError: the source is neither text nor a path.
    """
    text = description_text(source, xacro_arguments)
    if not is_text(source):
        source = Path(os.path.expanduser(source))
    first = FIRST_ELEMENT.search(COMMENT.sub('', text))
    kind = '' if first is None else first[1]
    if kind == 'mujoco':
        return read_mjcf(source)
    if kind == 'sdf':
        return read_sdf(source)
    return Contents(parse_urdf(text), text)
