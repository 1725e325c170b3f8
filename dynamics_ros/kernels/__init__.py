# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Traces functions of scalars once and compiles them to machine code.

The subpackages are ``graph`` (a computation as data), ``llvm`` (LLVM IR and its compiler) and
``process`` (forks, the compiler queue, files on disk). The modules here are derivatives, text in
Python and C, kernels with their compilation and calls (``kernel.py`` and the extension module
``_native.c``), functions of a user (``math.py``), and programs of kernels.
Independent of robots; may import ``errors``.
"""

from dynamics_ros.kernels import math
from dynamics_ros.kernels.autodiff import derivative, jacobian
from dynamics_ros.kernels.graph.expression import Condition, Expression, Scalar, select
from dynamics_ros.kernels.graph.trace import Trace, Variable, trace
from dynamics_ros.kernels.kernel import Kernel, call_path
from dynamics_ros.kernels.llvm.source import llvm_ir
from dynamics_ros.kernels.math import compile
from dynamics_ros.kernels.source import c_source, python_source

__all__ = [
    'Condition',
    'Expression',
    'Kernel',
    'Scalar',
    'Trace',
    'Variable',
    'c_source',
    'call_path',
    'compile',
    'derivative',
    'jacobian',
    'llvm_ir',
    'math',
    'python_source',
    'select',
    'trace',
]


def __dir__() -> list[str]:
    return sorted(__all__)
