# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of traces, returned as traces."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels.autodiff.sweeps import jacobian
from dynamics_ros.kernels.graph.expression import Expression, Node, select
from dynamics_ros.kernels.graph.operations import CALL, SELECT, Operation
from dynamics_ros.kernels.graph.trace import Trace, Variable
from dynamics_ros.kernels.graph.tracing import Requirement, trace


def derivative(traced: Trace, by: str, of: str = 'result', mode: str = 'auto') -> Trace:
    """Return the trace of the derivative of one output with respect to one input.

    The derivative is taken with respect to coordinates: for a quaternion, its four numbers. The
    derivative requires the same conditions of its inputs as the trace.

    Args:
        traced: the trace to differentiate.
        by: name of an input.
        of: name of an output.
        mode: 'forward', 'reverse' or 'auto', as for ``jacobian``.

    Returns:
        A trace of the same inputs; its output ``result`` has the shape of the output followed by
        the shape of the input.

    Raises:
        InvalidArgumentError: there is no such input or output, the mode is unknown, or the output
            is computed by an operation without a derivative, such as a loop.
    """
    variable, column = _named(traced.inputs, by, 'by')
    output, row = _named(traced.outputs, of, 'of')
    start = sum(x.size for x in traced.outputs[:row])

    def function(*symbols: Any) -> Any:
        elements = [_flat(symbol) for symbol in symbols]
        values = _replayed(traced, [x for part in elements for x in part])
        results = traced.results[start : start + output.size]
        ys = [values[x] if isinstance(x, int) else x for x in results]
        rows = jacobian(ys, elements[column], mode)
        return np.array(rows, dtype=object).reshape(output.shape + variable.shape).tolist()

    return _like(traced, function, 'derivative', f'derivative of {of} by {by}')


def hessian(traced: Trace, by: str, of: str = 'result') -> Trace:
    """Return the trace of the Hessian of a scalar output with respect to one input, symmetric.

    The four combinations of forward and reverse sweeps give the same numbers by different
    operations; the one with the fewest operations is returned. Equal entries are computed once.

    Args:
        traced, by, of: as for ``derivative``; the output is a scalar.

    Returns:
        A trace of the same inputs; its output ``result`` has the shape of the input twice.

    Raises:
        InvalidArgumentError: as for ``derivative``, or the output is not a scalar.
    """
    variable, column = _named(traced.inputs, by, 'by')
    output, row = _named(traced.outputs, of, 'of')
    if output.shape != ():
        raise InvalidArgumentError('of', f'{of!r} of shape {output.shape}', 'a scalar output')
    start = sum(x.size for x in traced.outputs[:row])

    def function(*symbols: Any) -> Any:
        elements = [_flat(symbol) for symbol in symbols]
        values = _replayed(traced, [x for part in elements for x in part])
        place = traced.results[start]
        y = values[place] if isinstance(place, int) else place
        xs = elements[column]
        n = range(len(xs))
        modes = ('forward', 'reverse')
        slopes = [jacobian([y], xs, first)[0] for first in modes]
        seconds = [jacobian(slope, xs, mode) for slope in slopes for mode in modes]
        # Candidates that are not chosen stay in the graph; a trace keeps only what its results
        # need.
        upper = [[rows[min(i, j)][max(i, j)] for i in n for j in n] for rows in seconds]
        best = min(upper, key=_operations)
        return np.array(best, dtype=object).reshape(2 * variable.shape).tolist()

    return _like(traced, function, 'hessian', f'second derivative of {of} by {by}')


def _operations(values: Sequence[Any]) -> int:
    """Return the number of operations that compute some values from inputs."""
    waiting, found = [x for x in values if isinstance(x, Node)], set()
    while waiting:
        node = waiting.pop()
        if node.index not in found:
            found.add(node.index)
            waiting += [x for x in node.operands if isinstance(x, Node)]
    return len(found)


