# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Routines in traces: what is called in many places computes what it does written out."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import re

import numpy as np
import pytest
from c_library import VECTOR, compiled, needs_compiler
from hypothesis import given, settings
from random_robots import SEEDS, random_state, random_urdf
from test_kernels_size import chain

from dynamics_ros import Robot
from dynamics_ros.kernels import (
    Kernel,
    PlainFunction,
    c_source,
    jacobian,
    llvm_ir,
    python_source,
    self_test,
    trace,
)
from dynamics_ros.kernels.graph import graph, schedule
from dynamics_ros.kernels.llvm import line as llvm_line
from dynamics_ros.multibody import kernel_set
from dynamics_ros.spatial import Motion, Vector3
from dynamics_ros.spatial.scalar import call, cos, repeat, sin

BACKENDS = ('llvm', 'python')

# Of the largest result: constants of a robot fold where a function is written out.
ROUNDING = 1e-12
# Sums of some hundred terms in single precision cancel in part (see test_kernels_float32.py).
SINGLE = 3e-5

JOINTS = 36

MATRICES = ('inverse_dynamics_derivatives', 'coriolis', 'mass_matrix_inverse')


@pytest.fixture
def called(monkeypatch):
    """From now on functions are routines, however seldom they are called."""
    monkeypatch.setattr(graph, 'WRITTEN_OUT', 0)


def close(computed, expected, tolerance=ROUNDING):
    for a, b in zip(computed, expected, strict=True):
        limit = tolerance * max(1.0, np.abs(b).max(initial=0.0))
        np.testing.assert_allclose(a, b, rtol=0.0, atol=limit)


def several(results):
    return results if isinstance(results, tuple) else (results,)


# A function that is called with all kinds of operands


def turned(angle, arm, scale, fixed):
    """Sine and cosine, a constant and an operand among the results, one that nobody needs."""
    c, s = cos(angle), sin(angle)
    x = arm.linear.x * c - arm.linear.y * s + fixed * scale
    y = arm.linear.x * s + arm.linear.y * c - scale * scale
    z = arm.angular.dot(arm.linear) * scale + arm.linear.z
    unread = x * y * z * scale
    return Motion(Vector3(x, y, z), arm.angular), [0.0, angle, 2.5, unread], (x * y, z * z + x)


def rounds(x, limit):
    """A loop, and a routine, inside a routine."""

    def turn(state, x):
        y = 0.5 * (state[0] + x / state[0])
        return [y], (y - state[0]) * (y - state[0]) - 1e-28

    root = repeat(turn, [1.0 + x], 40, x)[0]
    motion, _, (product, _) = call(turned, 9, root, _arm(x, root), x, limit)
    return motion.linear.x + root + product * sin(root * x)


def _arm(a, b):
    return Motion(Vector3(a, b, 0.0), Vector3(1.0, -1.0, 0.25 * a))


def many(q, scale):
    arm = Motion(Vector3(0.3, q[0], -1.0), Vector3(q[1], 0.0, 1.0))
    sums, last = 0.0, scale
    for i in range(30):
        arm, (zero, angle, constant, _), (product, square) = call(
            turned, 30, q[i % 4] + last, arm, scale, 0.1 * (i + 2)
        )
        assert zero == 0.0 and constant == 2.5
        # What follows from results, and is an operand of calls again.
        last = (product * 0.01 + angle * 0.1).sin() if i % 3 else last
        sums = sums + square * 1e-3 + last
    roots = [call(rounds, 3, q[i] * q[i] + 0.5, 1.0 + i) for i in range(3)]
    return {'arm': list(arm.linear), 'sums': sums, 'roots': roots, 'same': [q[0], 0.0, q[0].cos()]}


INPUTS = {'q': 4, 'scale': ()}
Q = np.array([0.3, -0.8, 1.1, 0.45])


@pytest.fixture
def written():
    return trace(many, INPUTS, 'many')


@pytest.fixture
def calling(written, called):
    made = trace(many, INPUTS, 'many')
    assert made.routines and not written.routines
    return made


@pytest.mark.parametrize('part_calls', [1, 4, 1000])
@pytest.mark.parametrize('backend', BACKENDS)
def test_results_are_those_of_what_is_written_out(
    written, calling, backend, part_calls, monkeypatch
):
    monkeypatch.setattr(schedule, 'PART_CALLS', part_calls)
    kernel, expected = Kernel(calling, backend), Kernel(written, 'python')
    assert kernel.backend == backend
    close(several(kernel(Q, 0.7)), several(expected(Q, 0.7)))
    rng = np.random.default_rng(0)
    for states in (3, 67):
        q, scale = rng.uniform(0.2, 1.0, (states, 4)), rng.uniform(0.2, 1.0, states)
        close(several(kernel(q, scale)), several(expected(q, scale)))


