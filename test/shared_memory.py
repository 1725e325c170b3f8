# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Shared memory of participants of Fast DDS, which a process that ends has to give back."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from pathlib import Path

import pytest
from rclpy.utilities import get_rmw_implementation_identifier

FOLDER = Path('/dev/shm')

needs_fast_dds = pytest.mark.skipif(
    not get_rmw_implementation_identifier().startswith('rmw_fastrtps'),
    reason=f'about threads or files of Fast DDS, not of {get_rmw_implementation_identifier()}',
)


def needs_shared_memory(test):
    """Mark a test of the shared memory of Fast DDS."""
    elsewhere = pytest.mark.skipif(not FOLDER.is_dir(), reason='shared memory is elsewhere')
    return elsewhere(needs_fast_dds(test))


_SEGMENT = re.compile(r'/dev/shm/(fastdds_[0-9a-f]+(?:_el)?)')
"""Shared memory of a participant, and the lock that says that it lives."""


def segments(pid: int | str) -> set[str]:
    """The shared memory that a process has mapped or open: its own and that of its peers."""
    process = Path('/proc', str(pid))
    try:
        text = (process / 'maps').read_text()
        text += ''.join(f'{os.readlink(file)}\n' for file in (process / 'fd').iterdir())
    except OSError:  # it has ended, or is somebody else's
        return set()
    return set(_SEGMENT.findall(text))


def left_behind(used: Iterable[str]) -> list[str]:
    """Which of these there are still, although no process has them."""
    others = set().union(*(segments(path.name) for path in Path('/proc').glob('[0-9]*')))
    return sorted(name for name in set(used) - others if (FOLDER / name).exists())
