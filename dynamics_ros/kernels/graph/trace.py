# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Traces: straight lines of scalar operations with named and shaped inputs and outputs.

`trace` runs a function of scalars once on symbols to record its operations. The graph keeps one
node for each pair of opposite values and writes quotients as products with reciprocals. Lowering
fuses these back into single instructions and drops unused ones. A loop, whose iteration count is
known only when the kernel runs, is a trace within the trace.
"""

from __future__ import annotations

import gc
import keyword
import math
import operator
import pickle
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.computed_once import computed_once
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels.graph.expression import (
    Condition,
    Expression,
    Node,
    NormalForm,
    Operand,
    Scalar,
    select,
)
from dynamics_ros.kernels.graph.operations import (
    ADD,
    DIVIDE,
    ELEMENT,
    INPUT,
    MULTIPLY,
    NEGATE,
    RECIPROCAL,
    SUBTRACT,
    Operation,
)

_Item = TypeVar('_Item')

Shape = tuple[int, ...]

UNIT_QUATERNION_TOLERANCE = 1e-6
"""Largest error of the squared length of a quaternion that has to be of length 1."""

STEPS, UNPACKED = '_steps', ('nodes', 'results')
"""Attribute of a pickled trace, and the attributes that it unpacks to."""


class Variable(NamedTuple):
    """Input or output: its name and the shape of its array; () is a scalar."""

    name: str
    shape: Shape

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)


class Instruction(NamedTuple):
    """One step of a trace: an operation on earlier results and constants.

    An input has operation `INPUT` and operands (index of the argument, element in it).
    """

    operation: Operation
    operands: tuple[int | float, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Trace:
    """Straight line of scalar operations, which emitters print and kernels run.

    Attributes:
        name: name of the function.
        description: one line on what it computes, for the header of printed code.
        inputs: the arguments, in order.
        outputs: the results, in order.
        nodes: the instructions, operands first; all input elements lead.
        results: for each element of each output in order, the position of the instruction that
            computes it (int) or its constant value (float).
        unit_quaternions: index of the input, and of the first of four elements in it, for each
            quaternion that has to be of length 1.
        finite_results: makes the error to raise from inputs by name that have a NaN or infinite
            result; None if such results are returned.
        bound: whether the kernel binds the last input to an array instead of taking it from
            callers.
        origin: a digest of everything that the trace was made from; '' if unknown.
    """

    name: str
    description: str
    inputs: tuple[Variable, ...]
    outputs: tuple[Variable, ...]
    nodes: tuple[Instruction, ...]
    results: tuple[int | float, ...]
    unit_quaternions: tuple[tuple[int, int], ...] = ()
    finite_results: Callable[[dict[str, NDArray[np.float64]]], Exception] | None = None
    bound: bool = False
    origin: str = ''

    def __getstate__(self) -> dict[str, Any]:
        """Return the state to pickle: the steps as bytes, because most users never read them."""
        state = {**vars(self), 'operation_counts': self.operation_counts}
        if STEPS not in state:
            steps = pickle.dumps((self.nodes, self.results), pickle.HIGHEST_PROTOCOL)
            state[STEPS] = zlib.compress(steps, 1)
        for name in UNPACKED:
            state.pop(name, None)
        return state

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Unpack the steps at their first use."""
            if name not in UNPACKED or STEPS not in vars(self):
                raise AttributeError(f'a Trace has no attribute {name!r}')
            vars(self).update(zip(UNPACKED, pickle.loads(zlib.decompress(vars(self)[STEPS]))))
            return vars(self)[name]

    def __repr__(self) -> str:
        inputs = ', '.join(f'{x.name}{x.shape}' for x in self.inputs)
        return f'<Trace {self.name}({inputs}): {self.operation_count} operations>'

    @property
    def arguments(self) -> tuple[Variable, ...]:
        """The inputs that callers of a kernel pass."""
        return self.inputs[:-1] if self.bound else self.inputs

    @computed_once
    def operation_counts(self) -> dict[str, int]:
        """Number of operations by kind, the most frequent first; a loop counts one iteration."""
        counts: Counter[str] = Counter()
        for operation, times in Counter(x.operation for x in self.nodes).items():
            if isinstance(operation, Loop):
                for name, count in operation.body.operation_counts.items():
                    counts[name] += times * count
            if operation not in (INPUT, ELEMENT):
                counts[operation.name] += times
        return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))

    @property
    def operation_count(self) -> int:
        """Number of operations."""
        return sum(self.operation_counts.values())

    @property
    def loops(self) -> list[Loop]:
        """The loops, without those inside others."""
        return [x.operation for x in self.nodes if isinstance(x.operation, Loop)]


