# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Test of an entry point before its first use: correct results, ``out``, and refusals."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from dynamics_ros.kernels.cpython.arguments import Array
from dynamics_ros.kernels.graph.trace import Trace, Variable

_tried: set[tuple[tuple[Variable, ...], tuple[Variable, ...], bool]] = set()
"""Inputs and outputs whose refusals were tried; refusals of equal ones run equal code."""

Call = tuple[str, tuple[Any, ...], dict[str, Any]]


def fault(
    bind: Callable[[Callable[..., Any]], Callable[..., Any]],
    trace: Trace,
    arrays: Sequence[Array],
    results: Sequence[Array],
) -> str | None:
    """Return a description of an entry point's fault, or None if it works.

    Args:
        bind: makes the function from a slow path.
        arrays, results: valid arguments of the trace, and the expected results.
    """
    refused: list[Any] = []

    def slow_path(*values: Any, **named: Any) -> Any:
        refused.append((values, named))
        return refused

    call = bind(slow_path)
    inputs = tuple(x if x.shape else float(x) for x in arrays)
    answer = call(*inputs)
    if answer is refused:
        return 'it refuses what it should take'
    pieces = answer if len(results) != 1 else (answer,)
    if not _equal(pieces, results):
        return 'it gives another result'
    if _takes_out(trace):
        out = np.full(trace.outputs[0].shape, np.nan)
        if call(*inputs, out=out) is not out or not _equal((out,), results):
            return 'it does not fill out='
    signature = (trace.inputs, trace.outputs, trace.bound)
    if signature in _tried:
        return None
    for description, values, named in _refusals(trace, inputs):
        refused.clear()
        if call(*values, **named) is not refused or not _same(refused, values, named):
            return f'it does not refuse {description}'
    _tried.add(signature)
    return None


def _takes_out(trace: Trace) -> bool:
    return len(trace.outputs) == 1 and bool(trace.outputs[0].shape)


def _equal(some: Any, others: Sequence[Array]) -> bool:
    return (
        isinstance(some, tuple)
        and len(some) == len(others)
        and all(np.array_equal(x, y, equal_nan=True) for x, y in zip(some, others))
    )


def _same(refused: list[Any], values: tuple[Any, ...], named: dict[str, Any]) -> bool:
    """Return whether one call was handed on with the identical objects."""
    if (
        len(refused) != 1
        or len(refused[0][0]) != len(values)
        or refused[0][1].keys() != named.keys()
    ):
        return False
    handed = (*refused[0][0], *refused[0][1].values())
    return all(x is y for x, y in zip(handed, (*values, *named.values())))


def _refusals(trace: Trace, inputs: tuple[Any, ...]) -> Iterator[Call]:
    """Yield calls that an entry point must hand on."""
    yield 'one argument more', (*inputs, None), {}
    yield 'an unknown keyword', inputs, {'other': None}
    if inputs:
        yield 'one argument less', inputs[:-1], {}
        yield 'an argument by its name', inputs[:-1], {trace.arguments[-1].name: inputs[-1]}
    for i, (value, variable) in enumerate(zip(inputs, trace.arguments)):
        for description, other in _unfit(value, variable):
            changed = (*inputs[:i], other, *inputs[i + 1 :])
            yield f'{variable.name} that is {description}', changed, {}
    fitting = np.empty(trace.outputs[0].shape) if trace.outputs else None
    if not _takes_out(trace):
        yield 'out=', inputs, {'out': fitting}
        return
    variable = trace.outputs[0]
    yield 'two keywords', inputs, {'out': fitting, 'other': None}
    yield 'another keyword than out=', inputs, {'other': fitting}
    for description, other in _unfit(np.zeros(variable.shape), variable):
        if description != 'not finite':
            yield f'out= that is {description}', inputs, {'out': other}
    frozen = np.empty(variable.shape)
    frozen.flags.writeable = False
    yield 'out= that is read-only', inputs, {'out': frozen}
    for value in inputs:
        if isinstance(value, np.ndarray) and value.shape == variable.shape and value.size:
            yield 'out= that is an input', inputs, {'out': value}


def _unfit(value: Any, variable: Variable) -> Iterator[tuple[str, Any]]:
    """Yield values that an entry point must not accept for an input or output."""
    yield 'None', None
    if not variable.shape:
        yield 'a whole number', 1
        yield 'an array', np.array(0.5)
        yield 'not finite', float('nan')
        return
    yield 'a list', value.tolist()
    yield 'of single precision', value.astype(np.float32)
    yield 'of the other byte order', value.astype('>f8')
    yield 'of another class', value.view(_Other)
    yield 'of one axis more', value[np.newaxis].copy()
    longer = np.zeros([*variable.shape[:-1], variable.shape[-1] + 1])
    yield 'longer', longer
    if value.size > 1:
        yield 'not contiguous', np.repeat(value, 2, axis=-1)[..., ::2]
        yield 'not aligned', _unaligned(value)
    if value.size:
        bad = value.copy()
        bad.flat[-1] = np.nan
        yield 'not finite', bad


class _Other(np.ndarray[Any, np.dtype[np.float64]]):
    """Array subclass, whose behaviour an entry point does not know."""


def _unaligned(value: Array) -> Array:
    bytes_ = np.zeros(value.nbytes + 1, np.uint8)[1:]
    moved = bytes_.view(np.float64).reshape(value.shape)
    moved[...] = value
    return moved
