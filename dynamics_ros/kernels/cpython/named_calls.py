# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Builtin functions that select a kernel by the names among their arguments.

``forward_kinematics(q, frame)`` runs a different kernel for each frame. Machine code selects it: it
compares the arguments after the arrays, by object identity, with those of the calls in a table. A
call that is not in the table goes unchanged to a Python callable. The selected kernel gets the
arrays
and ``out=``.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from dynamics_ros.kernels.cpython import entry_source, layout
from dynamics_ros.kernels.cpython.entry_point import KEYWORD, like_method
from dynamics_ros.kernels.cpython.interpreter import provide_interpreter
from dynamics_ros.kernels.llvm import compiler as llvm_compiler
from dynamics_ros.kernels.llvm.compiler import MachineCode
from dynamics_ros.kernels.llvm.dialect import Dialect
from dynamics_ros.kernels.process.lifetime import token

CAPACITY = 32
"""Largest number of calls in a table; scanning all takes a fraction of the time that one saves."""

ARGUMENTS = 8
"""Largest number of arguments, including ``out``, that are handed to a kernel without the names."""

# Layout of a table: number of rows, rows.
ROWS, FIRST_ROW = 0, 1
# Layout of a row: number of arguments, number of arrays among them, the names after the arrays
# (the second 0 if there is only one), machine code and its self.
COUNT, ARRAYS, NAME, SECOND_NAME, CODE, SELF = range(6)
ROW = 6


class NamedCalls:
    """Builtin that looks up a kernel by names, and the table that it reads.

    Attributes:
        function: the builtin.
    """

    def __init__(self, method: Callable[..., Any]) -> None:
        """Create the builtin with an empty table.

        Args:
            method: a bound method, called unchanged with calls that are not in the table.

        Raises:
            CompilerUnavailableError, UnknownLayoutError: machine code is not available.
        """
        code = _compiled()
        self._table = np.zeros(FIRST_ROW + CAPACITY * ROW, np.int64)
        self._kept: list[Any] = []
        kept = token(self._kept.clear)
        self.function = like_method(
            code.address('named_entry'), method, code.token, kept, table=self._table
        )

    def add(self, arrays: int, names: tuple[str, ...], kernel: Callable[..., Any]) -> None:
        """Add a call to the table, unless the table is full or the call has too many arguments.

        Args:
            arrays: number of arguments before the names.
            names: one or two strings; later calls pass equal ones.
            kernel: the builtin function of the arrays alone.
        """
        row = int(self._table[ROWS])
        fits = row < CAPACITY and arrays < ARGUMENTS
        if not fits or not all(isinstance(name, str) for name in names):
            return
        code = ctypes.pythonapi.PyCFunction_GetFunction
        code.restype, code.argtypes = ctypes.c_void_p, [ctypes.py_object]
        target = kernel.__self__  # type: ignore[attr-defined]
        # The kernel has no reference to the method's object, so keeping it makes no cycle.
        self._kept.append((names, target))
        start = FIRST_ROW + row * ROW
        second = id(names[1]) if len(names) > 1 else 0
        self._table[start : start + ROW] = (
            *(arrays + len(names), arrays, id(names[0]), second),
            *(code(kernel), id(target)),
        )
        # Another thread may be reading: the row counts only once it is complete.
        self._table[ROWS] = row + 1


@lru_cache(maxsize=1)
def _compiled() -> MachineCode:
    provide_interpreter()
    dialect = llvm_compiler.platform().dialect
    return llvm_compiler.compile_module(emit(dialect), ['named_entry'])


