# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Temporary files, which are deleted at the end of the launch."""

from __future__ import annotations

import atexit
import os
import tempfile
from contextlib import suppress
from typing import Any

import yaml


def temporary_yaml(content: Any, suffix: str = '.yaml') -> str:
    """Write a YAML file that is deleted when this process ends; return its path."""
    with tempfile.NamedTemporaryFile(
        'w', encoding='utf-8', prefix='dynamics_ros_', suffix=suffix, delete=False
    ) as file:
        yaml.safe_dump(content, file, sort_keys=False)
    atexit.register(_remove, file.name)
    return file.name


def _remove(path: str) -> None:
    with suppress(FileNotFoundError):
        os.remove(path)
