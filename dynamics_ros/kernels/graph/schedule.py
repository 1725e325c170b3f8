# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Order of computation of a trace: angles grouped together, long traces split into parts.

Sine and cosine are computed for many angles at once, so independent angles are grouped: first
everything that the angles need, then all their sines and cosines, then the rest in its own order.
Compile time grows faster than linearly with the length of a function, so a long trace becomes
several functions, the parts, which pass values through memory.
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
"""Steps of a part; smaller parts cost loads and stores, larger ones compile time, and run time
where
the code is large.
"""

BATCH_PART_STEPS = 2000
"""Steps of a part that computes vectors of states, whose loads and stores are larger."""

PART_CALLS = 1000
"""Routine calls of a part; results leave the memory of a trace at the end of a part."""


@dataclass(frozen=True)
class Angles:
    """A step that computes the sines and cosines of several positions.

    Attributes:
        positions: positions of the angles.
        first: number of angles in earlier steps.
    """

    positions: tuple[int, ...]
    first: int


@dataclass(frozen=True)
class Calls:
    """A part that calls routines one after the other.

    Attributes:
        positions: positions of the calls.
    """

    positions: tuple[int, ...]


Step = int | Angles
"""Position of a single instruction, or a group of angles."""

Part = Sequence[Step] | Calls
"""Steps that form one function, or calls of routines."""


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
    # Results of routines need no step: the call provides them.
    return [x for x in ordered if isinstance(x, Angles) or not is_result(nodes, x)]


def is_result(nodes: Sequence[Instruction], position: int) -> bool:
    """Return whether an instruction reads a result of a routine."""
    operation, operands = nodes[position]
    return operation is ELEMENT and isinstance(nodes[int(operands[0])].operation, Routine)


def parts(
    nodes: Sequence[Instruction], ordered: Sequence[Step], count: int, size: int
) -> list[Part]:
    """Return the parts of a trace.

    Calls are grouped because their code is a table: first come the steps that need no call, then
    all
    calls that need only these and each other, then the steps that need these calls, and so on.

    Args:
        nodes: the trace.
        ordered: its steps.
        count: number of parts if there are no routines.
        size: the largest number of steps in a part.
    """
    if not any(isinstance(node.operation, Routine) for node in nodes):
        return list(cut(ordered, count))
    # Stage of each step, by position; for an angle, the stage of its sine.
    stage: dict[int, int] = {}
    stage_of_sine: dict[int, int] = {}
    stages: list[tuple[list[Step], list[int]]] = []

    def needs(value: int, called: bool) -> int:
        """Return the earliest stage of an instruction that reads a value."""
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
