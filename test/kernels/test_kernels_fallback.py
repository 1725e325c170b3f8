# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What cannot be compiled runs as plain Python, and one log line says why."""

from __future__ import annotations

import logging
import sys

import numpy as np
import pytest

from dynamics_ros.kernels import Kernel, compilation, trace
from dynamics_ros.kernels import machine_code as llvm_backend
from dynamics_ros.kernels.cpython import layout as interpreter_layout
from dynamics_ros.kernels.cpython.layout import UnknownLayoutError
from dynamics_ros.kernels.llvm import compiler as llvm_compiler


def traced_affine():
    return trace(
        lambda A, x, s: [s * (row[0] * x[0] + row[1] * x[1]) for row in A],
        {'A': (3, 2), 'x': 2, 's': ()},
        'affine',
        's * A x',
    )


@pytest.fixture(autouse=True)
def _nothing_was_said_yet():
    compilation._warn_once.cache_clear()


def assert_plain(caplog, reason):
    with caplog.at_level(logging.INFO, 'dynamics_ros.kernels'):
        kernel, again = Kernel(traced_affine()), Kernel(traced_affine())
    assert kernel.backend == again.backend == 'python'
    messages = [x.getMessage() for x in caplog.records if x.levelno == logging.WARNING]
    assert len(messages) == 1
    assert reason in messages[0]
    np.testing.assert_array_equal(kernel(np.ones((3, 2)), [1.0, 2.0], 1.0), 3.0)


def test_without_llvmlite(monkeypatch, caplog):
    monkeypatch.setitem(sys.modules, 'llvmlite', None)
    assert_plain(caplog, 'llvmlite cannot be imported')


def test_when_the_compiler_fails(monkeypatch, caplog):
    def broken(*_):
        raise RuntimeError('no such processor')

    monkeypatch.setattr(llvm_compiler, 'object_code', broken)
    assert_plain(caplog, 'affine runs as plain Python, which is slower: no such processor')


def test_when_machine_code_is_wrong(monkeypatch, caplog):
    true_emit = llvm_backend.trace_module

    def wrong_emit(*arguments):
        return true_emit(*arguments).replace('fmul', 'fadd')

    monkeypatch.setattr(llvm_backend, 'trace_module', wrong_emit)
    assert_plain(caplog, 'disagrees with the plain trace')


def test_of_the_entry_point_alone(monkeypatch, caplog):
    def unknown():
        raise UnknownLayoutError('another interpreter')

    monkeypatch.setattr(interpreter_layout, 'addresses', unknown)
    with caplog.at_level(logging.INFO, 'dynamics_ros.kernels'):
        kernel = Kernel(traced_affine(), 'llvm')
    assert kernel.backend == 'llvm'
    assert 'another interpreter' in caplog.text
    np.testing.assert_array_equal(kernel(np.ones((3, 2)), [1.0, 2.0], 1.0), 3.0)
