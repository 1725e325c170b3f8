# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Graph of a trace with loops, whose iteration count is known only when the kernel runs."""

from __future__ import annotations

import operator
from collections.abc import Callable, Hashable, Iterator, Sequence
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
from dynamics_ros.kernels.graph.trace import Instruction, Loop, Routine, Trace, Variable

Body = Callable[..., tuple[Sequence[Scalar], Condition | Scalar]]


class _Place(int):
    """The index of a captured value among those of a loop."""


WRITTEN_OUT = 100_000
"""Number of nodes up to which functions are inlined at every call. Inlined code runs up to a fifth
faster and takes several times as long to compile. All pairs of 38 joints of a humanoid come to
30,000 nodes, those of 100 joints in a row to a million.
"""

KEPT = (0.0, 1.0, -1.0)
"""Constants that a routine is specialized for; all other constants are operands."""

MIN_OPERATIONS = 8
"""A routine of fewer operations costs more to call than to inline."""


class RoutinesWantedError(Exception):
    """Raised when a function is inlined so often that routines should be called instead."""


class RoutinesUnwantedError(Exception):
    """Raised when an operation needs the expression inside the result of a routine."""


class Graph(NormalForm):
    """Graph of one trace: nodes in normal form, including loops and routines."""

    __slots__ = ('_called', '_calls', '_routines', '_written')

    def __init__(self, name: str = 'a trace', called: bool | None = False) -> None:
        """Create an empty graph.

        Args:
            name: name of the traced function, for errors.
            called: whether functions become routines; None raises RoutinesWantedError where they
                should.
        """
        super().__init__(name)
        self._called = called
        # For each inlined function: number of calls and of nodes they took.
        self._written: dict[Hashable, tuple[int, int]] = {}
        self._calls: dict[Hashable, list[Scalar]] = {}
        self._routines: dict[Hashable, tuple[Routine | None, list[int | float], Any]] = {}

    def call(
        self,
        function: Callable[..., Any],
        times: int,
        arguments: Sequence[Any],
        take_apart: Callable[[Any, list[Scalar]], Any],
        put_together: Callable[[Any, Iterator[Scalar]], Any],
    ) -> Any:
        """Return the result of a function, inlined or computed by an equivalent routine.

        Args:
            function: called with the arguments; uses no other expressions of the graph.
            times: approximate number of calls in the trace.
            arguments: values made of scalars.
            take_apart: appends the scalars of a value to a list and returns their arrangement.
            put_together: builds the value from an arrangement and scalars.
        """
        if not self._called:
            before = len(self.nodes)
            returned = function(*arguments)
            calls, nodes = self._written.get(function, (0, 0))
            calls, nodes = calls + 1, nodes + len(self.nodes) - before
            self._written[function] = calls, nodes
            if self._called is None and nodes * times > WRITTEN_OUT * calls:
                raise RoutinesWantedError
            return returned
        operands: list[Scalar] = []
        arrangement = take_apart(arguments, operands)
        kept: list[float | None] = []
        taken: list[Scalar] = []
        for x in operands:
            known = not isinstance(x, Expression) and x in KEPT
            kept.append(float(x) if known else None)
            if not known:
                taken.append(self.operand(x))
        key = function, arrangement, tuple(kept)
        if key not in self._routines:

            def body(values: list[Scalar]) -> tuple[list[Scalar], Any]:
                found: list[Scalar] = []
                returned = function(*put_together(arrangement, iter(values)))
                return found, take_apart(returned, found)

            self._routines[key] = _routine(body, kept, len(taken))
        routine, results, of_results = self._routines[key]
        if routine is None:
            return function(*arguments)
        return put_together(of_results, iter(self._found(routine, taken, results)))

    def _found(
        self, routine: Routine, operands: list[Scalar], results: Sequence[int | float]
    ) -> list[Scalar]:
        """Return the results of a call; equal operands give the same nodes.

        Args:
            routine: the called routine.
            operands: its operands.
            results: positions of the results in the trace of the routine's body.
        """
        key = routine, *[x.index if isinstance(x, Expression) else repr(x) for x in operands]
        found = self._calls.get(key)
        if found is None:
            node = Node(self, self._index(), routine, tuple(operands))
            self.nodes.append(node)
            found = self._calls[key] = []
            for i, result in enumerate(results):
                if not isinstance(result, int):
                    found.append(result)
                elif result < len(operands):
                    found.append(operands[result])
                else:
                    element = Expression(self, self._index(), ELEMENT, (node, float(i)))
                    self.nodes.append(element)
                    found.append(element)
        return found

    def forget(self) -> None:
        """Clear the graph to free its memory at once; it must not be used afterwards."""
        self.nodes.clear()
        self._table.clear()
        self._calls.clear()

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


def _routine(
    body: Callable[[list[Scalar]], tuple[list[Scalar], Any]],
    kept: Sequence[float | None],
    count: int,
) -> tuple[Routine | None, list[int | float], Any]:
    """Return a routine, the positions of its results, and the arrangement of the body's results.

    The routine is None where the body is too short for one.

    Args:
        body: returns scalars and their arrangement.
        kept: the constant operands; None for the others.
        count: number of the other operands.
    """
    graph = Graph()
    symbols = [graph.symbol() for _ in range(count)]
    waiting = iter(symbols)
    values, arrangement = body([next(waiting) if x is None else x for x in kept])
    origins = [Instruction(INPUT, (0, i)) for i in range(count)]
    nodes, found = lower([graph.result(x, 'routine') for x in values], origins)
    if len(nodes) - count < MIN_OPERATIONS:
        return None, [], None
    traced = Trace(
        'routine',
        'what is computed in several places',
        (Variable('operands', (count,)),),
        (Variable('results', (len(found),)),),
        tuple(nodes),
        tuple(found),
    )
    routine = Routine(
        name='routine',
        arity=count,
        evaluate=partial(_results, traced),
        python='',
        c='',
        llvm=(),
        body=traced,
    )
    return routine, found, arrangement


def _results(body: Trace, *operands: float) -> list[float]:
    return body.interpret(operands)


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
