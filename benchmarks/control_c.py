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

int main(void)
{{
    double worst = 0.0;
    for (int i = 0; i < 1000; ++i) {{ {call} }}
    const long before = allocations;
    const double start = seconds();
    double last = start;
    for (long i = 0; i < {calls}L; ++i) {{
        {call}
        const double now = seconds();
        const double taken = now - last;
        if (taken > worst) worst = taken;
        last = now;
    }}
    const double mean = (last - start) / {calls}L;
    printf("%.9g %.9g %ld %.17g\\n", mean, worst, allocations - before, {result}[0]);
    return 0;
}}
"""


class Timed(NamedTuple):
    """Measurements of the calls.

    Attributes:
        mean: mean time of all calls [s].
        worst: longest call, interruptions by the machine included [s].
        allocations: number of memory allocations in all calls.
        first: first number of the first output.
    """

    mean: float
    worst: float
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
        calls: number of calls.

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
                calls=calls, result='out_0',
            )
        )  # fmt: skip
        made = folder / 'timed'
        command = [COMPILER, *FLAGS, str(program), str(code), '-o', str(made), '-lm']
        subprocess.run(command, check=True, timeout=300)
        told = subprocess.run([made], check=True, timeout=300, capture_output=True, text=True)
    mean, worst, allocations, first = told.stdout.split()
    return Timed(float(mean), float(worst), int(allocations), float(first))
