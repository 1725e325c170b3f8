"""From the normal form of the expression graph to the instructions that run.

The graph keeps one node of each pair of opposite values and writes quotients as products with
reciprocals. Here the leftovers become single instructions again, and what nothing needs is dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, cast

from dynamics_ros.kernels.expression import Node, Operand
from dynamics_ros.kernels.operations import (
    ADD,
    DIVIDE,
    INPUT,
    MULTIPLY,
    NEGATE,
    RECIPROCAL,
    SUBTRACT,
    Operation,
)

Reference = int | float
"""An int is the position of an instruction, a float a constant."""


class Instruction(NamedTuple):
    """One step of a trace: an operation on earlier results and constants.

    An input has operation `INPUT` and operands (index of the argument, element in it).
    """

    operation: Operation
    operands: tuple[int | float, ...]


def lower(
    outputs: Sequence[Operand], inputs: Sequence[Instruction]
) -> tuple[list[Instruction], list[int | float]]:
    """Return the instructions that compute some values, and where each value is found.

    Args:
        outputs: nodes of one graph, and constants.
        inputs: the instruction of each symbol of the graph; symbols are its first nodes.
    """
    nodes = _needed(outputs)
    uses: dict[int, int] = {}
    for node in nodes:
        for operand in node.operands:
            if isinstance(operand, Node):
                uses[operand.index] = uses.get(operand.index, 0) + 1
    for output in outputs:
        if isinstance(output, Node):
            uses[output.index] = uses.get(output.index, 0) + 1

    instructions = list(inputs)
    position = {i: i for i in range(len(inputs))}

    def at(operand: Operand) -> int | float:
        return position[operand.index] if isinstance(operand, Node) else operand

    for node in nodes:
        if node.operation is not INPUT:
            operation, operands = _cheapest(node, uses)
            position[node.index] = len(instructions)
            instructions.append(Instruction(operation, tuple([at(x) for x in operands])))
    return _without_dead(instructions, len(inputs), [at(x) for x in outputs])


def _needed(outputs: Sequence[Operand]) -> list[Node]:
    """Return the nodes that the outputs depend on, operands first."""
    needed: dict[int, Node] = {}
    waiting = [x for x in outputs if isinstance(x, Node)]
    while waiting:
        node = waiting.pop()
        if node.index not in needed:
            needed[node.index] = node
            waiting.extend(x for x in node.operands if isinstance(x, Node))
    return [needed[index] for index in sorted(needed)]


def _cheapest(node: Node, uses: dict[int, int]) -> tuple[Operation, tuple[Operand, ...]]:
    """Return the operation and operands that compute a node at the least cost."""
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
        # A reciprocal that only this product needs costs one division, not two steps.
        if _is_reciprocal(b) and uses[cast(Node, b).index] == 1:
            return DIVIDE, (a, *cast(Node, b).operands)
        if _is_reciprocal(a) and uses[cast(Node, a).index] == 1:
            return DIVIDE, (b, *cast(Node, a).operands)
    return operation, operands


def _is_reciprocal(operand: Operand) -> bool:
    return isinstance(operand, Node) and operand.operation is RECIPROCAL


def _without_dead(
    instructions: list[Instruction], inputs: int, outputs: list[int | float]
) -> tuple[list[Instruction], list[int | float]]:
    """Return the instructions without those that nothing uses; inputs all stay."""
    alive = [i < inputs for i in range(len(instructions))]
    for output in outputs:
        if isinstance(output, int):
            alive[output] = True
    for i in range(len(instructions) - 1, inputs - 1, -1):
        if alive[i]:
            for operand in instructions[i].operands:
                if isinstance(operand, int):
                    alive[operand] = True

    kept: list[Instruction] = []
    position: list[int] = []
    for i, (operation, operands) in enumerate(instructions):
        position.append(len(kept))
        if i < inputs:
            kept.append(instructions[i])
        elif alive[i]:
            moved = tuple([position[x] if isinstance(x, int) else x for x in operands])
            kept.append(Instruction(operation, moved))
    return kept, [position[x] if isinstance(x, int) else x for x in outputs]
