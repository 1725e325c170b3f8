# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Graph of a trace with loops, whose iteration count is known only when the kernel runs."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from dynamics_ros.kernels.graph.expression import (
    Condition,
    Expression,
    Node,
    Operand,
    Scalar,
    select,
)
from dynamics_ros.kernels.graph.lowering import lower
from dynamics_ros.kernels.graph.normal_form import NormalForm
from dynamics_ros.kernels.graph.operations import ELEMENT, INPUT
from dynamics_ros.kernels.graph.trace import Instruction, Loop, Trace, Variable

Body = Callable[..., tuple[Sequence[Scalar], Condition | Scalar]]


class _Place(int):
    """The index of a captured value among those of a loop."""


class Graph(NormalForm):
    """Graph of one trace: nodes in normal form, including loops."""

    __slots__ = ()

    def repeat(
        self, body: Body, initial: Sequence[Scalar], limit: int, captured: Sequence[Any]
    ) -> list[Scalar]:
        """Return the state after the iterations of a loop, at least one.

        Args:
            body: one iteration: takes the state, a list, and the captured values; returns the next
                state and whether to continue: a condition, a bool, or a number above zero.
            initial: the initial state.
            limit: the largest number of iterations.
            captured: other values that the body needs: numbers, expressions or nested lists of
                them.
                The body can use no other expressions of the graph.
        """
        limit = operator.index(limit)
        if limit < 1:
            raise ValueError(f'a loop of {limit} turns; at least one is expected')
        places: dict[int, int] = {}
        values: list[Operand] = []

        def place(value: Any) -> Any:
            """Return a captured value with expressions replaced by their indices; numbers stay."""
            if isinstance(value, (list, tuple)):
                return [place(x) for x in value]
            if hasattr(value, 'tolist'):
                return place(value.tolist())
            if not isinstance(value, Expression):
                return value
            if value.index not in places:
                places[value.index] = len(values)
                values.append(self.operand(value))
            return _Place(places[value.index])

        placed = [place(x) for x in captured]
        turn = _traced_turn(body, len(initial), len(values), placed)
        loop = Loop(
            name='loop',
            arity=len(initial) + len(values),
            evaluate=partial(_last_state, turn, limit),
            python='',
            c='',
            llvm=(),
            body=turn,
            limit=limit,
        )
        operands = (*[self.result(x, 'initial') for x in initial], *values)
        names = [x.index if isinstance(x, Node) else repr(x) for x in operands]
        key = (Loop, limit, *_signature(turn), None, *names)
        node = self.stored(key, loop, operands, Node)
        return [self.node(ELEMENT, node, float(i)) for i in range(len(initial))]


def _traced_turn(body: Body, states: int, values: int, captured: Sequence[Any]) -> Trace:
    """Return one iteration as a trace."""
    graph = Graph()
    state = [graph.symbol() for _ in range(states)]
    symbols = [graph.symbol() for _ in range(values)]
    origins = [Instruction(INPUT, (0, i)) for i in range(states)]
    origins += [Instruction(INPUT, (1, i)) for i in range(values)]

    def filled(value: Any) -> Any:
        if isinstance(value, list):
            return [filled(x) for x in value]
        return symbols[value] if isinstance(value, _Place) else value

    following, go_on = body(list(state), *[filled(x) for x in captured])
    if len(following) != states:
        raise ValueError(f'a next state of {len(following)} values; {states} are expected')
    if isinstance(go_on, Expression):
        go_on = (-go_on).less(0.0)
    elif not isinstance(go_on, Condition):
        go_on = go_on > 0.0
    results = [graph.result(x, 'body') for x in following]
    results.append(graph.result(select(go_on, 1.0, 0.0), 'body'))
    nodes, found = lower(results, origins)
    return Trace(
        'turn',
        'a turn of a loop',
        (Variable('state', (states,)), Variable('captured', (values,))),
        (Variable('next', (states,)), Variable('go_on', ())),
        tuple(nodes),
        tuple(found),
    )


def _signature(turn: Trace) -> tuple[object, ...]:
    """Return a key shared by equal bodies; constants appear as text, positions as integers."""
    steps = [(operation, *map(repr, operands)) for operation, operands in turn.nodes]
    return (*steps, *map(repr, turn.results))


def _last_state(turn: Trace, limit: int, *operands: float) -> list[float]:
    size = turn.outputs[0].size
    state, captured = list(operands[:size]), operands[size:]
    for _ in range(limit):
        *state, go_on = turn.interpret([*state, *captured])
        if not go_on:
            break
    return state
