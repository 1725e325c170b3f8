# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Traces as text in C and Python, and as plain Python functions, which need no compiler."""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import FunctionType
from typing import Any, NamedTuple, cast

import numpy as np

from dynamics_ros.computed_once import computed_once
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels.arguments import Array
from dynamics_ros.kernels.graph.operations import (
    ARRAY_FUNCTIONS,
    CALL,
    ELEMENT,
    ELEMENTARY,
    SCALAR_FUNCTIONS,
    Operation,
)
from dynamics_ros.kernels.graph.trace import (
    UNIT_QUATERNION_TOLERANCE,
    Loop,
    Trace,
    Variable,
    cut,
)

INLINE_LENGTH = 40
"""Longest text of a value used once that is written inline where it is used."""


class Step(NamedTuple):
    """Printed intermediate value or loop.

    Attributes:
        lines: its text.
        made: the names that later steps may read.
    """

    lines: list[str]
    made: list[str]


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


class Language(NamedTuple):
    """Texts of a programming language.

    Attributes:
        text_of: the attribute of `Operation` with its text.
        value: the line that gives a ``{text}`` a ``{name}``.
        loop: the lines of a loop of at most ``{limit}`` turns, which counts them as ``{turn}``
            while ``{going}``. A line with ``{name}`` or ``{next}`` is there for each value of the
            state, ``{first}`` at the beginning and ``{text}`` after a turn. ``{body}`` stands for
            the intermediates of a turn, ``{go_on}`` is 1 to continue and 0 to end.
        reserved: names that the language or the surrounding text needs.
        indexed: whether input elements are written as ``q[3]`` instead of having names such as
            ``q3``.
    """

    text_of: str
    value: str
    loop: tuple[str, ...]
    reserved: Collection[str] = ()
    indexed: bool = False


class Printed:
    """Text of a trace with unique names, ready for layout.

    Attributes:
        arguments: a unique name for each input.
        elements: for each input the names of its elements.
        output_names: a unique name for each output.
        steps: the intermediates.
        results: for each output the text of its elements.
    """

    def __init__(self, trace: Trace, language: Language) -> None:
        self._language = language
        self._taken = {*language.reserved, *SCALAR_FUNCTIONS, trace.name}
        self._count = 0
        self.arguments = [self._free(x.name) for x in trace.inputs]
        self.elements = []
        for variable, name in zip(trace.inputs, self.arguments):
            if not variable.shape:
                names = [name]
            elif language.indexed:
                names = [f'{name}[{i}]' for i in range(variable.size)]
            else:
                names = [self._free(variable.name + i) for i in _suffixes(variable.shape)]
            self.elements.append(names)
        self.output_names = [self._free(x.name) for x in trace.outputs]
        self.steps, flat = self._line(trace, [x for names in self.elements for x in names])
        values = iter(flat)
        self.results = [[next(values) for _ in range(x.size)] for x in trace.outputs]

    def _free(self, name: str) -> str:
        """Return a name that nothing has yet."""
        while name in self._taken:
            name += '_'
        self._taken.add(name)
        return name

    def _name(self) -> str:
        """Return the name of another value."""
        self._count += 1
        return self._free(f't{self._count - 1}')

    def _line(self, trace: Trace, inputs: list[str]) -> tuple[list[Step], list[str]]:
        """Return the intermediates and the texts of the results.

        Args:
            inputs: the names of all input elements.
        """
        language, uses = self._language, _uses(trace)
        # For each node its name or text, and the precedence of the text; for a loop its state.
        texts = list(inputs)
        tightness = [CALL] * len(texts)
        states: dict[int, list[str]] = {}
        steps: list[Step] = []
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
                step = self._loop(operation, parts)
                states[position] = step.made
                steps.append(step)
                text, named = '', False
            elif operation is ELEMENT:
                text, named = states[int(operands[0])][int(operands[1])], False
            else:
                text = getattr(operation, language.text_of).format(*parts)
                named = uses[position] > 1 or len(text) > INLINE_LENGTH
            if named:
                name = self._name()
                steps.append(Step([language.value.format(name=name, text=text)], [name]))
                text = name
            texts.append(text)
            tightness.append(CALL if named else operation.precedence)
        return steps, [texts[x] if isinstance(x, int) else repr(x) for x in trace.results]

    def _loop(self, loop: Loop, operands: list[str]) -> Step:
        """Return a loop from the texts of its initial state and of its captured values."""
        size = loop.body.outputs[0].size
        state, following = ([self._name() for _ in range(size)] for _ in range(2))
        going, turn = self._free('going'), self._free('turn')
        inside, results = self._line(loop.body, [*state, *operands[size:]])
        *texts, go_on = results
        fields = {'limit': loop.limit, 'going': going, 'turn': turn, 'go_on': go_on}
        lines = []
        for line in self._language.loop:
            if line == '{body}':
                lines += [f'    {x}' for step in inside for x in step.lines]
            elif '{name}' in line or '{next}' in line:
                for name, later, first, text in zip(state, following, operands, texts):
                    own = {'name': name, 'next': later, 'first': first, 'text': text}
                    lines.append(line.format(**own, **fields))
            else:
                lines.append(line.format(**fields))
        return Step(lines, state)


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


