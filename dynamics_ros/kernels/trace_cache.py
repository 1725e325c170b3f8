# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Disk cache of traces: a later process neither traces nor prints a cached trace again."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from dynamics_ros.kernels.graph.trace import Trace
from dynamics_ros.kernels.process import disk_cache

PACKAGE = Path(__file__).parents[1]


def cached(depends_on: Any, rooms: tuple[str, ...], make: Callable[[], Trace]) -> Trace:
    """Return a trace from the disk cache, or make it and store it there.

    Args:
        depends_on: everything that the trace depends on besides code; if it cannot be pickled, the
            function is traced each time.
        rooms: folders of this package with the code that it depends on, besides ``kernels``.
        make: makes the trace.

    Returns:
        The trace, with its origin if it can be cached.
    """
    origin = _origin(depends_on, rooms)
    stored = disk_cache.read(origin) if origin else None
    if stored is not None:
        found: Trace = pickle.loads(stored)
        return found
    made = replace(make(), origin=origin)
    if origin:
        disk_cache.write(origin, pickle.dumps(made, pickle.HIGHEST_PROTOCOL))
    return made


def _origin(depends_on: Any, rooms: tuple[str, ...]) -> str:
    """Return a digest of everything that a trace depends on; '' if it cannot be cached."""
    if disk_cache.folder() is None or not (code := _code(rooms)):
        return ''
    try:
        content = pickle.dumps(depends_on, pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, TypeError, AttributeError):
        return ''
    return disk_cache.key('trace', sys.version, np.__version__, code, content)


@lru_cache(maxsize=8)
def _code(rooms: tuple[str, ...]) -> str:
    """Return a digest of the sources in rooms and ``kernels``; '' if they are missing."""
    folders = [PACKAGE / room for room in ('kernels', *rooms)]
    sources = sorted(path for folder in folders for path in folder.rglob('*.py'))
    try:
        return disk_cache.key(*(x for path in sources for x in (path.name, path.read_bytes())))
    except OSError:
        return ''