@dataclass(frozen=True, eq=False, kw_only=True)
class Loop(Operation):
    """Operation that repeats a trace; each iteration starts from the state of the previous one.

    Its operands are the initial state and the captured values; `ELEMENT` reads its final state.

    Attributes:
        body: one iteration: takes ``state`` and ``captured``, returns ``next`` and ``go_on``, which
            is 1 to continue and 0 to end.
        limit: the largest number of iterations, at least one.
    """

    body: Trace
    limit: int


def cut(items: Sequence[_Item], count: int) -> list[Sequence[_Item]]:
    """Return a sequence cut into a number of pieces of about equal length."""
    cuts = [len(items) * i // count for i in range(count + 1)]
    return [items[a:b] for a, b in pairwise(cuts)]


def lower(
    outputs: Sequence[Operand], inputs: Sequence[Instruction]
) -> tuple[list[Instruction], list[int | float]]:
    """Return the instructions that compute some values, and the position of each value.

    Args:
        outputs: nodes of one graph, and constants.
        inputs: the instruction of each symbol of the graph; symbols are its first nodes.
    """
    nodes = _needed(outputs)
    uses: dict[int, int] = dict.fromkeys([node.index for node in nodes], 0)
    for node in nodes:
        for operand in node.operands:
            if operand.__class__ is not float:
                uses[operand.index] += 1  # type: ignore[union-attr]
    for output in outputs:
        if isinstance(output, Node):
            uses[output.index] += 1

    # The cheapest instructions skip some nodes, such as negations.
    chosen: dict[int, tuple[Operation, tuple[Operand, ...]]] = {}
    alive = {output.index for output in outputs if isinstance(output, Node)}
    for node in reversed(nodes):
        if node.index in alive and node.operation is not INPUT:
            operation, operands = chosen[node.index] = _cheapest(node, uses)
            alive.update([x.index for x in operands if x.__class__ is not float])  # type: ignore[union-attr]
    instructions = list(inputs)
    position = {i: i for i in range(len(inputs))}
    for index in reversed(chosen):
        operation, operands = chosen[index]
        position[index] = len(instructions)
        found = [x if x.__class__ is float else position[x.index] for x in operands]  # type: ignore[union-attr]
        instructions.append(Instruction(operation, tuple(found)))
    return instructions, [position[x.index] if isinstance(x, Node) else x for x in outputs]


def depends(outputs: Sequence[Operand], first: int) -> bool:
    """Return whether any value depends on a symbol with index ``first`` or higher."""
    return any(node.operation is INPUT and node.index >= first for node in _needed(outputs))


def _needed(outputs: Sequence[Operand]) -> list[Node]:
    """Return the nodes that the outputs depend on, operands first."""
    roots = [x for x in outputs if isinstance(x, Node)]
    if not roots:
        return []
    nodes = roots[0].graph.nodes
    needed = bytearray(len(nodes))
    for root in roots:
        needed[root.index] = 1
    for i in range(len(nodes) - 1, -1, -1):
        if needed[i]:
            for operand in nodes[i].operands:
                if operand.__class__ is not float:
                    needed[operand.index] = 1  # type: ignore[union-attr]
    return [node for node, is_needed in zip(nodes, needed) if is_needed]


def _cheapest(node: Node, uses: dict[int, int]) -> tuple[Operation, tuple[Operand, ...]]:
    """Return the cheapest operation and operands that compute a node."""
    operation, operands = node.operation, node.operands
    if operation is NEGATE:
        inside = cast(Node, operands[0])
        a, b = inside.operands if len(inside.operands) == 2 else (inside, inside)
        if inside.operation is SUBTRACT:
            return SUBTRACT, (b, a)
        if isinstance(b, float):
            if inside.operation is ADD:
                return SUBTRACT, (-b, a)
            if inside.operation is MULTIPLY and not _is_reciprocal(a):
                return MULTIPLY, (a, -b)
    elif operation is ADD:
        a, b = operands
        if isinstance(b, float) and b < 0.0:
            return SUBTRACT, (a, -b)
    elif operation is MULTIPLY:
        a, b = operands
        # A reciprocal that only this product uses becomes one division instead of two steps.
        if _is_reciprocal(b) and uses[cast(Node, b).index] == 1:
            return DIVIDE, (a, *cast(Node, b).operands)
        if _is_reciprocal(a) and uses[cast(Node, a).index] == 1:
            return DIVIDE, (b, *cast(Node, a).operands)
    return operation, operands


def _is_reciprocal(operand: Operand) -> bool:
    return isinstance(operand, Node) and operand.operation is RECIPROCAL


Body = Callable[..., tuple[Sequence[Scalar], Condition | Scalar]]


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
                them. The body can use no other expressions of the graph.
        """
        limit = operator.index(limit)
        if limit < 1:
            raise ValueError(f'a loop of {limit} turns; at least one is expected')
        inside = Graph()
        state = [inside.symbol() for _ in initial]
        values: dict[int, Operand] = {}
        symbols: dict[int, Expression] = {}

        def taken(value: Any) -> Any:
            """Return a captured value with expressions replaced by symbols; numbers stay."""
            if isinstance(value, (list, tuple)):
                return [taken(x) for x in value]
            if hasattr(value, 'tolist'):
                return taken(value.tolist())
            if not isinstance(value, Expression):
                return value
            if value.index not in symbols:
                values[value.index] = self.operand(value)
                symbols[value.index] = inside.symbol()
            return symbols[value.index]

        found = [taken(x) for x in captured]
        turn = inside.turn(len(state), len(values), *body(state, *found))
        loop = Loop(
            name='loop',
            arity=len(initial) + len(values),
            evaluate=_unknown,
            python='',
            c='',
            llvm=(),
            body=turn,
            limit=limit,
        )
        operands = (*[self.result(x, 'initial') for x in initial], *values.values())
        names = [x.index if isinstance(x, Node) else repr(x) for x in operands]
        key = (Loop, limit, *_signature(turn), None, *names)
        node = self.stored(key, loop, operands, Node)
        return [self.node(ELEMENT, node, float(i)) for i in range(len(initial))]

    def turn(
        self, states: int, captured: int, following: Sequence[Scalar], go_on: Condition | Scalar
    ) -> Trace:
        """Return the trace of an iteration, whose symbols are the state, then captured values."""
        if len(following) != states:
            raise ValueError(f'a next state of {len(following)} values; {states} are expected')
        if isinstance(go_on, Expression):
            go_on = (-go_on).less(0.0)
        elif not isinstance(go_on, Condition):
            go_on = go_on > 0.0
        results = [self.result(x, 'body') for x in following]
        results.append(self.result(select(go_on, 1.0, 0.0), 'body'))
        origins = [Instruction(INPUT, (0, i)) for i in range(states)]
        origins += [Instruction(INPUT, (1, i)) for i in range(captured)]
        nodes, found = lower(results, origins)
        return Trace(
            'turn',
            'a turn of a loop',
            (Variable('state', (states,)), Variable('captured', (captured,))),
            (Variable('next', (states,)), Variable('go_on', ())),
            tuple(nodes),
            tuple(found),
        )


def _signature(turn: Trace) -> tuple[object, ...]:
    """Return a key shared by equal bodies; constants appear as text, positions as integers."""
    steps = [(operation, *map(repr, operands)) for operation, operands in turn.nodes]
    return (*steps, *map(repr, turn.results))


def _unknown(*operands: float) -> float:
    """Return no value: a loop is not folded, even if all of its operands are constants."""
    return math.nan


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


@collector_paused()
def trace(
    function: Callable[..., Any],
    inputs: Mapping[str, int | Shape],
    name: str,
    description: str = '',
    unit_quaternions: Iterable[tuple[int, int]] = (),
    finite_results: Callable[[dict[str, Any]], Exception] | None = None,
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
        unit_quaternions: index of an input, and of the first of four elements in it, for each
            quaternion: a kernel of the trace refuses one that is not of length 1.
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
    graph = Graph(description or name)
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
    if bound and not depends(values, len(origins) - variables[-1].size):
        bound, variables = False, variables[:-1]
        del origins[sum(x.size for x in variables) :]
    nodes, results = lower(values, origins)
    return Trace(
        name,
        description,
        variables,
        tuple(outputs),
        tuple(nodes),
        tuple(results),
        tuple(unit_quaternions),
        finite_results,
        bound,
    )


def _shape(name: str, shape: Any) -> Shape:
    sizes = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    if not all(isinstance(size, (int, np.integer)) and size >= 0 for size in sizes):
        expected = 'a whole number of elements, or a tuple of these; () is a scalar'
        raise InvalidArgumentError('inputs', f'{shape!r} as the shape of {name}', expected)
    return tuple(map(int, sizes))


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
