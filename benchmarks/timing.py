# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Interleaved timing of statements, so that disturbances affect all statements alike."""

from __future__ import annotations

import gc
import re
import statistics
import threading
import time
import timeit
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Clock = time.perf_counter


@dataclass(frozen=True)
class Effort:
    """Extent of a measurement.

    Attributes:
        repeats: number of slices per statement, whose median is the result.
        slice_seconds: duration of a slice [s]; shorter than the time slice of an operating system,
            so that most slices are not interrupted.
    """

    repeats: int = 101
    slice_seconds: float = 0.001


QUICK = Effort(repeats=5, slice_seconds=0.001)

COMPILING = 'dynamics_ros_compile'
"""Name of the thread that compiles kernels in the background."""

TIMEOUT = 300.0
"""Timeout of the compilation [s]."""


def wait_until_compiled() -> None:
    """Wait until no kernel is compiled in the background.

    Raises:
        TimeoutError: it takes longer than ``TIMEOUT``.
    """
    deadline = time.perf_counter() + TIMEOUT
    while any(thread.name == COMPILING for thread in threading.enumerate()):
        if time.perf_counter() > deadline:
            raise TimeoutError('kernels are still being compiled')
        time.sleep(0.001)


def interleaved(
    statements: Mapping[str, str], namespace: Mapping[str, Any], effort: Effort
) -> dict[str, float]:
    """Seconds for one run of each statement: the median over interleaved slices.

    The order is reversed in every other repeat, so that no statement always follows the same one.
    The statements are compiled into the loop of `timeit`, without an additional call. Each
    statement runs once beforehand, and the compilations that it starts are awaited.

    Args:
        statements: Python source by name.
        namespace: names that the statements use.
        effort: extent of the measurement.
    """
    timers = {
        name: timeit.Timer(source, timer=Clock, globals=dict(namespace))
        for name, source in statements.items()
    }
    for timer in timers.values():
        timer.timeit(1)
    wait_until_compiled()
    loops = {name: _loops(timer, effort.slice_seconds) for name, timer in timers.items()}
    times: dict[str, list[float]] = {name: [] for name in timers}
    order = list(timers)
    collecting = gc.isenabled()
    gc.disable()
    try:
        for _ in range(effort.repeats):
            for name in order:
                times[name].append(timers[name].timeit(loops[name]) / loops[name])
            order.reverse()
    finally:
        if collecting:
            gc.enable()
    return {name: statistics.median(values) for name, values in times.items()}


def _loops(timer: timeit.Timer, seconds: float) -> int:
    """Number of runs that take about so many seconds without interruption."""
    loops = 1
    while (taken := min(timer.repeat(3, loops))) < 0.3 * seconds:
        loops *= 4
    return max(1, round(loops * seconds / taken))


def peak_memory() -> float:
    """Peak resident memory of this process [MB]; getrusage would include the parent before exec."""
    status = Path('/proc/self/status').read_text()
    (kilobytes,) = re.findall(r'^VmHWM:\s+(\d+) kB$', status, re.MULTILINE)
    return int(kilobytes) / 1024.0
