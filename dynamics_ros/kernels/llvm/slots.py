# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which values of a trace have a place in memory while its parts run, and which place.

These are sines and cosines, what loops read and write, and values that a part after the one that
computes them needs.
"""

from __future__ import annotations

from collections.abc import Sequence

from dynamics_ros.kernels.graph.schedule import Angles, Step
from dynamics_ros.kernels.graph.trace import Instruction, Loop


class Slots:
    """The slots of a trace in the memory of a call.

    Attributes:
        of: by kind and position of the instruction: 's' and 'c' for the sine and cosine of the
            angle there, 'l' for the first of what a loop there reads and writes, 'v' for the value.
        count: how many slots there are.
    """

    def __init__(self, nodes: Sequence[Instruction], parts: Sequence[Sequence[Step]]) -> None:
        """Give slots.

        Args:
            nodes: the instructions of the trace.
            parts: the steps of each part, in the order in which they run.
        """
        self._nodes = nodes
        self.of: dict[tuple[str, int], int] = {}
        self.count = 0
        for step in (step for part in parts for step in part):
            if isinstance(step, Angles):
                self._place_angles(step)
            elif isinstance(nodes[step].operation, Loop):
                self.of['l', step] = self.count
                self.count += len(nodes[step].operands)
        self._place_crossing(parts)

    def _place_angles(self, step: Angles) -> None:
        """Give sines and cosines slots, each kind in a row as one call writes them."""
        size = padded(len(step.positions))
        for i, position in enumerate(step.positions):
            self.of['s', position] = self.count + i
            self.of['c', position] = self.count + size + i
        self.count += 2 * size

    def _place_crossing(self, parts: Sequence[Sequence[Step]]) -> None:
        """Give slots to values that a later part needs; a slot is free after the last of them."""
        last: dict[int, int] = {}
        for number, part in enumerate(parts):
            for step in part:
                for value in self._needs(step):
                    last[value] = number
        free: list[int] = []
        released: list[list[int]] = [[] for _ in parts]
        for number, part in enumerate(parts):
            free += released[number - 1] if number else []
            for step in part:
                if isinstance(step, int) and last.get(step, number) > number:
                    operation = self._nodes[step].operation
                    if operation.condition or isinstance(operation, Loop):
                        continue
                    slot = free.pop() if free else self.count
                    self.count += slot == self.count
                    self.of['v', step] = slot
                    released[last[step]].append(slot)

    def _needs(self, step: Step) -> list[int]:
        """Return the positions of values that a step reads; a comparison is done again."""
        positions = step.positions if isinstance(step, Angles) else (step,)
        needed: list[int] = []
        for position in positions:
            operands = [position] if isinstance(step, Angles) else self._nodes[position].operands
            for x in operands:
                if isinstance(x, int):
                    inside = self._nodes[x]
                    again = inside.operation.condition
                    needed += [y for y in inside.operands if isinstance(y, int)] if again else [x]
        return needed


def padded(count: int) -> int:
    """Return the number of angles that a call takes for so many: the next power of two."""
    size = 1
    while size < count:
        size *= 2
    return size
