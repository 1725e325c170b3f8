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

from dynamics_ros.kernels.graph.operations import COS, INPUT, SIN
from dynamics_ros.kernels.graph.trace import Instruction

T = TypeVar('T')

PART_STEPS = 500
"""Steps of a part; less costs loads and stores, more costs compile time, and run time where the
code is large."""

BATCH_PART_STEPS = 2000
"""Steps of a part that computes vectors of states, which are larger to load and store."""


@dataclass(frozen=True)
class Angles:
    """A step that computes the sines and cosines of several positions.

    Attributes:
        positions: where the angles are.
        first: number of angles in earlier steps.
    """

    positions: tuple[int, ...]
    first: int


Step = int | Angles
"""The position of an instruction that is computed now, or angles."""


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
    return ordered


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
