# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Time of an exported kernel in a C program that calls it a million times."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from dynamics_ros import Robot, export_kernels

Array = NDArray[np.float64]

COMPILER = shutil.which('cc') or shutil.which('gcc') or shutil.which('clang')
FLAGS = ('-std=gnu99', '-O2', '-march=native', '-fno-math-errno')

PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include "timed_kernels.h"

extern void *__libc_malloc(size_t);
static long allocations = 0;
void *malloc(size_t size) {{ ++allocations; return __libc_malloc(size); }}

{arrays}

static double seconds(void)
{{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}}

static int compare(const void *a, const void *b)
{{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}}

/* Times that the kernel took the processor away for another process. */
static long switches(void)
{{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return used.ru_nivcsw;
}}

/* Longest time between two readings of the clock in a loop that does nothing else for some time. */
static double longest_pause(double duration)
{{
    double longest = 0.0, last = seconds();
    for (const double end = last + duration; last < end;) {{
        const double now = seconds();
        if (now - last > longest) longest = now - last;
        last = now;
    }}
    return longest;
}}

int main(void)
{{
    static double batches[{batches}];
    double worst = 0.0, kept = 0.0, total = 0.0;
    long switched = switches(), preempted = 0;
    for (int i = 0; i < 1000; ++i) {{ {call} }}
    const long before = allocations;
    const double start = seconds();
    double last = start, begun = start;
    for (long i = 0; i < {calls}L; ++i) {{
        {call}
        const double now = seconds();
        double taken = now - last;
        if (taken > worst) worst = taken;
        last = now;
        if (taken > kept) {{
            const long count = switches();
            if (count == switched) kept = taken;
            preempted += count - switched;
            switched = count;
            last = seconds();
        }}
        if ((i + 1) % 100 == 0) {{
            batches[i / 100] = now - begun;
            begun = now;
        }}
    }}
    total = seconds() - start;
    preempted += switches() - switched;
    const double pause = longest_pause(total);
    const long made = allocations - before;
    qsort(batches, {batches}, sizeof *batches, compare);
    const double median = batches[{batches} / 2] / 100.0;
    printf("%.9g %.9g %.9g %.9g ", total / {calls}L, median, worst, kept);
    printf("%.9g %ld %ld %.17g\\n", pause, preempted, made, {result}[0]);
    return 0;
}}
"""


class Timed(NamedTuple):
    """Measurements of the calls.

    Attributes:
        mean: mean time of all calls [s].
        median: median of means of a hundred calls, which approximates an idle core [s].
        worst: longest call [s].
        kept: longest call during which no other process had the processor [s].
        pause: longest time between two readings of the clock in an empty loop of the same duration
            [s]: an interruption by the machine.
        preempted: how often another process had the processor during all calls.
        allocations: number of memory allocations in all calls.
        first: first number of the first output.
    """

    mean: float
    median: float
    worst: float
    kept: float
    pause: float
    preempted: int
    allocations: int
    first: float


def timed(
    robot: Robot,
    kernel: str,
    inputs: Sequence[Array | float],
    outputs: Sequence[int],
    calls: int,
) -> Timed | None:
    """Time an exported kernel.

    Args:
        robot, kernel: as for ``export_kernels``.
        inputs: arguments of the calls.
        outputs: size of each output.
        calls: number of calls, a multiple of 100.

    Returns:
        The measurements; None without a C compiler.
    """
    if COMPILER is None:
        return None
    names, lines = [], []
    for i, x in enumerate(inputs):
        if isinstance(x, float):
            names.append(repr(x))
            continue
        numbers = ', '.join(repr(float(number)) for number in np.ravel(x))
        lines.append(f'static double in_{i}[{np.size(x)}] = {{{numbers}}};')
        names.append(f'in_{i}')
    for i, size in enumerate(outputs):
        lines.append(f'static double out_{i}[{size}];')
        names.append(f'out_{i}')
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        code, _ = export_kernels(robot, [kernel], folder, 'timed')
        function = 'timed_' + kernel.replace(':', '_')
        program = folder / 'main.c'
        program.write_text(
            PROGRAM.format(
                arrays='\n'.join(lines), call=f'{function}({", ".join(names)});',
                calls=calls, batches=calls // 100, result='out_0',
            )
        )  # fmt: skip
        made = folder / 'timed'
        command = [COMPILER, *FLAGS, str(program), str(code), '-o', str(made), '-lm']
        subprocess.run(command, check=True, timeout=300)
        told = subprocess.run([made], check=True, timeout=300, capture_output=True, text=True)
    *times, preempted, allocations, first = told.stdout.split()
    return Timed(*map(float, times), int(preempted), int(allocations), float(first))
