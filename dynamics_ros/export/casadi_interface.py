# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Exported kernels as external functions of CasADi, for its solvers and for acados.

For each kernel f there is a function f_casadi, which ``casadi.external('f_casadi', library)`` loads
with sizes and names, and its Jacobian jac_f_casadi. CasADi stores matrices by columns, passes null
pointers for zero inputs and for results that are not needed, and provides work memory. The
functions copy between the layouts of CasADi and of the kernels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dynamics_ros.algorithms.quantity import Formula
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.kernels import Trace, jacobian, trace
from dynamics_ros.kernels.source import c_function

INTEGER = ['#ifndef casadi_int', '#define casadi_int long long int', '#endif', '']

Sizes = dict[str, tuple[int, int]]
"""Numbers of rows and columns by name."""


def jacobian_of(traced: Trace, formula: Formula) -> Trace | None:
    """Trace of the Jacobian of all outputs by all inputs; None if it has no derivatives.

    Rows and columns are the entries of outputs and inputs in column-major order, as in CasADi.

    Args:
        traced: trace of the kernel.
        formula: the function that was traced.
    """

    def function(*inputs: Any) -> Any:
        results = formula.function(*inputs)
        parts = list(results.values()) if isinstance(results, dict) else [results]
        ys = [y for part in parts for y in _by_columns(part)]
        rows = jacobian(ys, [x for part in inputs for x in _by_columns(part)])
        columns = sum(x.size for x in traced.inputs)
        return np.array(rows, dtype=object).reshape(len(ys), columns)

    try:
        return trace(function, formula.inputs, f'{traced.name}_jacobian')
    except InvalidArgumentError:
        return None  # a loop, or a function with jumps


def interface(traced: Trace, derivatives: Trace | None) -> list[str]:
    """C code of the external function of a kernel, and of its Jacobian, as lines."""
    name = f'{traced.name}_casadi'
    inputs = {x.name: _rows_and_columns(x.shape) for x in traced.inputs}
    outputs = {x.name: _rows_and_columns(x.shape) for x in traced.outputs}
    lines = list(_query_functions(name, inputs, outputs, _size(inputs) + _size(outputs)))
    lines += [*_function_head(name), *_copy_inputs(traced)]
    arguments = [*_call_arguments(traced), *_output_pointers(inputs, outputs)]
    lines += [f'    {traced.name}({", ".join(arguments)});']
    for i, (place, (rows, columns)) in enumerate(
        zip(_output_pointers(inputs, outputs), outputs.values(), strict=True)
    ):
        lines += [f'    if (res[{i}])', *_copy_by_columns(f'res[{i}]', place, columns, rows)]
    lines += ['    return 0;', '}', '']
    if derivatives is None:
        return lines
    jacobian_inputs = inputs | {f'out_{x}': size for x, size in outputs.items()}
    blocks = {
        f'jac_{y}_{x}': (output_size[0] * output_size[1], input_size[0] * input_size[1])
        for y, output_size in outputs.items()
        for x, input_size in inputs.items()
    }
    width = _size(inputs)
    size = width + _size(outputs) * width
    lines += [*_static_function(derivatives), '']
    lines += _query_functions(f'jac_{name}', jacobian_inputs, blocks, size)
    lines += [*_function_head(f'jac_{name}'), *_copy_inputs(traced)]
    lines += [f'    {derivatives.name}({", ".join([*_call_arguments(traced), f"w + {width}"])});']
    row, i = 0, 0
    for output_size in outputs.values():
        column = 0
        for input_size in inputs.values():
            count = output_size[0] * output_size[1], input_size[0] * input_size[1]
            place = f'w + {width + row * width + column}'
            lines += [
                f'    if (res[{i}])',
                *_copy_by_columns(f'res[{i}]', place, count[1], count[0], width),
            ]
            column, i = column + count[1], i + 1
        row += output_size[0] * output_size[1]
    return [*lines, '    return 0;', '}', '']


