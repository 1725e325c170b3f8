# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A function of a user, with gradient and Hessian, beside CasADi's generated C.

Both trace the same NumPy function. CasADi writes C, which is compiled with ``-O3 -march=native``
and called through its buffers, the quickest way it has from Python; what we make of it is machine
code of the same process. Time to compile is that of the processor from the Python function to the
first answer.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers import import_peer
from benchmarks.records import Goal, Record
from benchmarks.timing import Effort, interleaved
from dynamics_ros import kernels

Array = NDArray[np.float64]

SUITE = 'dynamics'
ROBOT = 'seven joints'
FLAGS = ('-O3', '-march=native', '-shared', '-fPIC')
EVALUATION, COMPILING = Goal(0.7), Goal(0.2)
AGREEMENT = 1e-12
PARTS = ('cost', 'gradient', 'hessian')

OFFSETS = (0.34, 0.0, 0.4, 0.0, 0.4, 0.0, 0.126)
TWISTS = (-1, 1, 1, -1, -1, 1, 0)
"""Lengths along z [m], and quarters of a turn about x, from each of seven joints to the next."""

MASSES = (4.0, 4.0, 3.0, 2.7, 1.7, 1.8, 0.3)


def cost(q: Any, target: Any) -> Any:
    """How far an arm of seven joints is from a point, and the potential energy of its links."""
    R, p, energy = np.eye(3), np.zeros(3), 0.0
    for i, (offset, quarter, mass) in enumerate(zip(OFFSETS, TWISTS, MASSES, strict=True)):
        # Arrays of one element: an array times a symbol of CasADi would be no array any more.
        c, s = np.cos(q[i : i + 1]), np.sin(q[i : i + 1])
        x, y, z = R[:, 0] * c + R[:, 1] * s, R[:, 1] * c - R[:, 0] * s, R[:, 2]
        # Rotations about x by quarters of a turn.
        R = np.stack([x, y, z] if not quarter else [x, z * quarter, y * -quarter], axis=1)
        energy = energy + mass * 9.81 * (p[2] + 0.5 * offset * z[2])
        p = p + offset * z
    missing = p - target
    return missing @ missing + 1e-3 * energy**2 + 1e-2 * (q @ q)


def run(effort: Effort) -> Iterator[Record]:
    """Time both; nothing where there is no CasADi or no compiler."""
    if shutil.which('cc') is None or not import_peer('casadi'):
        print('user functions are left out: they take a C compiler and CasADi')
        return
    import casadi

    q, target = np.linspace(-0.9, 1.1, 7), np.array([0.4, 0.1, 0.5])
    with tempfile.TemporaryDirectory() as folder:
        with patch.dict(os.environ, {'DYNAMICS_ROS_CACHE': 'off'}):
            start = _processor_seconds()
            ours = _ours()
            answers = [ours[part](q, target) for part in PARTS]
            our_seconds = _processor_seconds() - start
        start = _processor_seconds()
        theirs = {part: _theirs(casadi, part, Path(folder)) for part in PARTS}
        expected = [theirs[part](q, target) for part in PARTS]
        their_seconds = _processor_seconds() - start
        for answer, value in zip(answers, expected, strict=True):
            error = np.abs(answer - np.reshape(value, np.shape(answer))).max()
            assert error <= AGREEMENT * np.abs(value).max()
        yield Record(
            SUITE, 'user function: compile', ROBOT, our_seconds, 's', 'casadi', their_seconds,
            COMPILING,
        )  # fmt: skip
        names: dict[str, Any] = {'q': q, 'target': target}
        statements = {}
        for part in PARTS:
            buffer, evaluate = theirs[part].buffer()
            result = np.zeros(theirs[part].numel_out(0))
            for i, x in enumerate((q, target)):
                buffer.set_arg(i, memoryview(x))
            buffer.set_res(0, memoryview(result))
            out = np.empty(np.shape(ours[part](q, target)))
            names |= {part: ours[part].call, f'{part}_out': out, f'{part}_c': evaluate}
            names |= {f'{part}_kept': (buffer, result)}
            given = f', out={part}_out' if out.ndim else ''
            statements[part] = f'{part}(q, target{given})'
            statements[f'{part}, casadi'] = f'{part}_c()'
        times = interleaved(statements, names, effort)
    for part in PARTS:
        value, peer = times[part] * 1e6, times[f'{part}, casadi'] * 1e6
        what = f'user function: {part}'
        yield Record(SUITE, what, ROBOT, value, 'us', 'casadi', peer, EVALUATION)


def _processor_seconds() -> float:
    """What this process and the compilers that it has called have used: others take no part."""
    return sum(os.times()[:4])


def _ours() -> dict[str, kernels.Kernel]:
    value = kernels.compile(cost, {'q': 7, 'target': 3}, backend='llvm')
    return {'cost': value, 'gradient': value.derivative('q'), 'hessian': value.hessian('q')}


def _theirs(casadi: Any, part: str, folder: Path) -> Any:
    """The compiled function of CasADi."""
    q, target = casadi.SX.sym('q', 7), casadi.SX.sym('target', 3)
    symbols = [np.array(casadi.vertsplit(x), dtype=object) for x in (q, target)]
    value = cost(*symbols)
    results = {
        'cost': lambda: value,
        'gradient': lambda: casadi.gradient(value, q),
        'hessian': lambda: casadi.hessian(value, q)[0],
    }
    function = casadi.Function(part, [q, target], [casadi.densify(results[part]())])
    source, library = folder / f'{part}.c', folder / f'{part}.so'
    generator = casadi.CodeGenerator(source.name)
    generator.add(function)
    generator.generate(f'{folder}/')
    subprocess.run(['cc', *FLAGS, str(source), '-o', str(library), '-lm'], check=True)
    return casadi.external(part, str(library))
