# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Lateness of sleeps until the next millisecond, a lower bound of round trips.

python -m benchmarks.wakeups SECONDS

prints the lateness in Python.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Iterator

PERIOD = 1_000_000
"""Period [ns]."""

COMPILER = shutil.which('cc') or shutil.which('gcc') or shutil.which('clang')

PROGRAM = """
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int main(int count, char **arguments)
{
    const long n = count > 1 ? atol(arguments[1]) * 1000 : 0;
    struct timespec due, now;
    clock_gettime(CLOCK_MONOTONIC, &due);
    for (long i = 0; i < n; ++i) {
        due.tv_nsec += 1000000;
        if (due.tv_nsec >= 1000000000) { due.tv_nsec -= 1000000000; ++due.tv_sec; }
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
        clock_gettime(CLOCK_MONOTONIC, &now);
        printf("%lld\\n", (now.tv_sec - due.tv_sec) * 1000000000LL + now.tv_nsec - due.tv_nsec);
    }
    return 0;
}
"""


@contextmanager
def watched(seconds: float, folder: Path) -> Iterator[dict[str, NDArray[np.float64]]]:
    """Context that measures the lateness of sleeps during the block [us].

    Args:
        seconds: duration of the block [s].
        folder: folder for files.

    Yields:
        Dictionary that is filled at the end, by language: 'Python', and 'C' if there is a compiler.
    """
    whole = str(max(1, round(seconds)))
    commands = {'Python': [sys.executable, '-m', 'benchmarks.wakeups', whole]}
    if COMPILER:
        source, program = folder / 'wakeups.c', folder / 'wakeups'
        source.write_text(PROGRAM)
        subprocess.run([COMPILER, '-O2', str(source), '-o', str(program)], check=True)
        commands['C'] = [str(program), whole]
    late: dict[str, NDArray[np.float64]] = {}
    files = {name: (folder / f'wakeups_{name}').open('w+') for name in commands}
    processes = {
        name: subprocess.Popen(command, stdout=files[name]) for name, command in commands.items()
    }
    try:
        yield late
        for name, process in processes.items():
            process.wait(seconds + 60.0)
            files[name].seek(0)
            late[name] = 1e-3 * np.loadtxt(files[name], ndmin=1)
    finally:
        for process in processes.values():
            process.kill()
            process.wait()
        for file in files.values():
            file.close()


def main(seconds: int) -> None:
    """Sleep until each millisecond, and print by how much later the sleep ended [ns]."""
    due, late = time.monotonic_ns(), []
    for _ in range(1000 * seconds):
        due += PERIOD
        time.sleep(max(0, due - time.monotonic_ns()) * 1e-9)
        late.append(time.monotonic_ns() - due)
    print('\n'.join(map(str, late)))


if __name__ == '__main__':
    main(int(sys.argv[1]))
