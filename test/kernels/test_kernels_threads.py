# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Kernels may be made from several threads at once, the very first ones too."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from patience import PATIENCE

PROGRAM = """
import threading
from dynamics_ros.kernels import Kernel, trace

THREADS = 6
gate = threading.Barrier(THREADS)
answers = []


def make(i):
    gate.wait()
    kernel = Kernel(trace(lambda x: [x[0].sin() * i, x[1].cos()], {'x': 2}, 'f'), 'llvm', wait=True)
    answers.append(float(kernel([0.5, 0.0])[1]))


threads = [threading.Thread(target=make, args=(i,)) for i in range(1, THREADS + 1)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(answers)
"""


def test_the_first_kernels_of_a_process_may_be_made_at_once():
    done = subprocess.run(
        [sys.executable, '-c', PROGRAM],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == str([1.0] * 6)
