# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""In which order a trace is computed: angles together, and long traces in parts.

Sine and cosine are computed for many angles at once, so angles that do not depend on each other
are brought together: first everything that the angles need, then all their sines and cosines, then
the rest in its own order. A compiler needs more than linear time for a function, so a long trace
becomes several functions, the parts, which hand values on in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeVar

from dynamics_ros.kernels.graph.operations import COS, ELEMENT, INPUT, SIN
from dynamics_ros.kernels.graph.trace import Instruction, Routine

T = TypeVar('T')

PART_STEPS = 500
"""Steps of a part; less costs loads and stores, more costs compile time, and run time where the
code is large."""

BATCH_PART_STEPS = 2000
"""Steps of a part that computes vectors of states, which are larger to load and store."""

PART_CALLS = 1000
"""Calls of routines of a part; results leave the memory of a trace at the end of a part."""


@dataclass(frozen=True)
class Angles:
    """A step that computes the sines and cosines of several positions.

    Attributes:
        positions: where the angles are.
        first: number of angles in earlier steps.
    """

    positions: tuple[int, ...]
    first: int


@dataclass(frozen=True)
class Calls:
    """A part that calls routines, one after the other.

    Attributes:
        positions: where the calls are.
    """

    positions: tuple[int, ...]


Step = int | Angles
"""The position of an instruction that is computed now, or angles."""

Part = Sequence[Step] | Calls
"""What is computed together."""


def steps(nodes: Sequence[Instruction], width: int) -> list[Step]:
    """Return the steps of a trace in their order: angles together, other instructions one by one.

    Args:
        nodes: the trace.
        width: the most angles a step may have.
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
    # Results of routines are there once these have been called.
    return [x for x in ordered if isinstance(x, Angles) or not is_result(nodes, x)]


def is_result(nodes: Sequence[Instruction], position: int) -> bool:
    """Return whether an instruction reads a result of a routine."""
    operation, operands = nodes[position]
    return operation is ELEMENT and isinstance(nodes[int(operands[0])].operation, Routine)


def parts(
    nodes: Sequence[Instruction], ordered: Sequence[Step], count: int, size: int
) -> list[Part]:
    """Return the parts of a trace, at least so many.

    Calls are gathered, for their code is a table: first comes what needs no call, then all calls
    that need no more than that and each other, then what needs these, and so on.

    Args:
        nodes: the trace.
        ordered: its steps.
        count: how many parts there are without routines.
        size: the most steps of a part.
    """
    if not any(isinstance(node.operation, Routine) for node in nodes):
        return list(cut(ordered, count))
    # Of each step, by its position, the stage that it is in; of an angle that of its sine.
    stage: dict[int, int] = {}
    stage_of_sine: dict[int, int] = {}
    stages: list[tuple[list[Step], list[int]]] = []

    def needs(value: int, called: bool) -> int:
        """Return the stage that what reads a value is in at least."""
        operation, operands = nodes[value]
        if operation is INPUT:
            return 0
        if operation in (SIN, COS):
            return stage_of_sine[int(operands[0])]
        if is_result(nodes, value):
            return stage[int(operands[0])] + (not called)
        return stage[value]

    for step in ordered:
        called = isinstance(step, int) and isinstance(nodes[step].operation, Routine)
        read = step.positions if isinstance(step, Angles) else nodes[step].operands
        if isinstance(step, int) and nodes[step].operation is ELEMENT:
            read = read[:1]
        own = max([needs(x, called) for x in read if isinstance(x, int)], default=0)
        while len(stages) <= own:
            stages.append(([], []))
        if isinstance(step, Angles):
            stage_of_sine |= dict.fromkeys(step.positions, own)
            stages[own][0].append(step)
        else:
            stage[step] = own
            (stages[own][1] if called else stages[own][0]).append(step)
    found: list[Part] = []
    for plain, calls in stages:
        if plain:
            found += cut(plain, part_count(len(plain), size))
        if calls:
            pieces = cut(calls, part_count(len(calls), PART_CALLS))
            found += [Calls(tuple(piece)) for piece in pieces]
    return [*found, *([()] * (count - len(found)))]


def part_count(steps_of_all_kinds: int, size: int) -> int:
    """Return the number of parts for so many steps."""
    return max(1, -(-steps_of_all_kinds // size))


def cut(items: Sequence[T], count: int) -> list[Sequence[T]]:
    """Return a sequence in so many pieces of about equal length."""
    cuts = [len(items) * i // count for i in range(count + 1)]
    return [items[a:b] for a, b in pairwise(cuts)]


def _angle_levels(nodes: Sequence[Instruction]) -> list[list[int]]:
    """Return the angles of sines and cosines; those of a level need only levels before it."""
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
    """Return what some angles depend on and what has no place yet, operands first."""
    needed: set[int] = set()
    waiting = list(angles)
    while waiting:
        position = waiting.pop()
        if not placed[position] and position not in needed:
            needed.add(position)
            waiting += [x for x in nodes[position].operands if isinstance(x, int)]
    return sorted(needed)
