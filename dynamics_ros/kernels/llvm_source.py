"""A trace as a module of LLVM IR, written as text straight from its instructions.

The module has two public functions:

``i32 @single(inputs..., outputs...)`` computes one state. Each argument points to the doubles of
one array. It returns 1 and writes nothing when an input is not finite, else 0.

``i64 @batch(i64 states, addresses, strides)`` computes many. ``addresses`` and ``strides`` point to
one entry an array, inputs first; a stride is in bytes from state to state, 0 for an array that all
states share. It returns the number of states computed, which is less than ``states`` when it met an
input that is not finite.

No output may overlap an input or another output.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

from dynamics_ros.kernels.operations import COS, INPUT, OPERATIONS, SIN

if TYPE_CHECKING:
    from dynamics_ros.kernels.trace import Trace

CHECK_WIDTH = 8
"""Doubles that are checked for NaN and infinity at once."""


class Dialect(NamedTuple):
    """How the LLVM at hand writes pointers: ``ptr`` since 15, ``double*`` before.

    Attributes:
        opaque_pointers: whether it is ``ptr``.
    """

    opaque_pointers: bool

    def pointer(self, pointee: str) -> str:
        """Return the type of a pointer."""
        return 'ptr' if self.opaque_pointers else f'{pointee}*'


def emit(trace: Trace, dialect: Dialect) -> str:
    """Return a module that computes one state or many states of a trace."""
    sections = [
        f'; {trace.name}: {trace.operation_count} operations',
        _state_function(trace, dialect),
        _check_function(trace, dialect),
        _single_function(trace, dialect),
        _batch_function(trace, dialect),
    ]
    body = '\n'.join(sections)
    return f'{body}\n{_declarations(body, dialect)}\n'


def constant(value: float) -> str:
    """Return a double constant; the bits in hexadecimal are exact."""
    return f'0x{struct.unpack("<Q", struct.pack("<d", value))[0]:016X}'


def parameters(trace: Trace, dialect: Dialect, attributes: str = '') -> list[str]:
    """Return the parameters of the functions that take a pointer an array."""
    kind = ' '.join([dialect.pointer('double'), *attributes.split()])
    inputs = [f'{kind} %in{i}' for i in range(len(trace.inputs))]
    return inputs + [f'{kind} %out{i}' for i in range(len(trace.outputs))]


def _element(dialect: Dialect, name: str, array: str, index: int) -> str:
    """Return the instruction that makes a pointer to an element of an array of doubles."""
    return f'{name} = getelementptr double, {dialect.pointer("double")} {array}, i64 {index}'


def _state_function(trace: Trace, dialect: Dialect) -> str:
    """Return the function of one state: the straight line itself."""
    pointer = dialect.pointer('double')
    types = {'type': 'double', 'condition': 'i1', 'suffix': 'f64', 'one': '1.0'}
    arguments = ', '.join(parameters(trace, dialect, 'noalias'))
    lines = [f'define internal void @state({arguments}) noinline nounwind {{']

    angles = {x.operands for x in trace.nodes if x.operation is SIN}
    angles &= {x.operands for x in trace.nodes if x.operation is COS}
    both: dict[tuple[int | float, ...], int] = {}
    if angles:
        lines += ['  %s.p = alloca double', '  %c.p = alloca double']

    # Results are stored as soon as they exist, which frees their registers.
    stores: dict[int, list[str]] = {}
    position = 0
    for output, variable in enumerate(trace.outputs):
        for i in range(variable.size):
            result = trace.results[position]
            position += 1
            where = f'%o{output}.{i}'
            line = f'  {_element(dialect, where, f"%out{output}", i)}\n  store double '
            if isinstance(result, int):
                stores.setdefault(result, []).append(f'{line}%v{result}, {pointer} {where}')
            else:
                lines.append(f'{line}{constant(result)}, {pointer} {where}')

    for index, (operation, operands) in enumerate(trace.nodes):
        if operation is INPUT:
            argument, place = operands
            lines.append(f'  {_element(dialect, f"%p{index}", f"%in{argument}", int(place))}')
            lines.append(f'  %v{index} = load double, {pointer} %p{index}')
        elif operation in (SIN, COS) and operands in angles:
            if operands not in both:
                both[operands] = index
                lines += [
                    f'  call void @sincos(double %v{operands[0]}, {pointer} %s.p, {pointer} %c.p)',
                    f'  %s{index} = load double, {pointer} %s.p',
                    f'  %c{index} = load double, {pointer} %c.p',
                ]
            half = 's' if operation is SIN else 'c'
            lines.append(f'  %v{index} = bitcast double %{half}{both[operands]} to double')
        else:
            texts = [f'%v{x}' if isinstance(x, int) else constant(x) for x in operands]
            lines += ['  ' + x.format(*texts, result=f'%v{index}', **types) for x in operation.llvm]
        lines += stores.get(index, ())
    return '\n'.join([*lines, '  ret void', '}'])


def _check_function(trace: Trace, dialect: Dialect) -> str:
    """Return the function that tells whether all inputs are finite: x - x is NaN elsewhere."""
    pointer = dialect.pointer('double')
    inputs = [f'{pointer} %in{i}' for i in range(len(trace.inputs))]
    lines = [f'define internal i1 @finite({", ".join(inputs)}) nounwind {{']
    flags = []
    for argument, variable in enumerate(trace.inputs):
        for first in range(0, variable.size, CHECK_WIDTH):
            width = min(CHECK_WIDTH, variable.size - first)
            vector = f'<{width} x double>'
            n = f'%x{argument}.{first}'
            vector_pointer = dialect.pointer(vector)
            lines += [
                f'  {_element(dialect, f"{n}.e", f"%in{argument}", first)}',
                f'  {n}.p = bitcast {pointer} {n}.e to {vector_pointer}',
                f'  {n} = load {vector}, {vector_pointer} {n}.p, align 8',
                f'  {n}.d = fsub {vector} {n}, {n}',
                f'  {n}.c = fcmp uno {vector} {n}.d, {n}.d',
                f'  {n}.b = bitcast <{width} x i1> {n}.c to i{width}',
                f'  {n}.f = icmp eq i{width} {n}.b, 0',
            ]
            flags.append(f'{n}.f')
    total = 'true'
    for i, flag in enumerate(flags):
        lines.append(f'  %a{i} = and i1 {total}, {flag}')
        total = f'%a{i}'
    return '\n'.join([*lines, f'  ret i1 {total}', '}'])


def _single_function(trace: Trace, dialect: Dialect) -> str:
    everything = parameters(trace, dialect)
    inputs = everything[: len(trace.inputs)]
    return f"""define i32 @single({', '.join(everything)}) nounwind {{
  %finite = call i1 @finite({', '.join(inputs)})
  br i1 %finite, label %compute, label %refuse
compute:
  call void @state({', '.join(everything)})
  ret i32 0
refuse:
  ret i32 1
}}"""


def _batch_function(trace: Trace, dialect: Dialect) -> str:
    byte = dialect.pointer('i8')
    bytes_ = dialect.pointer(byte)
    number = dialect.pointer('i64')
    double = dialect.pointer('double')
    names = [x.rsplit('%', 1)[1] for x in parameters(trace, dialect)]
    setup = []
    addresses = []
    for i, name in enumerate(names):
        setup += [
            f'  %{name}.bp = getelementptr {byte}, {bytes_} %addresses, i64 {i}',
            f'  %{name}.base = load {byte}, {bytes_} %{name}.bp',
            f'  %{name}.sp = getelementptr i64, {number} %strides, i64 {i}',
            f'  %{name}.stride = load i64, {number} %{name}.sp',
        ]
        addresses += [
            f'  %{name}.offset = mul i64 %{name}.stride, %i',
            f'  %{name}.byte = getelementptr i8, {byte} %{name}.base, i64 %{name}.offset',
            f'  %{name} = bitcast {byte} %{name}.byte to {double}',
        ]
    newline = '\n'
    return f"""define i64 @batch(i64 %states, {bytes_} %addresses, {number} %strides) nounwind {{
entry:
{newline.join(setup)}
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %more = icmp slt i64 %i, %states
  br i1 %more, label %body, label %done
body:
{newline.join(addresses)}
  %status = call i32 @single({', '.join(parameters(trace, dialect))})
  %next = add i64 %i, 1
  %good = icmp eq i32 %status, 0
  br i1 %good, label %head, label %done
done:
  ret i64 %i
}}"""


def _declarations(body: str, dialect: Dialect) -> str:
    """Return the declarations of the functions of libm and of LLVM that a module calls."""
    pointer = dialect.pointer('double')
    signatures = [f'declare void @sincos(double, {pointer}, {pointer})']
    for row in OPERATIONS:
        for line in row.llvm:
            if ' call ' in line:
                name = line.split('@')[1].split('(')[0].format(suffix='f64')
                arguments = ', '.join(['double'] * row.arity)
                signatures.append(f'declare double @{name}({arguments})')
    return '\n'.join(x for x in signatures if f'{x.split(" ", 2)[2].split("(")[0]}(' in body)
