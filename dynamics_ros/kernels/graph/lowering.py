# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Lowering of the expression graph's normal form to instructions.

The graph keeps one node for each pair of opposite values and writes quotients as products with
reciprocals. Lowering fuses these back into single instructions and drops unused ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from dynamics_ros.kernels.graph.expression import Node, Operand
from dynamics_ros.kernels.graph.operations import (
    ADD,
    DIVIDE,
    INPUT,
    MULTIPLY,
    NEGATE,
    RECIPROCAL,
    SUBTRACT,
    Operation,
)
from dynamics_ros.kernels.graph.trace import Instruction


def lower(
    outputs: Sequence[Operand], inputs: Sequence[Instruction]
) -> tuple[list[Instruction], list[int | float]]:
    """Return the instructions that compute some values, and the position of each value.

    Args:
        outputs: nodes of one graph, and constants.
        inputs: the instruction of each symbol of the graph; symbols are its first nodes.
    """
    nodes = _needed(outputs)
    uses: dict[int, int] = dict.fromkeys([node.index for node in nodes], 0)
    for node in nodes:
        for operand in node.operands:
            if operand.__class__ is not float:
                uses[operand.index] += 1  # type: ignore[union-attr]
    for output in outputs:
        if isinstance(output, Node):
            uses[output.index] += 1

    instructions = list(inputs)
    position = {i: i for i in range(len(inputs))}
    for node in nodes:
        if node.operation is not INPUT:
            operation, operands = _cheapest(node, uses)
            position[node.index] = len(instructions)
            found = [x if x.__class__ is float else position[x.index] for x in operands]  # type: ignore[union-attr]
            instructions.append(Instruction(operation, tuple(found)))
    results = [position[x.index] if isinstance(x, Node) else x for x in outputs]
    return _without_dead(instructions, len(inputs), results)


def depends(outputs: Sequence[Operand], first: int) -> bool:
    """Return whether any value depends on a symbol with index ``first`` or higher."""
    return any(node.operation is INPUT and node.index >= first for node in _needed(outputs))


def _needed(outputs: Sequence[Operand]) -> list[Node]:
    """Return the nodes that the outputs depend on, operands first."""
    roots = [x for x in outputs if isinstance(x, Node)]
    if not roots:
        return []
    nodes = roots[0].graph.nodes
    needed = bytearray(len(nodes))
    for root in roots:
        needed[root.index] = 1
    for i in range(len(nodes) - 1, -1, -1):
        if needed[i]:
            for operand in nodes[i].operands:
                if operand.__class__ is not float:
                    needed[operand.index] = 1  # type: ignore[union-attr]
    return [node for node, is_needed in zip(nodes, needed) if is_needed]


def _cheapest(node: Node, uses: dict[int, int]) -> tuple[Operation, tuple[Operand, ...]]:
    """Return the cheapest operation and operands that compute a node."""
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
        # A reciprocal that only this product uses becomes one division instead of two steps.
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
    """Return the instructions without unused ones; all inputs stay."""
    alive = [i < inputs for i in range(len(instructions))]
    for output in outputs:
        if isinstance(output, int):
            alive[output] = True
    for i in range(len(instructions) - 1, inputs - 1, -1):
        if alive[i]:
            for operand in instructions[i].operands:
                if operand.__class__ is int:
                    alive[operand] = True

    kept: list[Instruction] = []
    position: list[int] = []
    for i, (operation, operands) in enumerate(instructions):
        position.append(len(kept))
        if i < inputs:
            kept.append(instructions[i])
        elif alive[i]:
            moved = tuple([position[x] if x.__class__ is int else x for x in operands])
            kept.append(Instruction(operation, moved))
    return kept, [position[x] if isinstance(x, int) else x for x in outputs]
