# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""LLVM IR function of a loop, for one state or a vector of states.

``void @<name>(numbers)`` takes a pointer to the state, which it overwrites with the final one,
followed by the captured values. In a vector, a lane that has ended keeps its state until all have.
"""

from __future__ import annotations

from dynamics_ros.kernels.graph.trace import Loop
from dynamics_ros.kernels.llvm.dialect import Dialect, splat, vector


def emit(loop: Loop, name: str, turn: str, dialect: Dialect, lanes: int) -> str:
    """Return the LLVM function that repeats the body of a loop.

    Args:
        loop: the loop.
        name: name of the function.
        turn: name of the function of its body.
        dialect: dialect of the installed LLVM.
        lanes: states of a vector.
    """
    number = dialect.number
    kind, flag = vector(lanes, number.type), vector(lanes, 'i1')
    pointer, array = dialect.pointer(kind), dialect.pointer(number.type)
    size = loop.body.outputs[0].size
    arrays = ('numbers', 'captured', 'next', 'go_on')
    lines = [
        f'define internal void @{name}({pointer} noalias %numbers) noinline nounwind {{',
        'entry:',
        dialect.element('%captured', kind, '%numbers', size),
        f'  %next = alloca {kind}, i64 {size + 1}, align 64',
        dialect.element('%go_on', kind, '%next', size),
        *[f'  %{x}.d = bitcast {pointer} %{x} to {array}' for x in arrays],
        '  br label %turn',
        'turn:',
        '  %count = phi i64 [ 1, %entry ], [ %more, %turn ]',
        f'  %going = phi {flag} [ {splat("true", lanes, "i1")}, %entry ], [ %goes, %turn ]',
        f'  call void @{turn}({", ".join(f"{array} %{x}.d" for x in arrays)})',
    ]
    for i in range(size):
        lines += [
            dialect.element(f'%n{i}.p', kind, '%next', i),
            dialect.element(f'%s{i}.p', kind, '%numbers', i),
            f'  %n{i} = load {kind}, {pointer} %n{i}.p, align {number.size}',
        ]
        last = f'%n{i}'
        if lanes > 1:
            last = f'%x{i}'
            lines += [
                f'  %s{i} = load {kind}, {pointer} %s{i}.p, align {number.size}',
                f'  {last} = select {flag} %going, {kind} %n{i}, {kind} %s{i}',
            ]
        lines.append(f'  store {kind} {last}, {pointer} %s{i}.p, align {number.size}')
    lines += [
        f'  %wish = load {kind}, {pointer} %go_on, align {number.size}',
        f'  %wishes = fcmp une {kind} %wish, zeroinitializer',
        f'  %goes = and {flag} %going, %wishes',
    ]
    some = '%goes'
    if lanes > 1:
        some = '%some'
        lines += [
            f'  %bits = bitcast {flag} %goes to i{lanes}',
            f'  %some = icmp ne i{lanes} %bits, 0',
        ]
    lines += [
        '  %more = add i64 %count, 1',
        f'  %below = icmp slt i64 %count, {loop.limit}',
        f'  %again = and i1 {some}, %below',
        '  br i1 %again, label %turn, label %done',
        'done:',
        '  ret void',
        '}',
    ]
    return '\n'.join(lines)
