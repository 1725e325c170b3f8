# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Derivatives of expressions by sweeps over their graph, and of traces, returned as traces.

A forward sweep carries the derivative of every value along each direction from the inputs on; a
reverse sweep carries the derivative of each output from the outputs back. Both are sparse: a value
has an entry only for the directions that move it, or for the outputs that it moves. The results are
expressions of the same graph, so they share whatever they have in common with the values, and can
be differentiated again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any, cast

import numpy as np

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels.graph.expression import Condition, Expression, Node, Scalar, select
from dynamics_ros.kernels.graph.operations import (
    ADD,
    CALL,
    ELEMENT,
    INPUT,
    MAXIMUM,
    MINIMUM,
    NEGATE,
    SELECT,
    SUBTRACT,
    Operation,
)
from dynamics_ros.kernels.graph.trace import Loop, Trace, Variable, trace

MODES = ('auto', 'forward', 'reverse')

Entries = dict[int, Scalar]
"""Derivatives of one value by direction, or of outputs by one value; missing entries are 0."""


def jacobian(
    ys: Sequence[Scalar],
    xs: Sequence[Expression],
    mode: str = 'auto',
    along: Sequence[Sequence[Scalar]] | None = None,
) -> list[list[Scalar]]:
    """Return the derivatives of values with respect to inputs, or along directions of the inputs.

    At a kink (min, max, abs, select) the derivative is that of the branch that the value takes.
    A reverse sweep multiplies the other branch by zero, so that branch needs a finite derivative,
    for example where a trace guards a division; a forward sweep leaves the branch out.

    Args:
        ys: values; a constant has zero derivatives.
        xs: inputs of the trace, without repetition.
        mode: 'forward', 'reverse', or 'auto' for the one with fewer operations, by an estimate.
        along: ``along[i][k]`` is the rate of input i along direction k; by default each input is a
            direction of its own. With the rates of coordinates for unit velocities, the derivative
            is the one along velocities, as for the quaternion of a floating base.

    Returns:
        One row per value, one column per direction; plain 0.0 where a value does not depend on it.

    Raises:
        InvalidArgumentError: the mode is unknown, ``xs`` holds something other than inputs, or a
            value is computed by an operation without a derivative, such as a loop.
    """
    if mode not in MODES:
        raise InvalidArgumentError('mode', repr(mode), f'one of {MODES}')
    for x in xs:
        if not (isinstance(x, Expression) and x.operation is INPUT):
            raise InvalidArgumentError('xs', repr(x), 'inputs of the trace')
    if len({id(x) for x in xs}) != len(xs):
        raise InvalidArgumentError('xs', 'an input given twice', 'each input once')
    if along is None:
        seeds: list[Entries] = [{i: 1.0} for i in range(len(xs))]
        columns = len(xs)
    else:
        if len(along) != len(xs) or len({len(row) for row in along}) > 1:
            raise InvalidArgumentError('along', f'{len(along)} rows', f'{len(xs)} equal rows')
        seeds = [_entries(row) for row in along]
        columns = len(along[0]) if along else 0
    moved = _moved_by(ys, xs, seeds)
    if mode == 'auto':
        mode = 'reverse' if _reverse_is_cheaper(ys, moved) else 'forward'
    rows = (_reverse if mode == 'reverse' else _forward)(ys, xs, seeds, list(moved))
    return [[row.get(k, 0.0) for k in range(columns)] for row in rows]


def _forward(
    ys: Sequence[Scalar], xs: Sequence[Expression], seeds: Sequence[Entries], nodes: list[Node]
) -> list[Entries]:
    """Return the derivatives of each value along the directions, by a forward sweep."""
    rates: dict[int, Entries] = {x.index: seed for x, seed in zip(xs, seeds)}
    for node in nodes:
        choice = _choice(node)
        if choice is not None:
            condition, a, b = choice
            then, otherwise = _rate(rates, a), _rate(rates, b)
            rates[node.index] = _entries(
                {
                    k: select(condition, then.get(k, 0.0), otherwise.get(k, 0.0))
                    for k in {**then, **otherwise}
                }
            )
            continue
        total: Entries = {}
        for operand, slope in zip(node.operands, _slopes(node)):
            for k, rate in _rate(rates, operand).items():
                total[k] = total.get(k, 0.0) + rate * slope
        rates[node.index] = _entries(total)
    return [_rate(rates, y) for y in ys]


