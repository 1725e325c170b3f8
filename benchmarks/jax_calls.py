# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A kernel within a compiled JAX program, compared with the same kernel as a Python callback.

A program calls inverse dynamics repeatedly, each time with the previous torques, so that no call
can be optimized away. Its overhead of some 10 us is divided among all calls.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

from benchmarks.descriptions import bare
from benchmarks.records import Goal, Record
from benchmarks.robots import Subject, urdf_path
from benchmarks.timing import Effort, interleaved
from dynamics_ros import Robot
from dynamics_ros.bindings.jax_function import jax_function
from dynamics_ros.kernels import Kernel

SUITE = 'dynamics'
CALLS, STATES = 200, 1000
CALL, BATCH = Goal(0.1), Goal(1.0)


def run(subjects: list[Subject], effort: Effort) -> Iterator[Record]:
    """Time both on every robot with a fixed base; skipped without JAX."""
    if importlib.util.find_spec('jax') is None:
        print('calls of JAX are left out: jax is not installed')
        return
    import jax

    jax.config.update('jax_enable_x64', True)
    for subject in subjects:
        robot = Robot.from_urdf(bare(urdf_path(subject.name), subject.locked), subject.root)
        if robot.nq == robot.nv:
            yield from _records(subject.name, robot, effort)


def _records(name: str, robot: Robot, effort: Effort) -> Iterator[Record]:
    import jax
    import jax.numpy as jnp

    kernel = robot.kernel('inverse_dynamics')
    kernel.wait()
    functions = {'ours': jax_function(kernel), 'python': partial(_called_back, kernel)}
    rng = np.random.default_rng(0)
    state = [jnp.asarray(x) for x in rng.normal(size=(3, robot.nv))]
    many = [jnp.asarray(x) for x in rng.normal(size=(3, STATES, robot.nv))]
    names: dict[str, Any] = {'state': state, 'many': many}
    for who, function in functions.items():
        names |= {f'{who}_loop': _program(function), f'{who}_batch': jax.jit(jax.vmap(function))}
        error = np.abs(
            names[f'{who}_batch'](*many) - robot.inverse_dynamics(*map(np.asarray, many))
        )
        assert error.max() <= 1e-9
    statements = {
        f'{who} {what}': f'{who}_{what}(*{given}).block_until_ready()'
        for who in functions
        for what, given in (('loop', 'state'), ('batch', 'many'))
    }
    times = interleaved(statements, names, effort)
    for what, count, case, goal in (
        ('loop', CALLS, 'RNEA inside jit of JAX', CALL),
        ('batch', STATES, f'RNEA mapped over {STATES} by JAX', BATCH),
    ):
        ours, theirs = (times[f'{who} {what}'] / count * 1e6 for who in functions)
        yield Record(SUITE, case, name, ours, 'us', 'pure_callback', theirs, goal)


def _program(function: Callable[..., Any]) -> Any:
    """A compiled program that calls a function repeatedly."""
    import jax

    def program(q: Any, v: Any, a: Any) -> Any:
        return jax.lax.fori_loop(0, CALLS, lambda _, x: 0.1 * function(q, v, x), a)

    return jax.jit(program)


def _called_back(kernel: Kernel, *arrays: Any) -> Any:
    """The kernel as a JAX callback into Python."""
    import jax

    like = jax.ShapeDtypeStruct(arrays[0].shape, arrays[0].dtype)
    return jax.pure_callback(
        lambda *given: kernel(*(np.asarray(x) for x in given)),
        like,
        *arrays,
        vmap_method='broadcast_all',
    )
