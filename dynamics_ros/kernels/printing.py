"""What printed traces have in common: names, headers, and readable right-hand sides."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, NamedTuple

from dynamics_ros.kernels.operations import CALL, SCALAR_FUNCTIONS, Operation

if TYPE_CHECKING:
    from dynamics_ros.kernels.trace import Trace, Variable

INLINE_LENGTH = 40
"""A value that is used once is written where it is used, if its text is no longer than this."""


class Printed(NamedTuple):
    """The text of a trace, ready to be laid out in a language.

    Attributes:
        arguments: a free name for each input.
        elements: for each input the names of its elements.
        assignments: operation, name and right-hand side of each intermediate.
        results: for each output the text of its elements.
        output_names: a free name for each output.
    """

    arguments: list[str]
    elements: list[list[str]]
    assignments: list[tuple[Operation, str, str]]
    results: list[list[str]]
    output_names: list[str]


def header(trace: Trace) -> list[str]:
    """Return lines that say what a trace is, what it costs, takes and returns."""
    counts = ', '.join(f'{count} {name}' for name, count in trace.operation_counts.items())
    lines = [trace.description or trace.name, '']
    lines.append(f'{trace.operation_count} operations' + (f': {counts}' if counts else ''))
    for title, variables in (('Inputs', trace.inputs), ('Outputs', trace.outputs)):
        texts = [f'{x.name} {_shape_text(x)}' for x in variables]
        lines.append(f'{title}: {", ".join(texts)}')
    return [part for line in lines for part in textwrap.wrap(line, 90) or ['']]


def _shape_text(variable: Variable) -> str:
    return f'({" x ".join(map(str, variable.shape))})' if variable.shape else '(scalar)'


def printed(
    trace: Trace,
    text_of: Callable[[Operation], str],
    reserved: Collection[str],
    indexed: bool = False,
) -> Printed:
    """Return the text of a trace.

    Args:
        text_of: the format of an operation in the language.
        reserved: names that the language or the surrounding text needs.
        indexed: write input elements as ``q[3]`` instead of giving them names such as ``q3``.
    """
    taken = {*reserved, *SCALAR_FUNCTIONS, trace.name}

    def free(name: str) -> str:
        while name in taken:
            name += '_'
        taken.add(name)
        return name

    arguments = [free(x.name) for x in trace.inputs]
    elements = []
    for variable, name in zip(trace.inputs, arguments):
        if not variable.shape:
            elements.append([name])
        elif indexed:
            elements.append([f'{name}[{i}]' for i in range(variable.size)])
        else:
            elements.append([free(variable.name + i) for i in _suffixes(variable.shape)])
    output_names = [free(x.name) for x in trace.outputs]

    uses = [0] * len(trace.nodes)
    for _, operands in trace.nodes[sum(x.size for x in trace.inputs) :]:
        for operand in operands:
            if isinstance(operand, int):
                uses[operand] += 1
    for result in trace.results:
        if isinstance(result, int):
            uses[result] += 1

    # Of each node: its name or its text, and how tightly that binds.
    texts: list[str] = [name for names in elements for name in names]
    tightness = [CALL] * len(texts)
    assignments: list[tuple[Operation, str, str]] = []
    for position in range(len(texts), len(trace.nodes)):
        operation, operands = trace.nodes[position]
        parts = []
        for place, x in enumerate(operands):
            if not isinstance(x, int):
                parts.append(repr(x))
            elif _needs_parentheses(operation, place, tightness[x]):
                parts.append(f'({texts[x]})')
            else:
                parts.append(texts[x])
        text = text_of(operation).format(*parts)
        if uses[position] == 1 and len(text) <= INLINE_LENGTH:
            texts.append(text)
            tightness.append(operation.precedence)
        else:
            name = free(f't{len(assignments)}')
            assignments.append((operation, name, text))
            texts.append(name)
            tightness.append(CALL)

    values = iter([texts[x] if isinstance(x, int) else repr(x) for x in trace.results])
    results = [[next(values) for _ in range(x.size)] for x in trace.outputs]
    return Printed(arguments, elements, assignments, results, output_names)


def _needs_parentheses(operation: Operation, place: int, tightness: int) -> bool:
    """Return whether the text of an operand would be read differently without them."""
    if operation.precedence == CALL:
        return False
    last = place == operation.arity - 1
    return tightness < operation.precedence + last


def _suffixes(shape: tuple[int, ...]) -> list[str]:
    """Return the index of each element of an array as the end of a name: 3, or 3_1."""
    suffixes = ['']
    for axis, size in enumerate(shape):
        joint = '_' if axis else ''
        suffixes = [f'{x}{joint}{i}' for x in suffixes for i in range(size)]
    return suffixes
