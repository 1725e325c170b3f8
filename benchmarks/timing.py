# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Timing of statements side by side: each repeat runs all, so that noise hits all alike."""

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
    """How long to measure.

    Attributes:
        repeats: of each statement; the median counts.
        slice_seconds: that one statement runs before the next one has its turn; less than what a
            system gives a process at a time, so that most turns are not interrupted.
    """

    repeats: int = 101
    slice_seconds: float = 0.001


QUICK = Effort(repeats=5, slice_seconds=0.001)

COMPILING = 'dynamics_ros_compile'
"""Name of the thread that is there while kernels are compiled in the background."""

PATIENCE = 300.0
"""Seconds that they may take."""


def wait_until_compiled() -> None:
    """Until machine code has taken the place of whatever answered in the meantime.

    Raises:
        TimeoutError: it takes longer than anybody would wait.
    """
    deadline = time.perf_counter() + PATIENCE
    while any(thread.name == COMPILING for thread in threading.enumerate()):
        if time.perf_counter() > deadline:
            raise TimeoutError('kernels are still being compiled')
        time.sleep(0.001)


def interleaved(
    statements: Mapping[str, str], namespace: Mapping[str, Any], effort: Effort
) -> dict[str, float]:
    """Seconds for one run of each statement: the median over interleaved repeats.

    The order is turned round in every other repeat, so that none always follows the same one. The
    statements are compiled into the loop of `timeit`: no call is added to what they are. Each runs
    once beforehand, and what that has set off to be compiled is waited for.

    Args:
        statements: Python source by name.
        namespace: names that the statements use.
        effort: how long to measure.
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
    """How many runs take about as long as wanted, when nothing comes in between."""
    loops = 1
    while (taken := min(timer.repeat(3, loops))) < 0.3 * seconds:
        loops *= 4
    return max(1, round(loops * seconds / taken))


def peak_memory() -> float:
    """MB that were resident at most; getrusage would count what the parent had before exec."""
    status = Path('/proc/self/status').read_text()
    (kilobytes,) = re.findall(r'^VmHWM:\s+(\d+) kB$', status, re.MULTILINE)
    return int(kilobytes) / 1024.0