def test_single_precision(written, calling):
    rng = np.random.default_rng(1)
    q, scale = rng.uniform(0.2, 1.0, (64, 4)), rng.uniform(0.2, 1.0, 64)
    kernel = Kernel(calling, 'llvm')
    close(several(kernel.float32(q, scale)), several(Kernel(written, 'python')(q, scale)), 1e-3)


def test_what_a_routine_knows_already_is_not_one_of_its_results(calling):
    for node in calling.nodes:
        if isinstance(node.operation, graph.Routine):
            assert not any(x == 0.0 for x in node.operands if isinstance(x, float))
    results = [calling.results[i] for i in range(calling.outputs[0].size)]
    assert all(calling.nodes[x].operation.name == 'element' for x in results)


def test_operations_are_counted_for_each_call_and_code_once(written, calling):
    assert 0.9 * written.operation_count < calling.operation_count < 1.6 * written.operation_count
    assert calling.written_count < 0.6 * calling.operation_count
    flat = calling.inlined()
    assert flat.operation_count == calling.operation_count
    assert not flat.routines
    elements = [*Q, 0.7]
    assert flat.interpret(elements) == calling.interpret(elements)


def test_printed_as_python_each_routine_stands_once(calling):
    text = python_source(calling)
    assert text.count('def routine') == sum(1 for _ in {*calling.routines, *nested(calling)})
    namespace = dict(vars(__import__('math')), select=lambda a, b, c: b if a else c, some=bool)
    exec(text, namespace)
    found = namespace['many'](Q.tolist(), 0.7)
    plain = PlainFunction(calling)(Q.tolist(), 0.7)
    for a, b in zip(found, plain, strict=True):
        assert a == pytest.approx(b, rel=1e-14)


def nested(traced):
    return [
        x for routine in traced.routines for x in (*routine.body.routines, *nested(routine.body))
    ]


@needs_compiler
def test_printed_as_c_it_is_written_out(written, calling, tmp_path):
    library = compiled(c_source(calling), tmp_path)
    library.many.argtypes = [VECTOR, __import__('ctypes').c_double, *[VECTOR] * 4]
    outputs = [np.zeros(max(x.size, 1)) for x in calling.outputs]
    library.many(Q, 0.7, *outputs)
    expected = several(Kernel(written, 'python')(Q, 0.7))
    close(outputs, [np.atleast_1d(x) for x in expected])


def test_typed_pointers_are_written_as_before_llvm_16(calling):
    text = llvm_ir(calling, opaque_pointers=False)
    assert not re.search(r'\bptr\b', text)
    assert 'routine0(double* noalias %numbers, i32* noalias %places)' in text


def test_a_copy_from_another_process_is_the_same(calling):
    calling.routines  # noqa: B018, what it keeps must not be copied with it
    copy = pickle.loads(pickle.dumps(calling))
    assert len(copy.routines) == len(calling.routines)
    close(several(Kernel(copy, 'llvm')(Q, 0.7)), several(Kernel(calling, 'python')(Q, 0.7)))


@pytest.mark.skipif(not hasattr(os, 'fork'), reason='there are no forks here')
def test_a_forked_process_computes_the_same(calling):
    kernel = Kernel(calling, 'llvm')
    expected = several(kernel(Q, 0.7))
    context = multiprocessing.get_context('fork')
    ours, theirs = context.Pipe()

    def child():
        theirs.send([np.asarray(x) for x in several(Kernel(calling, 'llvm')(Q, 0.7))])

    process = context.Process(target=child)
    process.start()
    assert ours.poll(60.0)
    close(ours.recv(), expected, 0.0)
    process.join()


def test_more_values_than_the_stack_has_room_for(calling, monkeypatch, caplog):
    monkeypatch.setattr(llvm_line, 'MAX_MEMORY', 64)
    kernel = Kernel(calling, 'auto', wait=True)
    assert kernel.backend == 'python'
    assert 'many hands on more values than the stack has room for' in caplog.text


# Derivatives


def smooth(x):
    total = 0.0
    for i in range(4):
        motion, _, (product, _) = call(turned, 4, x[i], _arm(x[i - 1], x[i]), x[i - 2], 2.0)
        total = total + product * motion.linear.x
    return total


