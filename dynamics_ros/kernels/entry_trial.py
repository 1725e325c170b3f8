# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Trial of entry points of every kind, run in a separate process (`cpython/trial.py`)."""

from __future__ import annotations

import sys
from types import BuiltinFunctionType

import numpy as np

from dynamics_ros.kernels.cpython.layout import UnknownLayoutError, addresses
from dynamics_ros.kernels.cpython.named_calls import NamedCalls
from dynamics_ros.kernels.cpython.trial import FAULTY
from dynamics_ros.kernels.graph.tracing import trace
from dynamics_ros.kernels.kernel import Kernel
from dynamics_ros.kernels.program import Program, Step


def main() -> None:
    """Try entry points of every kind; exit with FAULTY if one is wrong."""
    try:
        addresses()
    except UnknownLayoutError as reason:
        print(reason, file=sys.stderr)
        sys.exit(FAULTY)
    traces = [
        trace(lambda x: [2.0 * x[0], x[1]], {'x': 2}, 'vector'),
        trace(lambda x, s: s * x[0], {'x': 1, 's': ()}, 'scalar'),
        trace(lambda A: {'rows': A, 'first': A[0][0]}, {'A': (2, 3)}, 'matrix'),
    ]
    kernels = [Kernel(traced, 'llvm') for traced in traces]
    good = all(isinstance(kernel.call, BuiltinFunctionType) for kernel in kernels)
    if not good:
        sys.exit(FAULTY)
    x, frame = np.array([1.0, 2.0]), 'frame'
    calls = NamedCalls(_Named().method)
    calls.add(1, (frame,), kernels[0].call)
    result = np.zeros(2)
    run = Program([Step(kernels[0], (x,), (result,))]).run
    before = sys.getrefcount(x)
    for _ in range(1000):
        good = good and calls.function(x, frame)[0] == 2.0
        good = good and calls.function(x, 'another') == (x, 'another')
        good = good and run() is True and result[0] == 2.0
    if not good or abs(sys.getrefcount(x) - before) > 10:
        sys.exit(FAULTY)


class _Named:
    def method(self, x: object, frame: object) -> object:
        """Return the arguments."""
        return x, frame
