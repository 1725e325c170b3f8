# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""LLVM IR of the handler through which XLA calls a kernel's machine code without Python.

``handler`` has the signature of XLA's foreign function interface. Structures and constants are
those of major version 0 of its public header ``xla/ffi/api/c_api.h``. If XLA queries the metadata
of the handler, it returns the version. Otherwise it reads the addresses of the arrays and calls the
machine code. If that is not possible (the code is not compiled yet, or a state is rejected), it
calls a Python function, which computes the results or returns an error message.

The module is the same for all kernels. Data of a kernel are in a table of 64-bit integers, whose
address is set when the code is loaded.
"""

from __future__ import annotations

from collections.abc import Sequence

from dynamics_ros.kernels.llvm.dialect import Dialect

TABLE = 'dynamics_ros_xla_table'

VERSION, ONE_BY_ONE, MANY, SCRATCH, THRESHOLD, SLOW_PATH, BOUND, BYTES = range(8)
INPUTS, OUTPUTS, SIZES = range(8, 11)
"""Indices of the table.

VERSION: minor version of the interface, which XLA compares with its version.
ONE_BY_ONE, MANY: addresses of ``batch`` of `llvm.source` and `llvm.batch`; 0 if not compiled yet.
SCRATCH: size of the scratch memory of MANY in bytes.
THRESHOLD: number of states from which MANY is called.
SLOW_PATH: address of the Python function. It takes the number of states and the addresses of the
    arrays, and returns the address of an error message, or 0 if it has filled the results.
BOUND: address of the values of the bound input, or 0.
BYTES: size of a number in bytes.
INPUTS, OUTPUTS: number of input and output arrays.
SIZES: start of the sizes of all arrays, in numbers per state.
"""

ALIGNMENT = 64
"""Alignment of the scratch memory in bytes, the size of the largest vectors."""

# XLA_FFI_CallFrame, with the arrays of pointers in its XLA_FFI_Args and XLA_FFI_Rets
FRAME_EXTENSION, FRAME_API, FRAME_ARGUMENTS, FRAME_RESULTS = 8, 16, 72, 112
# XLA_FFI_Metadata_Extension and the XLA_FFI_Metadata that it points to
EXTENSION_TYPE, EXTENSION_METADATA = 8, 24
METADATA_MAJOR, METADATA_MINOR, METADATA_TRAITS = 24, 28, 32
METADATA_EXTENSION = 1
# XLA_FFI_Api
API_ERROR_CREATE = 48
# XLA_FFI_Buffer
BUFFER_DATA, BUFFER_RANK, BUFFER_DIMENSIONS = 24, 32, 40
# XLA_FFI_Error_Create_Args
ERROR_SIZE, ERROR_MESSAGE, ERROR_CODE = 28, 16, 24
INVALID_ARGUMENT = 3


MAJOR = 0
"""Major version of the interface with these structures; minor versions only append to them."""


def table(minor: int, inputs: Sequence[int], outputs: Sequence[int]) -> list[int]:
    """Return the table of a kernel without compiled code.

    Args:
        minor: minor version of XLA's interface.
        inputs, outputs: sizes of the arrays, in numbers per state.
    """
    values = [0] * SIZES
    values[VERSION], values[INPUTS], values[OUTPUTS] = minor, len(inputs), len(outputs)
    return [*values, *inputs, *outputs]


def emit(dialect: Dialect) -> str:
    """Return the LLVM module with ``handler``; it needs malloc and free of the C library."""
    integer_pointer = dialect.pointer('i64')

    # Addresses are integers, and converted to pointers only to read, write or call.
    def load(name: str, base: str, offset: int, kind: str = 'i64') -> str:
        pointer = dialect.pointer(kind)
        return f"""  {name}.at = add i64 {base}, {offset}
  {name}.p = inttoptr i64 {name}.at to {pointer}
  {name} = load {kind}, {pointer} {name}.p"""

    def store(value: str | int, base: str, offset: int, name: str, kind: str = 'i64') -> str:
        pointer = dialect.pointer(kind)
        return f"""  {name}.at = add i64 {base}, {offset}
  {name}.p = inttoptr i64 {name}.at to {pointer}
  store {kind} {value}, {pointer} {name}.p"""

    def call(name: str, function: str, *arguments: str) -> str:
        kind = dialect.pointer(f'i64 ({", ".join(["i64"] * len(arguments))})')
        return f"""  {name}.f = inttoptr i64 {function} to {kind}
  {name} = call i64 {name}.f({', '.join(f'i64 {x}' for x in arguments)})"""

    def element(base: str, index: str, name: str) -> str:
        return f"""  {name}.o = mul i64 {index}, 8
  {name} = add i64 {base}, {name}.o"""

    return f"""
