# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Examples of traces for the self test of machine code, and the disk cache of traces.

A later process neither traces nor prints a cached trace again.
"""

from __future__ import annotations

import math
import pickle
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np

from dynamics_ros.kernels.arguments import Array
from dynamics_ros.kernels.graph.trace import Example, Trace
from dynamics_ros.kernels.process import disk_cache

TOLERANCE = 1e-6
"""Largest error of machine code against the plain trace, relative to the largest result.

It only separates wrong code from right, with a margin for rounding errors of an ill-conditioned
function; tests check the accuracy.
"""

NUDGE = 1e-12
"""Relative change of inputs that affects a loop as rounding may."""


def trial(trace: Trace) -> tuple[list[Array], Array | None]:
    """Return inputs that a trace takes, and all result elements there."""
    elements, results = trace.example or example(trace)
    arrays = []
    start = 0
    for variable in trace.inputs:
        part = elements[start : start + variable.size]
        arrays.append(np.array(part).reshape(variable.shape))
        start += variable.size
    return arrays, None if results is None else np.array(results)


def example(trace: Trace) -> Example:
    """Compute the example of a trace.

    Returns:
        All elements of the inputs, and all of the results or None if these cannot be compared: the
        function has no value there, or rounding decides the iteration count of a loop.
    """
    # The square keeps matrices among the inputs from being singular.
    count = sum(x.size for x in trace.inputs)
    elements = [0.3 + 0.4 * math.sin(1.7 * i + 0.61 * i * i) for i in range(count)]
    starts = [0, *accumulate(x.size for x in trace.inputs)]
    for place, first in trace.unit_quaternions:
        start = starts[place] + first
        # Those of two configurations differ.
        elements[start : start + 4] = [-0.5 if place else 0.5, 0.5, 0.5, 0.5]
    return elements, expected(trace, elements)


def expected(trace: Trace, elements: Sequence[float]) -> list[float] | None:
    """Return all result elements for given input elements, or None, as ``example`` does."""
    try:
        values = trace.interpret(elements)
        if trace.loops:
            nudged = trace.interpret([x * (1.0 + NUDGE) for x in elements])
            if not agree(np.array(nudged), np.array(values)):
                return None
    except (ArithmeticError, ValueError):
        return None
    return values


def flat(results: Sequence[Array]) -> Array:
    """Return all elements of some arrays as one array."""
    return np.concatenate([np.zeros(0), *[x.ravel() for x in results]])


def agree(computed: Array, wanted: Array, tolerance: float = TOLERANCE) -> bool:
    """Return whether computed results equal the expected ones, up to rounding."""
    largest = np.abs(wanted[np.isfinite(wanted)]).max(initial=1.0)
    return bool(np.allclose(computed, wanted, rtol=0.0, atol=tolerance * largest, equal_nan=True))


PACKAGE = Path(__file__).parents[1]


def cached(depends_on: Any, rooms: tuple[str, ...], make: Callable[[], Trace]) -> Trace:
    """Return a trace from the disk cache, or make it and store it there.

    Args:
        depends_on: everything that the trace depends on besides code; if it cannot be pickled, the
            function is traced each time.
        rooms: folders of this package with the code that it depends on, besides ``kernels``.
        make: makes the trace.

    Returns:
        The trace with its example and, if it can be cached, its origin.
    """
    origin = _origin(depends_on, rooms)
    stored = disk_cache.read(origin) if origin else None
    if stored is not None:
        found: Trace = pickle.loads(stored)
        return found
    made = make()
    made = replace(made, origin=origin, example=example(made))
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
