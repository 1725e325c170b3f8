# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Printing of a trace as a readable plain Python function."""

from __future__ import annotations

from dynamics_ros.kernels.graph.operations import SCALAR_FUNCTIONS
from dynamics_ros.kernels.graph.trace import Trace
from dynamics_ros.kernels.source.printing import (
    Assignment,
    PrintedStep,
    header,
    printed,
)


def function_name(trace: Trace) -> str:
    """Return the name of the printed function: a function named `sin` would call itself."""
    return f'{trace.name}_' if trace.name in SCALAR_FUNCTIONS else trace.name


def python_source(trace: Trace) -> str:
    """Return a trace as the source of a plain Python function of flat lists."""
    text = printed(trace, lambda operation: operation.python, ())
    first, *rest = [line.replace('\\', '\\\\').replace('"', "'") for line in header(trace)]
    lines = [f'def {function_name(trace)}({", ".join(text.arguments)}):']
    lines += [f'    """{first}', *[f'    {line}'.rstrip() for line in rest], '    """']
    lines += ['    # Inputs']
    for variable, argument, names in zip(trace.inputs, text.arguments, text.elements):
        if variable.shape and names:
            lines.append(f'    ({", ".join(names)},) = {argument}')
    lines += ['    # Intermediates']
    lines += [f'    {line}' for step in text.steps for line in _step(step)]
    lines += ['    # Outputs']
    for variable, name, values in zip(trace.outputs, text.output_names, text.results):
        value = f'[{", ".join(values)}]' if variable.shape else values[0]
        lines.append(f'    {name} = {value}')
    lines.append(f'    return {", ".join(text.output_names) or "()"}')
    return '\n'.join(lines) + '\n'


def _step(step: PrintedStep) -> list[str]:
    """Return the lines of an intermediate; a loop over many states runs until all have ended."""
    if isinstance(step, Assignment):
        return [f'{step.name} = {step.text}']
    going = step.going
    kept = [f'select({going}, {x}, {y})' for x, y in zip(step.following, step.state)]
    return [
        *[f'{name} = {text}' for name, text in zip(step.state, step.initial)],
        f'{going} = 1.0',
        f'for {step.turn} in range({step.limit}):',
        *[f'    {line}' for inner in step.steps for line in _step(inner)],
        f'    {", ".join([*step.state, going])} = {", ".join([*kept, f"{going} * {step.go_on}"])}',
        f'    if not some({going}):',
        '        break',
    ]
