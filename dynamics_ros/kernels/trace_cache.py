# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Disk cache of traces, so that a later process neither traces nor prints them again."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from dynamics_ros.kernels import self_test
from dynamics_ros.kernels.graph.trace import Trace
from dynamics_ros.kernels.process import disk_cache

PACKAGE = Path(__file__).parents[1]


def kept(made_of: Any, make: Callable[[], Trace]) -> Trace:
    """Return a trace from the disk cache, or make it and store it there.

    Args:
        made_of: everything that the trace depends on besides the code of this package; if it cannot
            be pickled, the function is traced each time.
        make: makes the trace.

    Returns:
        The trace with its example and, if it can be cached, its origin.
    """
    origin = _origin(made_of)
    stored = disk_cache.read(origin) if origin else None
    if stored is not None:
        found: Trace = pickle.loads(stored)
        return found
    made = make()
    with suppress(RuntimeError):  # without an example, its kernel reports why it cannot be tested
        made = replace(made, origin=origin, example=self_test.example(made))
    if made.origin:
        disk_cache.write(origin, pickle.dumps(made, pickle.HIGHEST_PROTOCOL))
    return made


def _origin(made_of: Any) -> str:
    """Return a digest of everything that a trace depends on; '' if it cannot be cached."""
    if disk_cache.folder() is None or not (code := _code()):
        return ''
    try:
        content = pickle.dumps(made_of, pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, TypeError, AttributeError):
        return ''
    return disk_cache.key('trace', sys.version, np.__version__, code, content)


@lru_cache(maxsize=1)
def _code() -> str:
    """Return a digest of the sources of this package; '' if they are missing.

    It covers all sources: which ones a trace depends on is unknown, and reading all takes
    milliseconds.
    """
    sources = sorted(PACKAGE.rglob('*.py'))
    try:
        return disk_cache.key(*(x for path in sources for x in (path.name, path.read_bytes())))
    except OSError:
        return ''