@{TABLE} = external global i8
declare i64 @malloc(i64)
declare void @free(i64)

; Notes where arrays are and how far their states are apart; returns how many states there are, or
; what was known of that, as an array without elements tells nothing.
define internal i64 @arrays(i64 %buffers, i64 %count, i64 %sizes, i64 %bytes, i64 %known,
    i64 %addresses, i64 %strides) nounwind {{
entry:
  br label %head
head:
  %i = phi i64 [ 0, %entry ], [ %i.next, %noted ]
  %states = phi i64 [ %known, %entry ], [ %reported, %noted ]
  %more = icmp slt i64 %i, %count
  br i1 %more, label %body, label %done
body:
{element('%buffers', '%i', '%b')}
{load('%buffer', '%b', 0)}
{load('%data', '%buffer', BUFFER_DATA)}
{load('%rank', '%buffer', BUFFER_RANK)}
{load('%dimensions', '%buffer', BUFFER_DIMENSIONS)}
{element('%sizes', '%i', '%s')}
{load('%size', '%s', 0)}
  %stride = mul i64 %size, %bytes
{element('%addresses', '%i', '%a')}
{store('%data', '%a', 0, '%address')}
{element('%strides', '%i', '%t')}
{store('%stride', '%t', 0, '%step')}
  br label %axes
axes:
  %j = phi i64 [ 0, %body ], [ %j.next, %axis ]
  %total = phi i64 [ 1, %body ], [ %total.next, %axis ]
  %left = icmp slt i64 %j, %rank
  br i1 %left, label %axis, label %counted
axis:
{element('%dimensions', '%j', '%d')}
{load('%extent', '%d', 0)}
  %total.next = mul i64 %total, %extent
  %j.next = add i64 %j, 1
  br label %axes
counted:
  %empty = icmp eq i64 %size, 0
  br i1 %empty, label %noted, label %telling
telling:
  %found = sdiv i64 %total, %size
  br label %noted
noted:
  %reported = phi i64 [ %states, %counted ], [ %found, %telling ]
  %i.next = add i64 %i, 1
  br label %head
done:
  ret i64 %states
}}

