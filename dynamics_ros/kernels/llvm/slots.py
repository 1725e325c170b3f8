# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Assignment of memory slots to values that outlive a part of a trace.

These are sines and cosines, inputs and outputs of loops, and values that a later part needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dynamics_ros.kernels.graph.operations import COS, ELEMENT, INPUT, SIN
from dynamics_ros.kernels.graph.schedule import Angles, Calls, Part, Step, is_result
from dynamics_ros.kernels.graph.trace import Instruction, Loop


class Slots:
    """Slots of a trace in the memory of a call.

    Attributes:
        of: slot by kind and position of the instruction: 's' and 'c' for the sine and cosine of the
            angle there, 'l' for the first slot of the loop there, 'v' for the value.
        constants: slots of the constants that routines take, by their text.
        given: the inputs that routines take.
        waste: slot for unused results of routines.
        read: positions where the results of each routine call are read.
        count: number of slots.
    """

    def __init__(
        self,
        nodes: Sequence[Instruction],
        parts: Sequence[Part],
        results: Iterable[int | float] = (),
    ) -> None:
        """Assign the slots.

        Args:
            nodes: the instructions of the trace.
            parts: the parts, in order of execution.
            results: results of the trace.
        """
        self._nodes = nodes
        self.of: dict[tuple[str, int], int] = {}
        self.constants: dict[str, int] = {}
        self.given: list[int] = []
        self.read = _results_of_calls(nodes, parts)
        self.count = 0
        for part in parts:
            for step in part.positions if isinstance(part, Calls) else part:
                if isinstance(step, Angles):
                    self._place_angles(step)
                elif isinstance(nodes[step].operation, Loop):
                    self.of['l', step] = self.count
                    self.count += len(nodes[step].operands)
                elif isinstance(part, Calls):
                    self._place_given(nodes[step].operands)
        self.waste = self.count
        self.count += any(isinstance(part, Calls) for part in parts)
        self._place_crossing(parts, results)

    def place(self, value: int | float) -> int:
        """Return the slot of an operand or result of a routine."""
        if not isinstance(value, int):
            return self.constants[repr(value)]
        operation, operands = self._nodes[value]
        if operation in (SIN, COS):
            return self.of['s' if operation is SIN else 'c', int(operands[0])]
        return self.of['v', value]

    def _place_angles(self, step: Angles) -> None:
        """Assign adjacent slots to sines and to cosines, as one call writes them."""
        size = padded(len(step.positions))
        for i, position in enumerate(step.positions):
            self.of['s', position] = self.count + i
            self.of['c', position] = self.count + size + i
        self.count += 2 * size

    def _place_given(self, operands: Iterable[int | float]) -> None:
        """Assign slots to the constants and inputs among the operands of a routine."""
        for x in operands:
            if not isinstance(x, int):
                if repr(x) not in self.constants:
                    self.constants[repr(x)] = self.count
                    self.count += 1
            elif self._nodes[x].operation is INPUT and ('v', x) not in self.of:
                self.given.append(x)
                self.of['v', x] = self.count
                self.count += 1

    def _place_crossing(self, parts: Sequence[Part], results: Iterable[int | float]) -> None:
        """Assign slots to values that later parts need; a slot is free after its last use.

        Time advances from part to part, and among calls from one to the next.
        """
        turns: list[Sequence[Step]] = []
        # For each call, when its results that are results of the trace are stored.
        written: dict[int, int] = {}
        for part in parts:
            turns += [(x,) for x in part.positions] if isinstance(part, Calls) else [part]
            if isinstance(part, Calls):
                written |= dict.fromkeys(part.positions, len(turns) - 1)
        last: dict[int, int] = {}
        for x in results:
            if isinstance(x, int) and is_result(self._nodes, x):
                last[x] = written[int(self._nodes[x].operands[0])]
        for number, turn in enumerate(turns):
            for step in turn:
                for value in self._needs(step):
                    last[value] = max(number, last.get(value, 0))
        free: list[int] = []
        released: list[list[int]] = [[] for _ in turns]
        for number, turn in enumerate(turns):
            free += released[number - 1] if number else []
            for step in turn:
                if isinstance(step, Angles):
                    continue
                called = step in written
                for value in self.read.get(step, ()) if called else (step,):
                    operation = self._nodes[value].operation
                    if operation.condition or isinstance(operation, Loop):
                        continue
                    if called or last.get(value, number) > number:
                        slot = free.pop() if free else self.count
                        self.count += slot == self.count
                        self.of['v', value] = slot
                        released[last.get(value, number)].append(slot)

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


def _results_of_calls(nodes: Sequence[Instruction], parts: Sequence[Part]) -> dict[int, list[int]]:
    """Return the positions where the results of each routine call are read."""
    found: dict[int, list[int]] = {
        x: [] for part in parts if isinstance(part, Calls) for x in part.positions
    }
    if found:
        for i, (operation, operands) in enumerate(nodes):
            if operation is ELEMENT and operands[0] in found:
                found[int(operands[0])].append(i)
    return found


def padded(count: int) -> int:
    """Return the number of angles of a call that computes some: the next power of two."""
    size = 1
    while size < count:
        size *= 2
    return size