RESERVED = frozenset(row.c.partition('(')[0] for row in ELEMENTARY) | frozenset(
    """
auto break case char const continue default do double else enum extern float for goto if inline int
long register restrict return short signed sizeof static struct switch typedef union unsigned void
volatile while asm main class delete new template this throw try catch namespace using operator
private protected public friend virtual bool true false and or not xor
atan fabs fmin fmax pow floor ceil
j0 j1 jn y0 y1 yn gamma minimum maximum memory
""".split()  # noqa: SIM905
)
"""Names that C, C++, math.h or the text around a trace reserve."""

HELPERS = {
    'minimum': 'static inline double minimum(double a, double b) { return a < b ? a : b; }',
    'maximum': 'static inline double maximum(double a, double b) { return a > b ? a : b; }',
}


PART_STEPS = 300
"""Intermediates per C function; compile time grows faster than linearly with its length."""

MEMORY = 'memory'
"""Name of the array through which the parts of a long trace pass values."""


LIBRARY = frozenset(
    """
abort abs atexit atof atoi calloc div exit fprintf free fopen getenv labs ldiv malloc memcmp memcpy
memmove memset printf puts qsort rand realloc remove rename scanf signal sprintf srand strlen system
time ceil cosh erf fabsf fma fmod hypot ldexp lgamma log10 log2 modf round sinh tgamma trunc
""".split()  # noqa: SIM905
)
"""C library functions that programs call, whose names are therefore taken."""


C = Language(
    text_of='c',
    value='const double {name} = {text};',
    loop=(
        'double {name} = {first};',
        'for (int {turn} = 0, {going} = 1; {going} && {turn} < {limit}; ++{turn}) {{',
        '{body}',
        '    const double {next} = {text};',
        '    {going} = {go_on} != 0.0;',
        '    {name} = {next};',
        '}}',
    ),
    reserved=RESERVED,
    indexed=True,
)


class CFunction(NamedTuple):
    """Trace as a C function.

    Attributes:
        prototype: its return type, name and parameters.
        lines: its definition, after the parts of a long trace.
        inputs, outputs: parameter names.
        memory: number of values that the parts pass on, on the stack.
    """

    prototype: str
    lines: list[str]
    inputs: list[str]
    outputs: list[str]
    memory: int


def c_source(trace: Trace) -> str:
    """Return a trace as the source of a C99 file that needs only math.h.

    Arrays are row-major; a scalar input is passed by value. The function keeps no state, and no
    output may overlap another array.

    Raises:
        InvalidArgumentError: C reserves the name of the function.
    """
    function = c_function(trace)
    lines = [*comment(header(trace)), '#include <math.h>', '', *helpers([trace])]
    return '\n'.join([*lines, *function.lines, ''])


def comment(lines: Iterable[str]) -> list[str]:
    """Return lines as comments; a backslash at a line's end would continue the comment."""
    return [f'// {line}'.rstrip('\\ ') for line in lines]


def helpers(traces: Iterable[Trace]) -> list[str]:
    """Return the functions that traces call and math.h lacks."""
    used = {name for trace in traces for name in trace.operation_counts}
    return [helper for name, helper in HELPERS.items() if name in used]


def c_function(trace: Trace) -> CFunction:
    """Return the function of a trace, as `c_source` describes it.

    Raises:
        InvalidArgumentError: C reserves a name.
    """
    if trace.name in RESERVED or trace.name in LIBRARY:
        expected = 'a name of its own for the function, such as by compile(..., name=...)'
        raise InvalidArgumentError('name', f'{trace.name!r} is a word of C', expected)
    text = Printed(trace, C)
    inputs = {
        name: f'const {_array(name, x)}' if x.shape else f'double {name}'
        for x, name in zip(trace.inputs, text.arguments)
    }
    outputs = [_array(name, x) for x, name in zip(trace.outputs, text.output_names)]
    prototype = f'void {trace.name}({", ".join([*inputs.values(), *outputs]) or "void"})'
    results = [
        f'{name}[{i}] = {value};'
        for name, values in zip(text.output_names, text.results)
        for i, value in enumerate(values)
    ]
    read = _words([*results, *(line for step in text.steps for line in step.lines)])
    body = [f'(void){x};' for x in (*text.arguments, *text.output_names) if x not in read]
    arrays = inputs | dict(zip(text.output_names, outputs))
    parts, intermediates, results, memory = _intermediates(trace.name, text.steps, results, arrays)
    body += ['// intermediates', *intermediates, '// outputs', *results]
    lines = [*parts, prototype, *_block(body)]
    return CFunction(prototype, lines, text.arguments, text.output_names, memory)


