# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Tracing: runs a function of scalars once on symbols to record its operations."""

from __future__ import annotations

import gc
import keyword
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels.graph.expression import Expression, Operand, Scalar
from dynamics_ros.kernels.graph.graph import Graph
from dynamics_ros.kernels.graph.lowering import depends, lower
from dynamics_ros.kernels.graph.operations import INPUT
from dynamics_ros.kernels.graph.trace import (
    Instruction,
    Limits,
    Shape,
    Trace,
    Unanswered,
    Variable,
)


class Requirement(NamedTuple):
    """Expression of a trace's inputs that must lie within limits.

    Attributes:
        value: the expression.
        low, high: the limits, inclusive.
        error: makes the error to raise from the value that is outside.
    """

    value: Scalar
    low: float
    high: float
    error: Callable[[float], Exception]


def trace(
    function: Callable[..., Any],
    inputs: Mapping[str, int | Shape],
    name: str,
    description: str = '',
    requirements: Callable[..., Iterable[Requirement]] | None = None,
    finite_results: Callable[[Unanswered], Exception] | None = None,
    bound: bool = False,
) -> Trace:
    """Trace a function: run it once on symbols and record its operations.

    Args:
        function: takes one argument per input, in order: an `Expression` for shape (), a
            list for one axis, nested lists for more. Returns a scalar, a nested list, or a dict of
            these by output name.
        inputs: shape of each input by name; an int n is the shape (n,).
        name: a Python identifier, the name of the printed function.
        description: one line for the header of printed code.
        requirements: called like the function; returns the requirements on the inputs. A kernel of
            the trace raises the error of a requirement that is not met.
        finite_results: makes the error that a kernel raises from a state with a NaN or infinite
            result; without it such results are returned.
        bound: whether the last input is one that a kernel binds to an array (see
            `Kernel.bound_to`); the trace omits it if nothing depends on it.

    Raises:
        InvalidArgumentError: a name or shape cannot be printed, or the results are ragged.
        TooLargeError: the function takes more operations than a trace may have.
        TypeError: the function branches on a traced value.
    """
    if not isinstance(inputs, Mapping):
        expected = 'a mapping of names to shapes, such as {"q": 7, "scale": ()}'
        raise InvalidArgumentError('inputs', f'a {type(inputs).__name__}', expected)
    for identifier in (name, *inputs):
        if not (
            isinstance(identifier, str)
            and identifier.isidentifier()
            and not keyword.iskeyword(identifier)
        ):
            raise InvalidArgumentError('name', f'{identifier!r} given', 'a Python identifier')
    variables = tuple(Variable(key, _shape(key, shape)) for key, shape in inputs.items())
    rest = function, variables, name, description, requirements, finite_results, bound
    with collector_paused():
        return _traced(Graph(description or name), *rest)


def _shape(name: str, shape: Any) -> Shape:
    sizes = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    if not all(isinstance(size, (int, np.integer)) and size >= 0 for size in sizes):
        expected = 'a whole number of elements, or a tuple of these; () is a scalar'
        raise InvalidArgumentError('inputs', f'{shape!r} as the shape of {name}', expected)
    return tuple(map(int, sizes))


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause garbage collection, which would take half of the time on a growing graph."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def _traced(
    graph: Graph,
    function: Callable[..., Any],
    variables: tuple[Variable, ...],
    name: str,
    description: str,
    requirements: Callable[..., Iterable[Requirement]] | None,
    finite_results: Callable[[Unanswered], Exception] | None,
    bound: bool,
) -> Trace:
    origins: list[Instruction] = []
    symbols = []
    for argument, variable in enumerate(variables):
        elements = iter([graph.symbol() for _ in range(variable.size)])
        origins += [Instruction(INPUT, (argument, i)) for i in range(variable.size)]
        symbols.append(_nested(elements, variable.shape))

    returned = function(*symbols)
    named = returned if isinstance(returned, Mapping) else {'result': returned}
    outputs = []
    values: list[Operand] = []
    for key, value in named.items():
        shape, flat = _flattened(value, str(key))
        outputs.append(Variable(str(key), shape))
        values += [graph.result(x, str(key)) for x in flat]
    demanded = [] if requirements is None else _undecided(requirements(*symbols))
    conditions = [x.value for x in demanded]
    if bound and not depends([*values, *conditions], len(origins) - variables[-1].size):
        bound, variables = False, variables[:-1]
        del origins[sum(x.size for x in variables) :]
    nodes, results = lower(values, origins)
    required = None
    if demanded:
        steps, limited = lower(conditions, origins)
        required = Trace(
            f'{name}_requirements',
            f'what {name} requires',
            variables,
            (Variable('values', (len(demanded),)),),
            tuple(steps),
            tuple(limited),
        )
    return Trace(
        name,
        description,
        variables,
        tuple(outputs),
        tuple(nodes),
        tuple(results),
        required,
        tuple(Limits(x.low, x.high, x.error) for x in demanded),
        finite_results,
        bound,
    )


def _undecided(requirements: Iterable[Requirement]) -> list[Requirement]:
    """Return the requirements that depend on inputs; raise the error of a violated constant one."""
    kept = []
    for x in requirements:
        if isinstance(x.value, Expression):
            kept.append(x)
        elif not x.low <= x.value <= x.high:
            raise x.error(x.value)
    return kept


def _nested(elements: Iterator[Expression], shape: Shape) -> Any:
    """Return the next elements as nested lists."""
    if not shape:
        return next(elements)
    return [_nested(elements, shape[1:]) for _ in range(shape[0])]


def _flattened(value: Any, name: str) -> tuple[Shape, list[Any]]:
    """Return the shape and the elements of nested lists, tuples or an array."""
    if hasattr(value, 'tolist'):  # an array has a shape even without elements
        return tuple(value.shape), value.ravel().tolist()
    if not isinstance(value, (list, tuple)):
        return (), [value]
    parts = [_flattened(x, name) for x in value]
    shapes = {shape for shape, _ in parts} or {()}
    if len(shapes) > 1:
        raise InvalidArgumentError(name, f'rows of shapes {sorted(shapes)}', 'equal rows')
    return (len(parts), *shapes.pop()), [x for _, elements in parts for x in elements]