def test_a_derivative_writes_out_what_is_called(called, monkeypatch):
    calling = trace(smooth, {'x': 4}, 'smooth')
    assert calling.routines
    found = Kernel(calling, 'python').derivative('x')(Q)
    monkeypatch.undo()
    expected = Kernel(trace(smooth, {'x': 4}, 'smooth'), 'python').derivative('x')(Q)
    np.testing.assert_allclose(found, expected, rtol=ROUNDING)


@pytest.mark.parametrize('mode', ['forward', 'reverse'])
def test_a_sweep_inside_a_trace_has_it_traced_without_routines(called, mode):
    def slopes(x):
        return jacobian([smooth(x)], list(x), mode)[0]

    made = trace(slopes, {'x': 4}, 'slopes')
    assert not made.routines
    step = 1e-6
    value = Kernel(trace(smooth, {'x': 4}, 'smooth'), 'python')
    expected = [(value(Q + step * e) - value(Q - step * e)) / (2 * step) for e in np.eye(4)]
    np.testing.assert_allclose(Kernel(made, 'python')(Q), expected, rtol=1e-6, atol=1e-8)


# Robots


@settings(max_examples=4)
@given(seed=SEEDS)
def test_random_robots(seed):
    robots = []
    for limit in (0, graph.WRITTEN_OUT):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(graph, 'WRITTEN_OUT', limit)
            robot = Robot.from_urdf(random_urdf(seed), 'floating', backend='python')
            kernels = [robot.kernel(name) for name in MATRICES]
        robots.append((robot, [x.trace for x in kernels]))
    robot, calling = robots[0]
    state = random_state(robot, seed)
    for one, other in zip(calling, robots[1][1], strict=True):
        inputs = {'q': state.q, 'v': state.v, 'a': state.a}
        arrays = [inputs[x.name] for x in other.arguments]
        expected = several(Kernel(other, 'python')(*arrays))
        for backend in BACKENDS:
            close(several(Kernel(one, backend)(*arrays)), expected, 1e-10)


@pytest.fixture(scope='module')
def long_chain():
    return Robot.from_urdf(chain(JOINTS), backend='llvm')


def test_a_long_chain_is_traced_with_routines_and_computed_right(long_chain):
    rng = np.random.default_rng(3)
    q, v, a = rng.uniform(-1.0, 1.0, (3, JOINTS))
    found = long_chain.inverse_dynamics_derivatives(q, v, a)
    made = long_chain.kernel('inverse_dynamics_derivatives').trace
    assert made.routines
    assert made.written_count < 0.2 * made.operation_count
    step = 1e-6
    for matrix, place in zip(found, range(3), strict=True):
        for k in (0, 20, JOINTS - 1):
            ends = []
            for sign in (1.0, -1.0):
                moved = [q.copy(), v.copy(), a.copy()]
                moved[place][k] += sign * step
                ends.append(long_chain.inverse_dynamics(*moved))
            slope = (ends[0] - ends[1]) / (2.0 * step)
            # Differences lose half of the digits of torques that are a thousand times larger.
            np.testing.assert_allclose(matrix[:, k], slope, atol=1e-5 * np.abs(ends[0]).max())


def test_batches_of_a_long_chain(long_chain):
    kernel = long_chain.kernel('inverse_dynamics_derivatives')
    states = np.random.default_rng(4).uniform(-1.0, 1.0, (3, 40, JOINTS))
    one_by_one = [kernel(*state) for state in states.transpose(1, 0, 2)]
    expected = [np.array([x[i] for x in one_by_one]) for i in range(3)]
    close(kernel(*states), expected)
    close(kernel.float32(*states), expected, SINGLE)


def test_the_example_of_a_trace_with_routines_is_that_of_its_steps(long_chain):
    made = long_chain.kernel('inverse_dynamics_derivatives').trace
    elements, results = self_test.example(made)
    assert results == pytest.approx(made.interpret(elements), rel=1e-12)


def test_robots_of_usual_size_have_none():
    robot = Robot.from_urdf(chain(24), backend='python')
    for name in (*MATRICES, 'forward_dynamics_derivatives', 'inverse_dynamics'):
        assert not robot.kernel(name).trace.routines


def test_kept_on_disk(called, monkeypatch, tmp_path):
    monkeypatch.setenv('DYNAMICS_ROS_CACHE', str(tmp_path))
    q = np.linspace(-1.0, 1.0, 6)
    first = Robot.from_urdf(chain(6), backend='llvm')
    expected = first.inverse_dynamics_derivatives(q, q, q)
    monkeypatch.setattr(kernel_set, 'trace', None)
    second = Robot.from_urdf(chain(6), backend='llvm')
    close(second.inverse_dynamics_derivatives(q, q, q), expected, 0.0)
    assert second.kernel('inverse_dynamics_derivatives').trace.routines