define i64 @handler(i64 %frame) nounwind {{
entry:
{load('%extension', '%frame', FRAME_EXTENSION)}
  %extended = icmp ne i64 %extension, 0
  br i1 %extended, label %ask, label %run
ask:
{load('%type', '%extension', EXTENSION_TYPE, 'i32')}
  %requested = icmp eq i32 %type, {METADATA_EXTENSION}
  br i1 %requested, label %describe, label %run
describe:
{load('%metadata', '%extension', EXTENSION_METADATA)}
  %table.requested = ptrtoint {dialect.pointer('i8')} @{TABLE} to i64
{load('%minor.wide', '%table.requested', 8 * VERSION)}
  %minor = trunc i64 %minor.wide to i32
{store(MAJOR, '%metadata', METADATA_MAJOR, '%m.major', 'i32')}
{store('%minor', '%metadata', METADATA_MINOR, '%m.minor', 'i32')}
{store(0, '%metadata', METADATA_TRAITS, '%m.traits', 'i32')}
  ret i64 0

run:
  %table = ptrtoint {dialect.pointer('i8')} @{TABLE} to i64
{load('%inputs', '%table', 8 * INPUTS)}
{load('%outputs', '%table', 8 * OUTPUTS)}
{load('%bytes', '%table', 8 * BYTES)}
{load('%bound', '%table', 8 * BOUND)}
  %both = add i64 %inputs, %outputs
  %room = add i64 %both, 1
  %addresses.p = alloca i64, i64 %room
  %addresses = ptrtoint {integer_pointer} %addresses.p to i64
  %strides.p = alloca i64, i64 %room
  %strides = ptrtoint {integer_pointer} %strides.p to i64
  %sizes.in = add i64 %table, {8 * SIZES}
{load('%given', '%frame', FRAME_ARGUMENTS)}
  %known = call i64 @arrays(i64 %given, i64 %inputs, i64 %sizes.in, i64 %bytes, i64 0,
    i64 %addresses, i64 %strides)
{element('%addresses', '%inputs', '%hidden')}
{store('%bound', '%hidden', 0, '%hidden.address')}
{element('%strides', '%inputs', '%hidden.stride')}
{store(0, '%hidden.stride', 0, '%hidden.step')}
  %has.bound = icmp ne i64 %bound, 0
  %one = zext i1 %has.bound to i64
  %first = add i64 %inputs, %one
{element('%sizes.in', '%inputs', '%sizes.out')}
{element('%addresses', '%first', '%addresses.out')}
{element('%strides', '%first', '%strides.out')}
{load('%wanted', '%frame', FRAME_RESULTS)}
  %states = call i64 @arrays(i64 %wanted, i64 %outputs, i64 %sizes.out, i64 %bytes, i64 %known,
    i64 %addresses.out, i64 %strides.out)
{load('%threshold', '%table', 8 * THRESHOLD)}
  %are.many = icmp sge i64 %states, %threshold
  br i1 %are.many, label %many, label %few

few:
{load('%single', '%table', 8 * ONE_BY_ONE)}
  %has.single = icmp ne i64 %single, 0
  br i1 %has.single, label %compute.few, label %slow
compute.few:
{call('%done.few', '%single', '%states', '%addresses', '%strides')}
  %all.few = icmp eq i64 %done.few, %states
  br i1 %all.few, label %end, label %slow

many:
{load('%vectors', '%table', 8 * MANY)}
  %has.vectors = icmp ne i64 %vectors, 0
  br i1 %has.vectors, label %allocate, label %slow
allocate:
{load('%scratch.size', '%table', 8 * SCRATCH)}
  %scratch.room = add i64 %scratch.size, {ALIGNMENT}
  %scratch = call i64 @malloc(i64 %scratch.room)
  %has.scratch = icmp ne i64 %scratch, 0
  br i1 %has.scratch, label %compute.many, label %slow
compute.many:
  %scratch.end = add i64 %scratch, {ALIGNMENT - 1}
  %aligned = and i64 %scratch.end, {-ALIGNMENT}
{call('%done.many', '%vectors', '%states', '%addresses', '%strides', '%aligned')}
  call void @free(i64 %scratch)
  %all.many = icmp eq i64 %done.many, %states
  br i1 %all.many, label %end, label %slow

slow:
{load('%python', '%table', 8 * SLOW_PATH)}
{call('%message', '%python', '%states', '%addresses')}
  %refused = icmp ne i64 %message, 0
  br i1 %refused, label %refuse, label %end
refuse:
  %error.p = alloca i64, i64 4
  %error = ptrtoint {integer_pointer} %error.p to i64
{store(ERROR_SIZE, '%error', 0, '%error.size')}
{store(0, '%error', 8, '%error.extension')}
{store('%message', '%error', ERROR_MESSAGE, '%error.message')}
{store(INVALID_ARGUMENT, '%error', ERROR_CODE, '%error.code', 'i32')}
{load('%api', '%frame', FRAME_API)}
{load('%create', '%api', API_ERROR_CREATE)}
{call('%made', '%create', '%error')}
  ret i64 %made
end:
  ret i64 0
}}
"""
