# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Shared parts of printed traces: names, headers, and readable right-hand sides."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Collection
from typing import NamedTuple

from dynamics_ros.kernels.graph.operations import CALL, ELEMENT, SCALAR_FUNCTIONS, Operation
from dynamics_ros.kernels.graph.trace import Loop, Trace, Variable

INLINE_LENGTH = 40
"""Longest text of a value used once that is written inline where it is used."""


class Assignment(NamedTuple):
    """Intermediate value: its operation, its name and its right-hand side."""

    operation: Operation
    name: str
    text: str


class Turns(NamedTuple):
    """Printed loop.

    Attributes:
        limit: the largest number of iterations.
        state: names of the state.
        initial: the texts of the initial state.
        steps: the intermediates of an iteration.
        following: the texts of the next state.
        next_names: names for the next state, for languages that need them.
        go_on: the text that is 1 to continue and 0 to end.
        going: name of the flag that the loop continues.
        turn: name of the iteration counter.
    """

    limit: int
    state: list[str]
    initial: list[str]
    steps: list[PrintedStep]
    following: list[str]
    next_names: list[str]
    go_on: str
    going: str
    turn: str


PrintedStep = Assignment | Turns


class Printed(NamedTuple):
    """Text of a trace, ready for layout in a language.

    Attributes:
        arguments: a unique name for each input.
        elements: for each input the names of its elements.
        steps: the intermediates.
        results: for each output the text of its elements.
        output_names: a unique name for each output.
    """

    arguments: list[str]
    elements: list[list[str]]
    steps: list[PrintedStep]
    results: list[list[str]]
    output_names: list[str]


def header(trace: Trace) -> list[str]:
    """Return header lines: description, operation counts, inputs and outputs of a trace."""
    counts = ', '.join(f'{count} {name}' for name, count in trace.operation_counts.items())
    lines = [trace.description or trace.name, '']
    lines.append(f'{trace.operation_count} operations' + (f': {counts}' if counts else ''))
    for loop in trace.loops:
        turn = f'{loop.body.operation_count} of them in each turn of a loop'
        lines.append(f'{turn}, which has at most {loop.limit}')
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
    printer = _Printer(text_of, {*reserved, *SCALAR_FUNCTIONS, trace.name})
    arguments = [printer.free(x.name) for x in trace.inputs]
    elements = []
    for variable, name in zip(trace.inputs, arguments):
        if not variable.shape:
            elements.append([name])
        elif indexed:
            elements.append([f'{name}[{i}]' for i in range(variable.size)])
        else:
            elements.append([printer.free(variable.name + i) for i in _suffixes(variable.shape)])
    output_names = [printer.free(x.name) for x in trace.outputs]
    steps, flat = printer.line(trace, [name for names in elements for name in names])
    values = iter(flat)
    results = [[next(values) for _ in range(x.size)] for x in trace.outputs]
    return Printed(arguments, elements, steps, results, output_names)


class _Printer:
    """Printer of straight lines with unique names."""

    def __init__(self, text_of: Callable[[Operation], str], taken: set[str]) -> None:
        self.text_of = text_of
        self.taken = taken
        self.count = 0

    def free(self, name: str) -> str:
        while name in self.taken:
            name += '_'
        self.taken.add(name)
        return name

    def line(self, trace: Trace, inputs: list[str]) -> tuple[list[PrintedStep], list[str]]:
        """Return the intermediates and the texts of the results.

        Args:
            inputs: the names of all input elements.
        """
        uses = _uses(trace)
        # For each node its name or text, and the precedence of the text; for a loop its state.
        texts = list(inputs)
        tightness = [CALL] * len(texts)
        states: dict[int, list[str]] = {}
        steps: list[PrintedStep] = []
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
            if isinstance(operation, Loop):
                turns = self.turns(operation, parts)
                steps.append(turns)
                states[position] = turns.state
                text, named = '', False
            elif operation is ELEMENT:
                text, named = states[int(operands[0])][int(operands[1])], False
            else:
                text = self.text_of(operation).format(*parts)
                named = uses[position] > 1 or len(text) > INLINE_LENGTH
            if named:
                name = self.name()
                steps.append(Assignment(operation, name, text))
                text = name
            texts.append(text)
            tightness.append(CALL if named else operation.precedence)
        return steps, [texts[x] if isinstance(x, int) else repr(x) for x in trace.results]

    def name(self) -> str:
        self.count += 1
        return self.free(f't{self.count - 1}')

    def turns(self, loop: Loop, operands: list[str]) -> Turns:
        size = loop.body.outputs[0].size
        state = [self.name() for _ in range(size)]
        going, turn = self.free('going'), self.free('turn')
        steps, results = self.line(loop.body, [*state, *operands[size:]])
        *following, go_on = results
        next_names = [self.name() for _ in range(size)]
        first = operands[:size]
        return Turns(loop.limit, state, first, steps, following, next_names, go_on, going, turn)


def _uses(trace: Trace) -> list[int]:
    """Return how often each value is written; operands of a loop may be written many times."""
    uses = [0] * len(trace.nodes)
    for operation, operands in trace.nodes[sum(x.size for x in trace.inputs) :]:
        for operand in operands:
            if isinstance(operand, int):
                uses[operand] += 2 if isinstance(operation, Loop) else 1
    for result in trace.results:
        if isinstance(result, int):
            uses[result] += 1
    return uses


def _needs_parentheses(operation: Operation, place: int, tightness: int) -> bool:
    """Return whether the text of an operand needs parentheses."""
    if operation.precedence == CALL:
        return False
    last = place == operation.arity - 1
    return tightness < operation.precedence + last


def _suffixes(shape: tuple[int, ...]) -> list[str]:
    """Return the index of each element of an array as a name suffix: 3, or 3_1."""
    suffixes = ['']
    for axis, size in enumerate(shape):
        joint = '_' if axis else ''
        suffixes = [f'{x}{joint}{i}' for x in suffixes for i in range(size)]
    return suffixes
