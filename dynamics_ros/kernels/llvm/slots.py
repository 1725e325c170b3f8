# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Assignment of memory slots to values that outlive a part of a trace.

These are sines and cosines, inputs and outputs of loops, and values that a later part needs.
"""

from __future__ import annotations

from collections.abc import Sequence

from dynamics_ros.kernels.graph.schedule import Angles, Part, Step
from dynamics_ros.kernels.graph.trace import Instruction, Loop


class Slots:
    """Slots of a trace in the memory of a call.

    Attributes:
        of: slot by kind and position of the instruction: 's' and 'c' for the sine and cosine of the
            angle there, 'l' for the first slot of the loop there, 'v' for the value.
        count: number of slots.
    """

    def __init__(self, nodes: Sequence[Instruction], parts: Sequence[Part]) -> None:
        """Assign the slots.

        Args:
            nodes: the instructions of the trace.
            parts: the parts, in order of execution.
        """
        self._nodes = nodes
        self.of: dict[tuple[str, int], int] = {}
        self.count = 0
        for part in parts:
            for step in part:
                if isinstance(step, Angles):
                    self._place_angles(step)
                elif isinstance(nodes[step].operation, Loop):
                    self.of['l', step] = self.count
                    self.count += len(nodes[step].operands)
        self._place_crossing(parts)

    def _place_angles(self, step: Angles) -> None:
        """Assign adjacent slots to sines and to cosines, as one call writes them."""
        size = padded(len(step.positions))
        for i, position in enumerate(step.positions):
            self.of['s', position] = self.count + i
            self.of['c', position] = self.count + size + i
        self.count += 2 * size

    def _place_crossing(self, parts: Sequence[Part]) -> None:
        """Assign slots to values that later parts need; a slot is free after its last use."""
        last: dict[int, int] = {}
        for number, part in enumerate(parts):
            for step in part:
                last.update(dict.fromkeys(self._needs(step), number))
        free: list[int] = []
        released: list[list[int]] = [[] for _ in parts]
        for number, part in enumerate(parts):
            free += released[number - 1] if number else []
            for step in part:
                if isinstance(step, Angles) or last.get(step, number) <= number:
                    continue
                operation = self._nodes[step].operation
                if operation.condition or isinstance(operation, Loop):
                    continue
                slot = free.pop() if free else self.count
                self.count += slot == self.count
                self.of['v', step] = slot
                released[last[step]].append(slot)

    def _needs(self, step: Step) -> list[int]:
        """Return the positions of values that a step reads; comparisons are recomputed."""
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
    """Return the number of angles of a call that computes some: the next power of two."""
    size = 1
    while size < count:
        size *= 2
    return size
