"""A builtin function that chooses a kernel by the names among its arguments.

``forward_kinematics(q, frame)`` is another kernel for each frame. Which one is found in machine
code: the arguments after the arrays are compared, as objects, with those of the calls that have
been added. Whatever is not found goes, as it came, to a Python callable.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from dynamics_ros.kernels.cpython import entry_source
from dynamics_ros.kernels.cpython.entry_point import like_method
from dynamics_ros.kernels.cpython.interpreter import provide_interpreter
from dynamics_ros.kernels.llvm import compiler as llvm_compiler
from dynamics_ros.kernels.llvm.compiler import MachineCode
from dynamics_ros.kernels.llvm.dialect import Dialect
from dynamics_ros.kernels.process.lifetime import token

CAPACITY = 32
"""Calls that are remembered; looking through so many takes a fraction of what one saves."""

# Of a table: how many rows there are, the rows.
ROWS, FIRST_ROW = 0, 1
# Of a row: arguments, arrays among them, the names after them (the second 0 if there is one only),
# machine code and what it takes as its self.
COUNT, ARRAYS, NAME, SECOND_NAME, CODE, SELF = range(6)
ROW = 6


class NamedCalls:
    """A builtin that goes from names to kernels, and the table that it reads.

    Attributes:
        function: the builtin.
    """

    def __init__(self, method: Callable[..., Any]) -> None:
        """Make a function that knows no call yet.

        Args:
            method: a bound method, called with whatever is not found, as it came.

        Raises:
            CompilerUnavailableError, UnknownLayoutError: there is no machine code here.
        """
        code = _compiled()
        self._table = np.zeros(FIRST_ROW + CAPACITY * ROW, np.int64)
        self._kept: list[Any] = []
        kept = token(self._kept.clear)
        self.function = like_method(
            code.address('named_entry'), method, code.token, kept, table=self._table
        )

    def add(self, arrays: int, names: tuple[str, ...], kernel: Callable[..., Any]) -> None:
        """Let a call be machine code from now on, unless the table is full.

        Args:
            arrays: how many arguments come before the names.
            names: one or two; later calls have to give these objects.
            kernel: the builtin function of the arrays alone.
        """
        row = int(self._table[ROWS])
        if row == CAPACITY:
            return
        code = ctypes.pythonapi.PyCFunction_GetFunction
        code.restype, code.argtypes = ctypes.c_void_p, [ctypes.py_object]
        target = kernel.__self__  # type: ignore[attr-defined]
        # The kernel knows nothing of the object that the method is of, so it may be kept like this.
        self._kept.append((names, target))
        start = FIRST_ROW + row * ROW
        second = id(names[1]) if len(names) > 1 else 0
        self._table[start : start + ROW] = (
            *(arrays + len(names), arrays, id(names[0]), second),
            *(code(kernel), id(target)),
        )
        # Another thread may be reading: the row counts when it is complete.
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

    def field(name: str, row: str, place: int) -> str:
        return (
            f'{dialect.element(f"%{name}.p", "i64", row, place)}\n'
            f'  %{name} = load i64, {number} %{name}.p'
        )

    def argument(name: str, index: str) -> str:
        return (
            f'{dialect.element(f"%{name}.p", byte, "%arguments", index)}\n'
            f'  %{name}.o = load {byte}, {objects} %{name}.p\n'
            f'  %{name} = ptrtoint {byte} %{name}.o to i64'
        )

    return f"""{entry_source.declarations(entry_source.SLOW_PATH_SYMBOLS)}
define {byte} @named_entry({byte} %self, {others}) {{
entry:
{entry_source.table_pointer(dialect)}
{field('rows', '%table', ROWS)}
  %plain = icmp eq {byte} %names, null
  br i1 %plain, label %head, label %slow
head:
  %i = phi i64 [ 0, %entry ], [ %next, %other ]
  %more = icmp slt i64 %i, %rows
  br i1 %more, label %body, label %slow
body:
  %offset = mul i64 %i, {ROW}
  %first = add i64 %offset, {FIRST_ROW}
{dialect.element('%row', 'i64', '%table', '%first')}
{field('wanted', '%row', COUNT)}
  %counted = icmp eq i64 %count, %wanted
  br i1 %counted, label %look, label %other
look:
{field('arrays', '%row', ARRAYS)}
{field('name', '%row', NAME)}
{argument('given', '%arrays')}
  %same = icmp eq i64 %given, %name
  br i1 %same, label %one, label %other
one:
{field('name2', '%row', SECOND_NAME)}
  %only = icmp eq i64 %name2, 0
  br i1 %only, label %found, label %two
two:
  %last = sub i64 %count, 1
{argument('given2', '%last')}
  %same2 = icmp eq i64 %given2, %name2
  br i1 %same2, label %found, label %other
other:
  %next = add i64 %i, 1
  br label %head
found:
{field('code', '%row', CODE)}
{field('target', '%row', SELF)}
  %run = inttoptr i64 %code to {function}
  %its = inttoptr i64 %target to {byte}
  %answer = tail call {byte} %run({byte} %its, {objects} %arguments, i64 %arrays, {byte} null)
  ret {byte} %answer
slow:
{entry_source.slow_path(dialect)}
}}
"""