def _static_function(derivatives: Trace) -> list[str]:
    """C function that computes the Jacobian, as a static function."""
    code = c_function(derivatives)
    return ['static ' + line if line == code.prototype else line for line in code.lines]


def _query_functions(name: str, inputs: Sizes, outputs: Sizes, memory: int) -> Iterator[str]:
    """C functions by which CasADi queries number, names and sizes of arguments, and work memory."""
    for direction, sizes in (('in', inputs), ('out', outputs)):
        yield f'casadi_int {name}_n_{direction}(void) {{ return {len(sizes)}; }}'
        names = ', '.join(f'"{x}"' for x in sizes)
        yield f'const char *{name}_name_{direction}(casadi_int i)'
        yield '{'
        yield f'    static const char *const names[] = {{{names}}};'
        yield f'    return i >= 0 && i < {len(sizes)} ? names[i] : 0;'
        yield '}'
        dense = ', '.join(f'{{{rows}, {columns}, 1}}' for rows, columns in sizes.values())
        yield f'const casadi_int *{name}_sparsity_{direction}(casadi_int i)'
        yield '{'
        yield f'    static const casadi_int dense[][3] = {{{dense}}};'
        yield f'    return i >= 0 && i < {len(sizes)} ? dense[i] : 0;'
        yield '}'
    yield f'int {name}_work(casadi_int *arg, casadi_int *res, casadi_int *iw, casadi_int *w)'
    yield '{'
    yield f'    if (arg) *arg = {len(inputs)};'
    yield f'    if (res) *res = {len(outputs)};'
    yield '    if (iw) *iw = 0;'
    yield f'    if (w) *w = {memory};'
    yield '    return 0;'
    yield '}'


def _function_head(name: str) -> list[str]:
    prototype = f'int {name}(const double **arg, double **res, casadi_int *iw, double *w, int mem)'
    return [prototype, '{', '    (void)iw;', '    (void)mem;']


def _copy_inputs(traced: Trace) -> Iterator[str]:
    """C code that copies inputs to the work memory in row-major order; null pointers are zero."""
    start = 0
    for i, x in enumerate(traced.inputs):
        rows, columns = _rows_and_columns(x.shape)
        yield f'    for (int i = 0; i < {rows}; ++i)'
        yield f'        for (int j = 0; j < {columns}; ++j)'
        entry = f'w[{start} + i * {columns} + j]'
        yield f'            {entry} = arg[{i}] ? arg[{i}][j * {rows} + i] : 0.0;'
        start += x.size


def _call_arguments(traced: Trace) -> Iterator[str]:
    """Inputs in a call of the kernel: scalars by value, arrays by pointer."""
    start = 0
    for x in traced.inputs:
        yield f'w + {start}' if x.shape else f'w[{start}]'
        start += x.size


def _output_pointers(inputs: Sizes, outputs: Sizes) -> Iterator[str]:
    start = _size(inputs)
    for rows, columns in outputs.values():
        yield f'w + {start}'
        start += rows * columns


def _copy_by_columns(
    target: str, place: str, columns: int, rows: int, step: int | None = None
) -> list[str]:
    """C code that copies a row-major matrix with the row stride ``step`` to a column-major one."""
    entry = f'({place})[i * {columns if step is None else step} + j]'
    return [
        f'        for (int i = 0; i < {rows}; ++i)',
        f'            for (int j = 0; j < {columns}; ++j)',
        f'                {target}[j * {rows} + i] = {entry};',
    ]


def _size(sizes: Sizes) -> int:
    return sum(rows * columns for rows, columns in sizes.values())


def _rows_and_columns(shape: Sequence[int]) -> tuple[int, int]:
    """Rows and columns of an array: a vector is a column; axes after the first are joined."""
    if not shape:
        return 1, 1
    return shape[0], int(np.prod(shape[1:]))


def _by_columns(values: Any) -> list[Any]:
    """Entries of a scalar, a vector or a matrix in column-major order."""
    array = np.array(values, dtype=object)
    return array.reshape(_rows_and_columns(array.shape)).T.ravel().tolist()
