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

from dynamics_ros.kernels.graph.operations import COS, INPUT, SIN
from dynamics_ros.kernels.graph.trace import Instruction

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
