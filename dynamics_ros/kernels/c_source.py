"""A trace as a C function, for use inside a program that has no Python."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from dynamics_ros.kernels.operations import INPUT
from dynamics_ros.kernels.printing import Assignment, PrintedStep, header, printed

if TYPE_CHECKING:
    from dynamics_ros.kernels.trace import Trace, Variable

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


class CFunction(NamedTuple):
    """A trace as a C function.

    Attributes:
        prototype: its return type, name and parameters.
        lines: its body, braces included.
        inputs, outputs: what its parameters are called.
    """

    prototype: str
    lines: list[str]
    inputs: list[str]
    outputs: list[str]


def emit(trace: Trace) -> str:
    """Return the source of a C99 file that computes the outputs of a trace.

    Arrays are row-major; a scalar input is passed by value. The function keeps no state, and no
    output may overlap another array.
    """
    function = c_function(trace)
    lines = [*comment(header(trace)), '#include <math.h>', '', *helpers([trace])]
    return '\n'.join([*lines, function.prototype, *function.lines, ''])


def comment(lines: Iterable[str]) -> list[str]:
    """Return lines as comments; a backslash at an end would make the next line one too."""
    return [f'// {line}'.rstrip('\\ ') for line in lines]


def helpers(traces: Iterable[Trace]) -> list[str]:
    """Return the functions that traces call and math.h does not have."""
    used = {name for trace in traces for name in trace.operation_counts}
    return [helper for name, helper in HELPERS.items() if name in used]


def c_function(trace: Trace) -> CFunction:
    """Return the function of a trace, as `emit` describes it."""
    text = printed(trace, lambda operation: operation.c, RESERVED, indexed=True)
    parameters = []
    for variable, name in zip(trace.inputs, text.arguments):
        parameters.append(f'const {_array(name, variable)}' if variable.shape else f'double {name}')
    for variable, name in zip(trace.outputs, text.output_names):
        parameters.append(_array(name, variable))
    prototype = f'void {trace.name}({", ".join(parameters) or "void"})'
    lines = [f'    (void){name};' for name in _unread(trace, text.arguments)]
    lines += [
        f'    (void){name};' for name, x in zip(text.output_names, trace.outputs) if not x.size
    ]
    lines += ['    // intermediates']
    lines += [f'    {line}' for step in text.steps for line in _step(step)]
    lines += ['    // outputs']
    for name, values in zip(text.output_names, text.results):
        lines += [f'    {name}[{i}] = {value};' for i, value in enumerate(values)]
    return CFunction(prototype, ['{', *lines, '}'], text.arguments, text.output_names)


def _array(name: str, variable: Variable) -> str:
    # Neither C nor C++ has arrays of no elements.
    return f'double {name}[{variable.size}]' if variable.size else f'double *{name}'


def _unread(trace: Trace, names: Iterable[str]) -> list[str]:
    """Return the names of the inputs that no result depends on."""
    operands = [x for node in trace.nodes if node.operation is not INPUT for x in node.operands]
    read = {x for x in (*operands, *trace.results) if isinstance(x, int)}
    unread = []
    first = 0
    for variable, name in zip(trace.inputs, names):
        if read.isdisjoint(range(first, first + variable.size)):
            unread.append(name)
        first += variable.size
    return unread


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