def emit(dialect: Dialect) -> str:
    """Return the function that all tables share, of METH_FASTCALL | METH_KEYWORDS."""
    byte, number = dialect.pointer('i8'), dialect.pointer('i64')
    objects = dialect.pointer(byte)
    others = f'{objects} %arguments, i64 %count, {byte} %names'
    types = f'{byte} ({byte}, {objects}, i64, {byte})'
    function = dialect.pointer(types)
    return f"""{entry_source.declarations((*entry_source.SLOW_PATH_SYMBOLS, *_SYMBOLS))}
{_same_text(dialect)}
{_with_out(function, dialect)}
define {byte} @named_entry({byte} %self, {others}) {{
entry:
{entry_source.table_pointer(dialect)}
{_loaded('rows', '%table', ROWS, dialect)}
  %plain = icmp eq {byte} %names, null
  br i1 %plain, label %search, label %keywords
keywords:
{_is_out(dialect)}
  br i1 %is_out, label %search, label %slow
search:
  br label %same.head
{_search('same', 'search', 'equal.head', dialect)}
{_search('equal', 'same.head', 'slow', dialect)}
found:
  %row = phi {number} [ %same.row, %same.found ], [ %equal.row, %equal.found ]
{_loaded('arrays', '%row', ARRAYS, dialect)}
{_loaded('code', '%row', CODE, dialect)}
{_loaded('target', '%row', SELF, dialect)}
  %run = inttoptr i64 %code to {function}
  %its = inttoptr i64 %target to {byte}
  br i1 %plain, label %alone, label %filling
alone:
  %answer = tail call {byte} %run({byte} %its, {objects} %arguments, i64 %arrays, {byte} null)
  ret {byte} %answer
filling:
  %answer.out = call {byte} @with_out({function} %run, {byte} %its, {others}, i64 %arrays)
  ret {byte} %answer.out
slow:
{entry_source.slow_path(dialect)}
}}
"""


_SYMBOLS = ('text_type', 'text_compare', 'tuple_size')


def _is_out(dialect: Dialect) -> str:
    """Return the instructions that set %is_out: whether ``out`` is the only keyword."""
    byte = dialect.pointer('i8')
    objects = dialect.pointer(byte)
    wanted = layout.TUPLE_ITEMS + 8 * KEYWORD
    # The tuple of keywords has at least one item, so its first item may be read.
    kind = dialect.pointer(f'i64 ({byte})')
    return f"""  %sized = bitcast {byte} @{layout.symbol('tuple_size')} to {kind}
  %size = call i64 %sized({byte} %names)
  %one = icmp eq i64 %size, 1
{dialect.element('%keyword.b', 'i8', '%names', layout.TUPLE_ITEMS)}
  %keyword.p = bitcast {byte} %keyword.b to {objects}
  %keyword = load {byte}, {objects} %keyword.p
{dialect.element('%wanted.b', 'i8', '%self', wanted)}
  %wanted.p = bitcast {byte} %wanted.b to {objects}
  %wanted = load {byte}, {objects} %wanted.p
  %same_keyword = icmp eq {byte} %keyword, %wanted
  %is_out = and i1 %one, %same_keyword"""


def _with_out(function: str, dialect: Dialect) -> str:
    """Return the function that calls a kernel with the arrays and ``out``, without the names.

    Args:
        function: the type of a pointer to the kernel's machine code.
        dialect: dialect of LLVM.
    """
    byte = dialect.pointer('i8')
    objects = dialect.pointer(byte)
    others = f'{objects} %arguments, i64 %count, {byte} %names, i64 %arrays'

    def moved(name: str, index: str, place: str) -> str:
        return f"""{dialect.element(f'%{name}.from', byte, '%arguments', index)}
  %{name} = load {byte}, {objects} %{name}.from
{dialect.element(f'%{name}.to', byte, '%moved', place)}
  store {byte} %{name}, {objects} %{name}.to"""

    return f"""define internal {byte} @with_out({function} %run, {byte} %its, {others}) noinline {{
entry:
  %moved = alloca {byte}, i64 {ARGUMENTS}
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %next, %body ]
  %more = icmp slt i64 %i, %arrays
  br i1 %more, label %body, label %rest
body:
{moved('array', '%i', '%i')}
  %next = add i64 %i, 1
  br label %head
rest:
{moved('out', '%count', '%arrays')}
  %answer = call {byte} %run({byte} %its, {objects} %moved, i64 %arrays, {byte} %names)
  ret {byte} %answer
}}"""