def _reverse(
    ys: Sequence[Scalar], xs: Sequence[Expression], seeds: Sequence[Entries], nodes: list[Node]
) -> list[Entries]:
    """Return the derivatives of each value along the directions, by a reverse sweep."""
    moving = {node.index for node in nodes} | {x.index for x in xs}
    adjoints: dict[int, Entries] = {}
    for j, y in enumerate(ys):
        if isinstance(y, Expression) and y.index in moving:
            adjoints.setdefault(y.index, {})[j] = 1.0
    for node in reversed(nodes):
        own = _entries(adjoints.pop(node.index))
        choice = _choice(node)
        if choice is not None:
            condition, a, b = choice
            shares = [
                (a, {j: select(condition, x, 0.0) for j, x in own.items()}),
                (b, {j: select(condition, 0.0, x) for j, x in own.items()}),
            ]
        else:
            shares = [
                (operand, {j: x * slope for j, x in own.items()})
                for operand, slope in zip(node.operands, _slopes(node))
            ]
        for operand, share in shares:
            if isinstance(operand, Node) and operand.index in moving:
                total = adjoints.setdefault(operand.index, {})
                for j, x in share.items():
                    total[j] = total.get(j, 0.0) + x
    rows: list[Entries] = [{} for _ in ys]
    for x, seed in zip(xs, seeds):
        for j, adjoint in adjoints.get(x.index, {}).items():
            for k, rate in seed.items():
                rows[j][k] = rows[j].get(k, 0.0) + adjoint * rate
    return rows


def _moved_by(
    ys: Sequence[Scalar], xs: Sequence[Expression], seeds: Sequence[Entries]
) -> dict[Node, int]:
    """Return the nodes between inputs and values, operands first, with directions as bit masks."""
    roots = [y for y in ys if isinstance(y, Expression)]
    if not roots or not len(xs):
        return {}
    graph = roots[0].graph
    if any(node.graph is not graph for node in (*roots, *xs)):
        raise InvalidArgumentError('xs', 'inputs of another trace', 'inputs of this trace')
    needed = bytearray(1 + max(root.index for root in roots))
    for root in roots:
        needed[root.index] = 1
    for i in range(len(needed) - 1, -1, -1):
        # The operands of a condition move the place where a value jumps, not its derivative.
        if needed[i] and not isinstance(graph.nodes[i], Condition):
            for operand in graph.nodes[i].operands:
                if isinstance(operand, Node):
                    needed[operand.index] = 1
    directions = {x.index: sum(1 << k for k in seed) for x, seed in zip(xs, seeds)}
    moved = {}
    for i, is_needed in enumerate(needed):
        node = graph.nodes[i]
        if is_needed and node.operation is not INPUT and not isinstance(node, Condition):
            bits = 0
            for operand in node.operands:
                if isinstance(operand, Node):
                    bits |= directions.get(operand.index, 0)
            if bits:
                directions[i] = moved[node] = bits
    return moved


def _reverse_is_cheaper(ys: Sequence[Scalar], moved: dict[Node, int]) -> bool:
    """Return whether a reverse sweep has fewer products and sums than a forward sweep."""
    outputs: dict[int, int] = {}
    for j, y in enumerate(ys):
        if isinstance(y, Expression):
            outputs[y.index] = outputs.get(y.index, 0) | 1 << j
    forward = reverse = 0
    for node in reversed(moved):
        product = node.operation not in (ADD, SUBTRACT, NEGATE)
        columns, rows = moved[node].bit_count(), outputs[node.index]
        forward -= columns  # the first term of a sum needs no addition
        for operand in node.operands:
            if isinstance(operand, Node) and operand in moved:
                forward += moved[operand].bit_count() * (1 + product)
                known = outputs.get(operand.index, 0)
                reverse += (known & rows).bit_count() + rows.bit_count() * product
                outputs[operand.index] = known | rows
    return reverse < forward


def _rate(rates: dict[int, Entries], value: Any) -> Entries:
    return rates.get(value.index, {}) if isinstance(value, Node) else {}


def _entries(values: Sequence[Scalar] | Entries) -> Entries:
    """Return the entries that are not the constant zero."""
    items = values.items() if isinstance(values, dict) else enumerate(values)
    return {k: x for k, x in items if isinstance(x, Expression) or x != 0.0}


def _choice(node: Node) -> tuple[Condition | bool, Any, Any] | None:
    """Return the condition and both values of a node that selects one of two; else None."""
    if node.operation is SELECT:
        return cast('tuple[Condition, Any, Any]', node.operands)
    if node.operation is MINIMUM or node.operation is MAXIMUM:
        a, b = cast('tuple[Expression, Scalar]', node.operands)
        return (a.less(b) if node.operation is MINIMUM else (-a).less(-b)), a, b
    return None


