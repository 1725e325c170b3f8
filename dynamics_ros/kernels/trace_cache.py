# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Traces on disk: what a process before this one has traced is neither traced nor printed again."""

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
    """A trace from the disk, or a new one, which is kept there.

    Args:
        made_of: all that the trace depends on beside the code of this package; what
            cannot be pickled is traced each time.
        make: traces.

    Returns:
        The trace with its example and, where it may be kept, its origin.
    """
    origin = _origin(made_of)
    stored = disk_cache.read(origin) if origin else None
    if stored is not None:
        found: Trace = pickle.loads(stored)
        return found
    made = make()
    with suppress(RuntimeError):  # without example: its kernel will say why it cannot be tried
        made = replace(made, origin=origin, example=self_test.example(made))
    if made.origin:
        disk_cache.write(origin, pickle.dumps(made, pickle.HIGHEST_PROTOCOL))
    return made


def _origin(made_of: Any) -> str:
    """A digest of all that a trace depends on; '' where nothing is kept."""
    if disk_cache.folder() is None or not (code := _code()):
        return ''
    try:
        content = pickle.dumps(made_of, pickle.HIGHEST_PROTOCOL)
    except (pickle.PicklingError, TypeError, AttributeError):
        return ''
    return disk_cache.key('trace', sys.version, np.__version__, code, content)


@lru_cache(maxsize=1)
def _code() -> str:
    """A digest of the sources of this package; '' where they are not there.

    Which of them a trace depends on is not to be told, and all of them are read in milliseconds.
    """
    sources = sorted(PACKAGE.rglob('*.py'))
    try:
        return disk_cache.key(*(x for path in sources for x in (path.name, path.read_bytes())))
    except OSError:
        return ''