def _intermediates(
    name: str, steps: Sequence[Step], results: Sequence[str], arrays: Mapping[str, str]
) -> tuple[list[str], list[str], list[str], int]:
    """Return functions, the lines that call them or compute, remaining results, and memory size.

    A function stores the results that it computes.

    Args:
        name: name of the function.
        steps: its intermediates.
        results: the lines that store the results.
        arrays: the declaration of each input and output by its name.
    """
    pieces = cut(steps, max(1, -(-len(steps) // PART_STEPS)))
    bodies = [[line for step in piece for line in step.lines] for piece in pieces]
    if len(bodies) == 1:
        return [], bodies[0], list(results), 0
    maker = {x: i for i, piece in enumerate(pieces) for step in piece for x in step.made}
    rest: list[str] = []
    for line in results:
        part = max((maker[x] for x in _words([line]) if x in maker), default=None)
        (rest if part is None else bodies[part]).append(line)
    reads = [_words(lines) for lines in bodies]
    last = {x: part for part, names in enumerate(reads) for x in names}
    kept = {x: i for i, x in enumerate(x for x, part in maker.items() if last.get(x, 0) > part)}
    size = max(len(kept), 1)  # C has no arrays of no elements
    functions, calls = [], [f'double {MEMORY}[{size}];']
    for part, (body, read) in enumerate(zip(bodies, reads)):
        taken = [x for x in arrays if x in read]
        declared = [*[arrays[x] for x in taken], f'double {MEMORY}[{size}]']
        loads = [
            f'const double {x} = {MEMORY}[{i}];'
            for x, i in kept.items()
            if maker[x] < part and x in read
        ]
        stores = [f'{MEMORY}[{i}] = {x};' for x, i in kept.items() if maker[x] == part]
        functions += [f'static void {name}_part_{part}({", ".join(declared)})']
        functions += [*_block([*loads, *body, *stores]), '']
        calls.append(f'{name}_part_{part}({", ".join([*taken, MEMORY])});')
    return functions, calls, rest, size


def _block(lines: Iterable[str]) -> list[str]:
    return ['{', *[f'    {line}' for line in lines], '}']


def _words(lines: Iterable[str]) -> set[str]:
    return {word for line in lines for word in re.findall(r'[A-Za-z_]\w*', line)}


def _array(name: str, variable: Variable) -> str:
    # Neither C nor C++ has arrays of no elements.
    return f'double {name}[{variable.size}]' if variable.size else f'double *{name}'


PYTHON = Language(
    text_of='python',
    value='{name} = {text}',
    loop=(
        '{name} = {first}',
        '{going} = 1.0',
        'for {turn} in range({limit}):',
        '{body}',
        '    {next} = select({going}, {text}, {name})',
        '    {going} = {going} * {go_on}',
        '    {name} = {next}',
        # A loop over many states runs until all have ended.
        '    if not some({going}):',
        '        break',
    ),
)


def function_name(trace: Trace) -> str:
    """Return the name of the printed function: a function named `sin` would call itself."""
    return f'{trace.name}_' if trace.name in SCALAR_FUNCTIONS else trace.name


def python_source(trace: Trace) -> str:
    """Return a trace as the source of a plain Python function of flat lists."""
    text = Printed(trace, PYTHON)
    first, *rest = [line.replace('\\', '\\\\').replace('"', "'") for line in header(trace)]
    lines = [f'def {function_name(trace)}({", ".join(text.arguments)}):']
    lines += [f'    """{first}', *[f'    {line}'.rstrip() for line in rest], '    """']
    lines += ['    # Inputs']
    for variable, argument, names in zip(trace.inputs, text.arguments, text.elements):
        if variable.shape and names:
            lines.append(f'    ({", ".join(names)},) = {argument}')
    lines += ['    # Intermediates']
    lines += [f'    {line}' for step in text.steps for line in step.lines]
    lines += ['    # Outputs']
    for variable, name, values in zip(trace.outputs, text.output_names, text.results):
        value = f'[{", ".join(values)}]' if variable.shape else values[0]
        lines.append(f'    {name} = {value}')
    lines.append(f'    return {", ".join(text.output_names) or "()"}')
    return '\n'.join(lines) + '\n'


ARRAY_STATES = 16
"""From this many states on, the function is faster on arrays than state by state."""


class PlainFunction:
    """Trace as a Python function, on floats for a few states and on arrays for many.

    The function is printed when it is first called.
    """

    def __init__(self, trace: Trace) -> None:
        self._trace = trace

    def __call__(self, *arguments: Sequence[float] | float) -> Any:
        """Return the outputs of one state.

        Args:
            arguments: one flat list of floats per input; a float for a scalar input.

        Returns:
            A flat list (a float for a scalar output); a tuple of them for several outputs.

        Raises:
            ArithmeticError, ValueError: an operation is undefined, as in Python.
        """
        return self._of_floats(*arguments)

    @computed_once
    def _of_floats(self) -> FunctionType:
        trace = self._trace
        namespace: dict[str, Any] = dict(SCALAR_FUNCTIONS)
        exec(compile(python_source(trace), f'<trace {trace.name}>', 'exec'), namespace)
        return cast(FunctionType, namespace[function_name(trace)])

    @computed_once
    def _of_arrays(self) -> FunctionType:
        """The same function of arrays with one element per state in place of each float.

        Operations that Python refuses (division by zero, square root of a negative number) give inf
        or NaN here.
        """
        return FunctionType(self._of_floats.__code__, dict(ARRAY_FUNCTIONS), self._trace.name)

    def run(
        self, arrays: Sequence[Array], leading: tuple[int, ...], results: Sequence[Array]
    ) -> bool:
        """Fill the result arrays; return whether the trace allows all inputs and results.

        Args:
            arrays: one per input, leading axes to be broadcast.
            leading: the broadcast shape of the leading axes.
            results: one per output, C-contiguous, shape (leading + output shape).
        """
        trace, states = self._trace, math.prod(leading)
        if not all(np.isfinite(x).all() for x in arrays) or self.unmet(arrays) is not None:
            return False
        columns = [
            np.broadcast_to(x, leading + variable.shape).reshape(states, variable.size)
            for x, variable in zip(arrays, trace.inputs)
        ]
        targets = [x.reshape(states, variable.size) for x, variable in zip(results, trace.outputs)]
        if states >= ARRAY_STATES:
            self._run_arrays(columns, targets)
        else:
            for i in range(states):
                try:
                    self._run_state([x[i] for x in columns], [x[i] for x in targets])
                except (ArithmeticError, ValueError):
                    # Machine code and arrays return inf or NaN here, as IEEE 754 defines.
                    one = slice(i, i + 1)
                    self._run_arrays([x[one] for x in columns], [x[one] for x in targets])
        return trace.finite_results is None or all(bool(np.isfinite(x).all()) for x in results)

    def unmet(self, arrays: Sequence[Array]) -> Exception | None:
        """Return the error of the first quaternion that is not of length 1.

        Args:
            arrays: one per input, all finite.
        """
        for place, first in self._trace.unit_quaternions:
            with np.errstate(over='ignore'):
                squared = np.square(arrays[place][..., first : first + 4]).sum(-1, keepdims=True)
            # A little less, so that what machine code refuses by other rounding is named.
            wrong = squared[np.abs(squared - 1.0) > UNIT_QUATERNION_TOLERANCE - 1e-14]
            if wrong.size:
                name, problem = self._trace.inputs[place].name, math.sqrt(wrong[0])
                expected = 'a unit quaternion (x, y, z, w)'
                return InvalidArgumentError(name, f'quaternion of length {problem:.6g}', expected)
        return None

    def _run_state(self, state: Sequence[Array], targets: Sequence[Array]) -> None:
        values = self._of_floats(
            *[
                x.item() if variable.shape == () else x.tolist()
                for x, variable in zip(state, self._trace.inputs)
            ]
        )
        for target, value in zip(targets, values if len(targets) > 1 else (values,)):
            target[:] = value

    def _run_arrays(self, columns: Sequence[Array], targets: Sequence[Array]) -> None:
        with np.errstate(all='ignore'):
            values = self._of_arrays(
                *[
                    x[:, 0] if variable.shape == () else list(x.T)
                    for x, variable in zip(columns, self._trace.inputs)
                ]
            )
        for target, value in zip(targets, values if len(targets) > 1 else (values,)):
            for i, element in enumerate(value if isinstance(value, list) else [value]):
                target[:, i] = element
