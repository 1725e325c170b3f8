# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Which values of a trace have a place in memory while its parts run, and which place.

These are sines and cosines, what loops read and write, and values that a part after the one that
computes them needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dynamics_ros.kernels.graph.operations import COS, ELEMENT, INPUT, SIN
from dynamics_ros.kernels.graph.schedule import Angles, Calls, Part, Step, is_result
from dynamics_ros.kernels.graph.trace import Instruction, Loop


class Slots:
    """The slots of a trace in the memory of a call.

    Attributes:
        of: by kind and position of the instruction: 's' and 'c' for the sine and cosine of the
            angle there, 'l' for the first of what a loop there reads and writes, 'v' for the value.
        constants: by their text, of those that routines take.
        given: the inputs that routines take.
        waste: for results of routines that nothing needs.
        read: of each call of a routine where its results are read.
        count: how many slots there are.
    """

    def __init__(
        self,
        nodes: Sequence[Instruction],
        parts: Sequence[Part],
        results: Iterable[int | float] = (),
    ) -> None:
        """Give slots.

        Args:
            nodes: the instructions of the trace.
            parts: the parts, in the order in which they run.
            results: of the trace.
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
        """Return the slot of what a routine takes or returns."""
        if not isinstance(value, int):
            return self.constants[repr(value)]
        operation, operands = self._nodes[value]
        if operation in (SIN, COS):
            return self.of['s' if operation is SIN else 'c', int(operands[0])]
        return self.of['v', value]

    def _place_angles(self, step: Angles) -> None:
        """Give sines and cosines slots, each kind in a row as one call writes them."""
        size = padded(len(step.positions))
        for i, position in enumerate(step.positions):
            self.of['s', position] = self.count + i
            self.of['c', position] = self.count + size + i
        self.count += 2 * size

    def _place_given(self, operands: Iterable[int | float]) -> None:
        """Give slots to the constants and inputs among what a routine takes."""
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
        """Give slots to values that are needed later; a slot is free after the last of them.

        Time goes on from part to part, and among calls from one to the next.
        """
        turns: list[Sequence[Step]] = []
        # Of each call when those of its results leave that are results of the trace.
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


def _results_of_calls(nodes: Sequence[Instruction], parts: Sequence[Part]) -> dict[int, list[int]]:
    """Return where the results of each call of a routine are read."""
    found: dict[int, list[int]] = {
        x: [] for part in parts if isinstance(part, Calls) for x in part.positions
    }
    if found:
        for i, (operation, operands) in enumerate(nodes):
            if operation is ELEMENT and operands[0] in found:
                found[int(operands[0])].append(i)
    return found


def padded(count: int) -> int:
    """Return the number of angles that a call takes for so many: the next power of two."""
    size = 1
    while size < count:
        size *= 2
    return size
