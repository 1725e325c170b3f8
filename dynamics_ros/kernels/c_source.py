"""A trace as a C function, for use inside a program that has no Python."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dynamics_ros.kernels.printing import Assignment, PrintedStep, header, printed

if TYPE_CHECKING:
    from dynamics_ros.kernels.trace import Trace

RESERVED = frozenset(
    """
auto break case char const continue default do double else enum extern float for goto if inline int
long register restrict return short signed sizeof static struct switch typedef union unsigned void
volatile while asm main class delete new template this throw try catch namespace using operator
private protected public friend virtual bool true false and or not xor
acos asin atan atan2 cos sin tan exp log sqrt fabs fmin fmax pow floor ceil j0 j1 jn y0 y1 yn gamma
minimum maximum
""".split()  # noqa: SIM905
)
"""Words that C, C++ or math.h give a meaning."""

HELPERS = {
    'minimum': 'static inline double minimum(double a, double b) { return a < b ? a : b; }',
    'maximum': 'static inline double maximum(double a, double b) { return a > b ? a : b; }',
}


def emit(trace: Trace) -> str:
    """Return the source of a C99 file that computes the outputs of a trace.

    Arrays are row-major; a scalar input is passed by value. The function keeps no state, and no
    output may overlap another array.
    """
    text = printed(trace, lambda operation: operation.c, RESERVED, indexed=True)
    lines = [f'// {line}'.rstrip('\\ ') for line in header(trace)]
    lines += ['#include <math.h>', '']
    lines += [helper for name, helper in HELPERS.items() if name in trace.operation_counts]

    parameters = []
    for variable, name in zip(trace.inputs, text.arguments):
        kind = f'const double {name}[{variable.size}]' if variable.shape else f'double {name}'
        parameters.append(kind)
    for variable, name in zip(trace.outputs, text.output_names):
        parameters.append(f'double {name}[{variable.size}]')
    lines += [f'void {trace.name}({", ".join(parameters) or "void"})', '{']
    lines += ['    // intermediates']
    lines += [f'    {line}' for step in text.steps for line in _step(step)]
    lines += ['    // outputs']
    for name, values in zip(text.output_names, text.results):
        lines += [f'    {name}[{i}] = {value};' for i, value in enumerate(values)]
    return '\n'.join([*lines, '}', ''])


def _step(step: PrintedStep) -> list[str]:
    """Return the lines of an intermediate."""
    if isinstance(step, Assignment):
        kind = 'int' if step.operation.condition else 'double'
        return [f'const {kind} {step.name} = {step.text};']
    going, turn = step.going, step.turn
    return [
        *[f'double {name} = {text};' for name, text in zip(step.state, step.initial)],
        f'for (int {turn} = 0, {going} = 1; {going} && {turn} < {step.limit}; ++{turn}) {{',
        *[f'    {line}' for inner in step.steps for line in _step(inner)],
        *[f'    const double {a} = {b};' for a, b in zip(step.next_names, step.following)],
        f'    {going} = {step.go_on} != 0.0;',
        *[f'    {a} = {b};' for a, b in zip(step.state, step.next_names)],
        '}',
    ]
