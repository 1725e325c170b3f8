# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Programs: several kernels in one call, on arrays that stay."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from random_robots import random_urdf

from dynamics_ros import Robot
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels import Copy, Kernel, Program, Step, trace

RNG = np.random.default_rng(11)
BACKENDS = ('python', 'llvm')


def kernel(function, inputs, backend, name='function', **more) -> Kernel:
    return Kernel(trace(function, inputs, name, **more), backend)


@pytest.mark.parametrize('backend', BACKENDS)
def test_what_one_step_writes_the_next_one_reads(backend):
    twice = kernel(lambda a: [2.0 * x for x in a], {'a': 3}, backend)
    split = kernel(
        lambda a, s: {'moved': [x + s for x in a], 'total': a[0] + a[1] + a[2]},
        {'a': 3, 's': ()},
        backend,
    )
    a, b, s, moved, total = np.zeros(3), np.zeros(3), np.zeros(1), np.zeros((1, 3)), np.zeros(1)
    program = Program([Step(twice, (a,), (b,)), Step(split, (b, s), (moved, total))])
    assert program.final
    for _ in range(3):
        a[:], s[:] = RNG.normal(size=3), RNG.normal()
        assert program.run() is True
        assert_array_equal(moved[0], 2.0 * a + s)
        assert total[0] == pytest.approx(2.0 * a.sum(), abs=1e-15)


@pytest.mark.parametrize('backend', BACKENDS)
def test_of_a_robot_it_computes_what_single_calls_do(backend):
    robot = Robot.from_urdf(random_urdf(5), 'floating', backend=backend)
    q, v = robot.random_configuration(1), RNG.normal(size=robot.nv)
    frame = robot.frame_names[-1]
    gravity, pose, twist = np.zeros(robot.nv), np.zeros(16), np.zeros(6)
    program = Program(
        [
            Step(robot.kernel('gravity'), (q,), (gravity,)),
            Step(robot.kernel('forward_kinematics', frame), (q,), (pose,)),
            Step(robot.kernel('frame_velocity', frame, 'world'), (q, v), (twist,)),
        ]
    )
    for seed in range(3):
        q[:] = robot.random_configuration(seed)
        assert program.run()
        assert_array_equal(gravity, robot.gravity(q))
        assert_array_equal(pose.reshape(4, 4), robot.forward_kinematics(q, frame))
        assert_array_equal(twist, robot.frame_velocity(q, v, frame, 'world'))


@pytest.mark.parametrize('backend', BACKENDS)
@pytest.mark.parametrize('bad', [np.nan, np.inf])
def test_where_a_number_is_none_it_stops_and_can_say_why(backend, bad):
    plus = kernel(lambda a: [x + 1.0 for x in a], {'a': 2}, backend)
    a, b, c = np.zeros(2), np.zeros(2), np.full(2, 7.0)
    program = Program([Step(plus, (a,), (b,)), Step(plus, (b,), (c,))])
    a[1] = bad
    assert program.run() is False
    assert_array_equal(c, [7.0, 7.0])
    with pytest.raises(InvalidArgumentError, match='a'):
        program.explain()
    a[1] = 3.0
    assert program.run() is True
    assert_array_equal(c, [2.0, 5.0])


@pytest.mark.parametrize('backend', BACKENDS)
def test_results_that_the_kernel_refuses_stop_it_too(backend):
    inverse = kernel(
        lambda a: [1.0 / a[0]], {'a': 1}, backend, finite_results=lambda _: ZeroDivisionError('a')
    )
    a, b = np.zeros(1), np.zeros(1)
    program = Program([Step(inverse, (a,), (b,))])
    assert program.run() is False
    a[0] = 4.0
    assert program.run() is True
    assert b[0] == 0.25


def test_arrays_that_do_not_fit_are_refused():
    plus = kernel(lambda a: [x + 1.0 for x in a], {'a': 2}, 'llvm')
    fitting = np.zeros(2)
    frozen = np.zeros(2)
    frozen.flags.writeable = False
    wrong = {
        'of 2 numbers': np.zeros(3),
        'float64 array': np.zeros(2, dtype=np.float32),
        'C-contiguous': np.zeros(4)[::2],
    }
    for text, array in wrong.items():
        with pytest.raises(InvalidArgumentError, match=text):
            Program([Step(plus, (array,), (fitting,))])
        with pytest.raises(InvalidArgumentError, match=text):
            Program([Step(plus, (fitting,), (array,))])
    with pytest.raises(InvalidArgumentError, match='writeable'):
        Program([Step(plus, (fitting,), (frozen,))])
    with pytest.raises(InvalidArgumentError, match='shares memory'):
        Program([Step(plus, (fitting,), (fitting,))])
    with pytest.raises(InvalidArgumentError, match='1 arrays'):
        Program([Step(plus, (fitting,), ())])


@pytest.mark.parametrize('backend', BACKENDS)
def test_what_a_step_writes_is_copied_wherever_it_is_needed(backend):
    twice = kernel(lambda a: [2.0 * x for x in a], {'a': 4}, backend)
    a, b, half, square = np.zeros(4), np.zeros(4), np.full(2, 7.0), np.zeros((2, 2))
    program = Program([Step(twice, (a,), (b,)), Copy(b[1:3], half), Copy(b, square)])
    assert program.final
    a[:] = RNG.normal(size=4)
    assert program.run() is True
    assert_array_equal(half, 2.0 * a[1:3])
    assert_array_equal(square, 2.0 * a.reshape(2, 2))
    # After a refusal nothing is copied; what says why copies as well.
    a[0] = np.nan
    half[:] = 7.0
    assert program.run() is False
    assert_array_equal(half, [7.0, 7.0])
    a[0] = 1.0
    program.explain()
    assert_array_equal(half, 2.0 * a[1:3])


@pytest.mark.parametrize(
    'copy',
    [
        lambda a: Copy(a, np.zeros(3)),
        lambda a: Copy(a[::2], np.zeros(2)),
        lambda a: Copy(a, np.zeros(4, dtype=np.float32)),
        lambda a: Copy(a[:2], a[1:3]),
        lambda a: Copy(a, np.broadcast_to(np.zeros(1), 4)),
    ],
    ids=['other size', 'with gaps', 'another type', 'one memory', 'read-only'],
)
def test_a_copy_that_does_not_fit_is_refused(copy):
    with pytest.raises(InvalidArgumentError):
        Program([copy(np.zeros(4))])
