# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Traces: straight lines of scalar operations with named and shaped inputs and outputs.

Sine and cosine are computed for many angles at once, so `steps` groups independent angles: first
everything that the angles need, then all their sines and cosines, then the rest in its own order.
Compile time grows faster than linearly with the length of a function, so a long trace becomes
several functions, the parts, which pass values through memory.
"""

from __future__ import annotations

import math
import pickle
import zlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from dynamics_ros.computed_once import computed_once
from dynamics_ros.kernels.graph.operations import COS, ELEMENT, INPUT, SIN, Operation

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


T = TypeVar('T')

PART_STEPS = 500
"""Steps of a part; smaller parts cost loads and stores, larger ones compile time, and run time
where the code is large.
"""

BATCH_PART_STEPS = 2000
"""Steps of a part that computes vectors of states, whose loads and stores are larger."""


@dataclass(frozen=True)
class Angles:
    """A step that computes the sines and cosines of several positions.

    Attributes:
        positions: positions of the angles.
        first: number of angles in earlier steps.
    """

    positions: tuple[int, ...]
    first: int


Step = int | Angles
"""Position of a single instruction, or a group of angles."""

Part = Sequence[Step]
"""Steps that form one function."""


def steps(nodes: Sequence[Instruction], width: int) -> list[Step]:
    """Return the steps of a trace in order: angles grouped, other instructions one by one.

    Args:
        nodes: the trace.
        width: the largest number of angles in a step.
    """
    levels = _angle_levels(nodes)
    ordered: list[Step] = []
    placed = [node.operation in (INPUT, SIN, COS) for node in nodes]
    angles = 0
    for level in levels:
        for position in _needed_first(nodes, level, placed):
            placed[position] = True
            ordered.append(position)
        for start in range(0, len(level), width):
            ordered.append(Angles(tuple(level[start : start + width]), angles))
            angles += len(level[start : start + width])
    ordered += [i for i, done in enumerate(placed) if not done]
    return ordered


def part_count(steps_of_all_kinds: int, size: int) -> int:
    """Return the number of parts for a number of steps."""
    return max(1, -(-steps_of_all_kinds // size))


def cut(items: Sequence[T], count: int) -> list[Sequence[T]]:
    """Return a sequence cut into a number of pieces of about equal length."""
    cuts = [len(items) * i // count for i in range(count + 1)]
    return [items[a:b] for a, b in pairwise(cuts)]


def _angle_levels(nodes: Sequence[Instruction]) -> list[list[int]]:
    """Return the angles of sines and cosines by level; a level needs only earlier levels."""
    depth: list[int] = []
    levels: list[dict[int, None]] = []
    for operation, operands in nodes:
        deepest = 0
        if operation is not INPUT:
            deepest = max([depth[x] for x in operands if isinstance(x, int)], default=0)
        if operation in (SIN, COS):
            if deepest == len(levels):
                levels.append({})
            levels[deepest][int(operands[0])] = None
            deepest += 1
        depth.append(deepest)
    return [list(level) for level in levels]


def _needed_first(
    nodes: Sequence[Instruction], angles: Sequence[int], placed: Sequence[bool]
) -> list[int]:
    """Return the instructions that some angles need and have no position yet, operands first."""
    needed: set[int] = set()
    waiting = list(angles)
    while waiting:
        position = waiting.pop()
        if not placed[position] and position not in needed:
            needed.add(position)
            waiting += [x for x in nodes[position].operands if isinstance(x, int)]
    return sorted(needed)