def pullback(traced: Trace) -> Trace:
    """Return the trace of the vector-Jacobian product of a trace, by one reverse sweep.

    For weights w of the results y it computes dy/dx^T w for each input x, which reverse-mode
    differentiation of a program needs of each of its functions. It takes at most about four times
    the operations of the trace, for any number of inputs.

    Returns:
        A trace with the same inputs, followed by a weight ``w_<output>`` of the shape of each
        output.
        The weights come after the inputs that a caller passes; the trace has an output ``d_<x>``
        for each of these inputs x.

    Raises:
        InvalidArgumentError: an output is computed by an operation without a derivative, such as a
            loop.
    """
    own, hidden = traced.arguments, traced.inputs[len(traced.arguments) :]
    count, last = len(own), len(own) + len(traced.outputs)
    inputs = {x.name: x.shape for x in own}
    inputs |= {f'w_{x.name}': x.shape for x in traced.outputs}
    inputs |= {x.name: x.shape for x in hidden}

    def primal(symbols: Sequence[Any]) -> list[Any]:
        return [x for part in (*symbols[:count], *symbols[last:]) for x in _flat(part)]

    def function(*symbols: Any) -> Any:
        values = _replayed(traced, primal(symbols))
        weights = [x for part in symbols[count:last] for x in _flat(part)]
        weighted: Any = 0.0
        for weight, x in zip(weights, traced.results, strict=True):
            weighted = weighted + weight * (values[x] if isinstance(x, int) else x)
        parts = [_flat(part) for part in symbols[:count]]
        slopes = iter(jacobian([weighted], [x for part in parts for x in part], 'reverse')[0])
        found = {}
        for variable, part in zip(own, parts, strict=True):
            flat = np.array([next(slopes) for _ in part], dtype=object)
            found[f'd_{variable.name}'] = flat.reshape(variable.shape).tolist()
        return found

    def requirements(*symbols: Any) -> Iterator[Requirement]:
        if traced.required is not None:
            values = _replayed(traced.required, primal(symbols))
            for x, (low, high, error) in zip(traced.required.results, traced.requirements):
                yield Requirement(values[x] if isinstance(x, int) else x, low, high, error)

    return trace(
        function,
        inputs,
        f'{traced.name}_pullback',
        f'pullback of {traced.description or traced.name}',
        requirements=requirements,
        finite_results=traced.finite_results,
        bound=traced.bound,
    )


def replay(traced: Trace, elements: Sequence[Any]) -> list[Any]:
    """Return all output elements of a trace, as expressions of other traces or as numbers.

    Args:
        traced: the trace to evaluate.
        elements: all input elements in order: expressions, numbers, or both.
    """
    values = _replayed(traced, elements)
    return [values[x] if isinstance(x, int) else x for x in traced.results]


def _like(traced: Trace, function: Callable[..., Any], name: str, what: str) -> Trace:
    """Return the trace of a function of another trace's inputs, with the same requirements."""
    made = trace(
        function,
        {x.name: x.shape for x in traced.inputs},
        f'{traced.name}_{name}',
        f'{what} of {traced.description or traced.name}',
    )
    return replace(
        made,
        required=traced.required,
        requirements=traced.requirements,
        finite_results=traced.finite_results,
        bound=traced.bound,
    )


def _named(variables: Sequence[Variable], name: str, argument: str) -> tuple[Variable, int]:
    """Return the variable with a given name and its index."""
    for place, variable in enumerate(variables):
        if variable.name == name:
            return variable, place
    known = ', '.join(x.name for x in variables)
    raise InvalidArgumentError(argument, repr(name), f'one of {known}')


def _replayed(traced: Trace, symbols: Sequence[Any]) -> list[Any]:
    """Return the value of each instruction as an expression of some symbols, or as a number."""
    values: list[Any] = list(symbols)
    for operation, operands in traced.nodes[len(values) :]:
        arguments = [values[x] if isinstance(x, int) else x for x in operands]
        known = not any(isinstance(x, Expression) for x in arguments)
        function = operation.evaluate if known else _of_expressions(operation)
        values.append(function(*arguments))
    return values


def _of_expressions(operation: Operation) -> Callable[..., Any]:
    """Return an operation as a function of expressions."""
    if operation is SELECT:
        return select
    if operation.precedence < CALL:
        return operation.evaluate
    function = getattr(Expression, operation.name, None)
    if function is None:
        raise InvalidArgumentError(
            'traced', f'computes a {operation.name}', 'what has a derivative'
        )
    return function


def _flat(nested: Any) -> list[Any]:
    return np.array(nested, dtype=object).ravel().tolist()
