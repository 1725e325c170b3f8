# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Traces functions of scalars once and compiles them to machine code.

The subpackages are the stages: ``graph`` (a computation as data), ``autodiff``, ``source`` and
``llvm`` (printing as Python, C and LLVM IR), ``process`` and ``cpython`` (loading machine code into
a process and calling it from Python). The modules here combine them: kernels, programs of kernels,
batches, threads and the self test. Independent of robots; may import ``errors``.
"""

from dynamics_ros.kernels.autodiff.derivative import derivative
from dynamics_ros.kernels.autodiff.sweeps import gradient, jacobian
from dynamics_ros.kernels.compiled_function import compile
from dynamics_ros.kernels.cpython.named_calls import NamedCalls
from dynamics_ros.kernels.graph.expression import Condition, Expression, Scalar, select
from dynamics_ros.kernels.graph.trace import Trace, Unanswered, Variable
from dynamics_ros.kernels.graph.tracing import Requirement, trace
from dynamics_ros.kernels.in_turn import InTurn
from dynamics_ros.kernels.kernel import Kernel
from dynamics_ros.kernels.llvm.source import llvm_ir
from dynamics_ros.kernels.program import Copy, Program, Step
from dynamics_ros.kernels.source.c import c_source
from dynamics_ros.kernels.source.plain_function import PlainFunction
from dynamics_ros.kernels.source.python import python_source
from dynamics_ros.kernels.threads import set_thread_count, thread_count

__all__ = [
    'Condition',
    'Copy',
    'Expression',
    'InTurn',
    'Kernel',
    'NamedCalls',
    'PlainFunction',
    'Program',
    'Requirement',
    'Scalar',
    'Step',
    'Trace',
    'Unanswered',
    'Variable',
    'c_source',
    'compile',
    'derivative',
    'gradient',
    'jacobian',
    'llvm_ir',
    'python_source',
    'select',
    'set_thread_count',
    'thread_count',
    'trace',
]
