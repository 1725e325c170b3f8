# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Growth of cost with the number of joints, on serial chains without special geometry.

RNEA is linear in the number of joints. Its derivatives depend on all pairs of joints, with a
million operations for 100 joints.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from unittest.mock import patch

import numpy as np
import pinocchio as pin

from benchmarks.descriptions import generic_chain
from benchmarks.pinocchio_peer import PinocchioPeer
from benchmarks.records import Goal, Record
from benchmarks.timing import Effort, interleaved
from dynamics_ros import Robot

LENGTHS = (5, 10, 20, 35, 50, 75, 100)
AGREEMENT = 1e-8
DERIVATIVES = (
    ('derivatives of RNEA', 'inverse_dynamics_derivatives', 'computeRNEADerivatives'),
    ('derivatives of ABA', 'forward_dynamics_derivatives', 'computeABADerivatives'),
)
"""Name, our method and Pinocchio's function of each case."""

FIRST_DERIVATIVES = Goal(5.0, of='value')


def run(effort: Effort, quick: bool) -> Iterator[Record]:
    """Time of RNEA and of its compilation per joint, and growth exponents."""
    lengths = LENGTHS[:2] if quick else LENGTHS
    ours, theirs, compiling = [], [], []
    for n in lengths:
        text = generic_chain(n)
        robot = Robot.from_urdf(text)
        rng = np.random.default_rng(n)
        q = robot.random_configuration(rng)
        v, a = rng.normal(size=(2, n))
        peer = PinocchioPeer(text, robot)
        names = {'robot': robot, 'q': q, 'v': v, 'a': a, 'pin': pin}
        names |= {'model': peer.model, 'data': peer.data}
        seconds = interleaved(
            {
                'ours': 'robot.inverse_dynamics(q, v, a)',
                'pin': 'pin.rnea(model, data, q, v, a)',
            },
            names,
            effort,
        )
        (kernel,) = robot.kernels.values()
        ours.append(1e6 * seconds['ours'] / n)
        theirs.append(1e6 * seconds['pin'] / n)
        compiling.append(1e3 * kernel.compile_seconds / n)
        name = f'chain of {n}'
        yield Record('dynamics', 'RNEA per joint', name, ours[-1], 'us', 'pin', theirs[-1])
        yield Record('dynamics', 'compile RNEA per joint', name, compiling[-1], 'ms')
    span = f'chains {lengths[0]}-{lengths[-1]}'
    for case, per_joint in (('RNEA', ours), ('compile RNEA', compiling)):
        exponent = 1.0 + float(np.polyfit(np.log(lengths), np.log(per_joint), 1)[0])
        yield Record('dynamics', f'growth exponent: {case}', span, exponent, '1')
    for n in lengths[1:]:
        yield from _derivatives(n, effort)


def _derivatives(n: int, effort: Effort) -> Iterator[Record]:
    """Time of the derivatives of RNEA and ABA, and processor time until the first result of each.

    Each robot is new, so that nothing of it is compiled before its first call.
    """
    text, name = generic_chain(n), f'chain of {n}'
    rng = np.random.default_rng(n)
    q = Robot.from_urdf(text, backend='python').random_configuration(rng)
    v, x = rng.normal(size=(2, n))
    for case, method, function in DERIVATIVES:
        robot = Robot.from_urdf(text, backend='llvm')
        peer = PinocchioPeer(text, robot)
        with patch.dict(os.environ, {'DYNAMICS_ROS_CACHE': 'off'}):
            start = time.process_time()
            dq = getattr(robot, method)(q, v, x)[0]
            first = time.process_time() - start
        expected = getattr(pin, function)(peer.model, peer.data, q, v, x)[0]
        assert np.abs(dq - expected).max() <= AGREEMENT * np.abs(expected).max()
        names = {'robot': robot, 'q': q, 'v': v, 'x': x, 'pin': pin}
        names |= {'model': peer.model, 'data': peer.data}
        seconds = interleaved(
            {
                'ours': f'robot.{method}(q, v, x)',
                'pin': f'pin.{function}(model, data, q, v, x)',
            },
            names,
            effort,
        )
        ours, theirs = (1e6 * seconds[who] for who in ('ours', 'pin'))
        yield Record('dynamics', case, name, ours, 'us', 'pin', theirs)
        yield Record('dynamics', f'{case}, first call', name, first, 's', goal=FIRST_DERIVATIVES)