def _search(how: str, before: str, otherwise: str, dialect: Dialect) -> str:
    """Return the blocks that search the row of a call and branch to ``found``.

    Args:
        how: 'same' compares names by object identity, 'equal' by text. The first is fast and
            nearly always succeeds; the second finds names that were built at run time.
        before: the preceding block.
        otherwise: the block to branch to if there is no such row.
        dialect: dialect of LLVM.
    """

    def field(name: str, place: int) -> str:
        return _loaded(f'{how}.{name}', f'%{how}.row', place, dialect)

    def compared(flag: str, given: str, name: str) -> str:
        if how == 'same':
            return f'  %{flag} = icmp eq i64 %{given}, %{name}'
        return f'  %{flag} = call i1 @same_text(i64 %{given}, i64 %{name})'

    return f"""{how}.head:
  %{how}.i = phi i64 [ 0, %{before} ], [ %{how}.next, %{how}.other ]
  %{how}.more = icmp slt i64 %{how}.i, %rows
  br i1 %{how}.more, label %{how}.body, label %{otherwise}
{how}.body:
  %{how}.offset = mul i64 %{how}.i, {ROW}
  %{how}.first = add i64 %{how}.offset, {FIRST_ROW}
{dialect.element(f'%{how}.row', 'i64', '%table', f'%{how}.first')}
{field('wanted', COUNT)}
  %{how}.counted = icmp eq i64 %count, %{how}.wanted
  br i1 %{how}.counted, label %{how}.look, label %{how}.other
{how}.look:
{field('arrays', ARRAYS)}
{field('name', NAME)}
{_argument(f'{how}.given', f'%{how}.arrays', dialect)}
{compared(f'{how}.is', f'{how}.given', f'{how}.name')}
  br i1 %{how}.is, label %{how}.one, label %{how}.other
{how}.one:
{field('name2', SECOND_NAME)}
  %{how}.only = icmp eq i64 %{how}.name2, 0
  br i1 %{how}.only, label %{how}.found, label %{how}.two
{how}.two:
  %{how}.last = sub i64 %count, 1
{_argument(f'{how}.given2', f'%{how}.last', dialect)}
{compared(f'{how}.is2', f'{how}.given2', f'{how}.name2')}
  br i1 %{how}.is2, label %{how}.found, label %{how}.other
{how}.other:
  %{how}.next = add i64 %{how}.i, 1
  br label %{how}.head
{how}.found:
  br label %found"""


def _loaded(name: str, row: str, place: int, dialect: Dialect) -> str:
    """Return the instructions that load a number of the table."""
    return (
        f'{dialect.element(f"%{name}.p", "i64", row, place)}\n'
        f'  %{name} = load i64, {dialect.pointer("i64")} %{name}.p'
    )


def _argument(name: str, index: str, dialect: Dialect) -> str:
    """Return the instructions that load the address of an argument."""
    byte = dialect.pointer('i8')
    return (
        f'{dialect.element(f"%{name}.p", byte, "%arguments", index)}\n'
        f'  %{name}.o = load {byte}, {dialect.pointer(byte)} %{name}.p\n'
        f'  %{name} = ptrtoint {byte} %{name}.o to i64'
    )


def _same_text(dialect: Dialect) -> str:
    """Return the function that tests whether an object is a string equal to a known one."""
    byte = dialect.pointer('i8')
    compare = dialect.pointer(f'i32 ({byte}, {byte})')
    return f"""define internal i1 @same_text(i64 %given, i64 %known) {{
  %a = inttoptr i64 %given to {byte}
  %b = inttoptr i64 %known to {byte}
{dialect.element('%type.b', 'i8', '%a', layout.OBJECT_TYPE)}
  %type.p = bitcast {byte} %type.b to {dialect.pointer(byte)}
  %type = load {byte}, {dialect.pointer(byte)} %type.p
  %is_text = icmp eq {byte} %type, @{layout.symbol('text_type')}
  br i1 %is_text, label %text, label %no
text:
  %compare = bitcast {byte} @{layout.symbol('text_compare')} to {compare}
  %order = call i32 %compare({byte} %a, {byte} %b)
  %equal = icmp eq i32 %order, 0
  ret i1 %equal
no:
  ret i1 false
}}"""