def _slopes(node: Node) -> tuple[Scalar, ...]:
    """Return the derivative of a node with respect to each of its operands."""
    slopes = node.operation.slopes
    if slopes is None:
        name = 'loop' if node.operation is ELEMENT else node.operation.name
        raise InvalidArgumentError('ys', f'computed by a {name}', 'what has a derivative')
    return slopes(node, *node.operands)


def derivative(traced: Trace, by: str, of: str = 'result', mode: str = 'auto') -> Trace:
    """Return the trace of `Kernel.derivative`, which refuses the same inputs as the trace."""
    variable, column = _named(traced.inputs, by, 'by')
    output, row = _named(traced.outputs, of, 'of')

    def slopes(inputs: list[list[Any]], outputs: list[list[Any]]) -> Any:
        made = jacobian(outputs[row], inputs[column], mode)
        return np.array(made, dtype=object).reshape(output.shape + variable.shape)

    return _of_values(traced, 'derivative', f'derivative of {of} by {by}', slopes)


def hessian(traced: Trace, by: str, of: str = 'result') -> Trace:
    """Return the trace of `Kernel.hessian`.

    The four combinations of forward and reverse sweeps give the same numbers by different
    operations; the one with the fewest operations is returned. Equal entries are computed once.
    """
    variable, column = _named(traced.inputs, by, 'by')
    output, row = _named(traced.outputs, of, 'of')
    if output.shape != ():
        raise InvalidArgumentError('of', f'{of!r} of shape {output.shape}', 'a scalar output')
    modes = ('forward', 'reverse')

    def cheapest(inputs: list[list[Any]], outputs: list[list[Any]]) -> Any:
        xs = inputs[column]
        n = range(len(xs))
        slopes = [jacobian(outputs[row], xs, first)[0] for first in modes]
        seconds = [jacobian(slope, xs, mode) for slope in slopes for mode in modes]
        # Candidates that are not chosen stay in the graph; a trace keeps only what its results
        # need.
        upper = [[rows[min(i, j)][max(i, j)] for i in n for j in n] for rows in seconds]
        made = np.array(min(upper, key=_operations), dtype=object)
        return made.reshape(2 * variable.shape)

    return _of_values(traced, 'hessian', f'second derivative of {of} by {by}', cheapest)


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
    """Return the trace of `Kernel.pullback`, by one reverse sweep.

    It takes at most about four times the operations of the trace, for any number of inputs. The
    weights ``w_<output>`` come after the inputs that a caller passes; the trace has an output
    ``d_<x>`` for each of these inputs x.
    """
    own = traced.arguments

    def gradients(inputs: list[list[Any]], outputs: list[list[Any]], *weights: list[Any]) -> Any:
        weighted: Any = 0.0
        for weight, x in zip(chain(*weights), chain(*outputs), strict=True):
            weighted = weighted + weight * x
        slopes = iter(jacobian([weighted], [*chain(*inputs[: len(own)])], 'reverse')[0])
        flat = (np.array([next(slopes) for _ in range(x.size)], dtype=object) for x in own)
        return {f'd_{x.name}': part.reshape(x.shape) for x, part in zip(own, flat)}

    more = {f'w_{x.name}': x.shape for x in traced.outputs}
    return _of_values(traced, 'pullback', 'pullback', gradients, more)


def _of_values(
    traced: Trace,
    name: str,
    what: str,
    function: Callable[..., Any],
    more: dict[str, tuple[int, ...]] | None = None,
) -> Trace:
    """Return the trace of a function of the values of a trace, which refuses the same inputs.

    Args:
        traced: the trace.
        name, what: name and description.
        function: takes the elements of each input, the elements of each output, and the elements of
            each further input.
        more: shapes of further inputs by name, after those that a caller passes.
    """
    added, count = more or {}, len(traced.arguments)
    inputs = {x.name: x.shape for x in traced.arguments} | added
    inputs |= {x.name: x.shape for x in traced.inputs[count:]}

    def of_symbols(*symbols: Any) -> Any:
        flat = [_flat(symbol) for symbol in symbols]
        further, flat[count:] = flat[count : count + len(added)], flat[count + len(added) :]
        values = _replayed(traced, [*chain(*flat)])
        results = (values[x] if isinstance(x, int) else x for x in traced.results)
        outputs = [[next(results) for _ in range(x.size)] for x in traced.outputs]
        return function(flat, outputs, *further)

    return trace(
        of_symbols,
        inputs,
        f'{traced.name}_{name}',
        f'{what} of {traced.description or traced.name}',
        unit_quaternions=traced.unit_quaternions,
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
        if isinstance(operation, Loop) or any(isinstance(x, Expression) for x in arguments):
            values.append(_of_expressions(operation)(*arguments))
        else:
            values.append(operation.evaluate(*arguments))
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
