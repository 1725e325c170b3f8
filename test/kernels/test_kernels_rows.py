# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Rows become vectors and vectors rows in vectors of any width, whatever this processor has."""

from __future__ import annotations

import ctypes

import numpy as np
import pytest

pytest.importorskip('llvmlite')

from dynamics_ros.kernels.llvm import compiler, rows, runtime
from dynamics_ros.kernels.llvm.dialect import DOUBLE, SINGLE, Dialect, Processor

COLUMNS = range(1, 36)
"""Of every remainder by the widest block."""

ADDRESS, INTEGER = ctypes.c_void_p, ctypes.c_int64


@pytest.fixture(
    scope='module',
    params=[
        (DOUBLE, 2),
        (DOUBLE, 4),
        (DOUBLE, 8),
        (SINGLE, 2),
        (SINGLE, 4),
        (SINGLE, 8),
        (SINGLE, 16),
    ],
    ids=lambda kind: f'{kind[1]} of {kind[0].type}',
)
def moves(request):
    """Both functions, the number of lanes and the type of numbers."""
    number, lanes = request.param
    dialect = Dialect(compiler.has_opaque_pointers(), number)
    names = [rows.gather_name(lanes, number), rows.scatter_name(lanes, number)]
    code = compiler.compile_module(runtime.emit(Processor(lanes, True), dialect), names)
    shared = (ADDRESS, INTEGER, INTEGER, INTEGER, ADDRESS)
    gather = ctypes.CFUNCTYPE(ctypes.c_bool, *shared)(code.address(names[0]))
    scatter = ctypes.CFUNCTYPE(None, *shared, ADDRESS)(code.address(names[1]))
    yield gather, scatter, lanes, np.dtype(f'f{number.size}')
    del code


def aligned(shape, dtype):
    """An array that begins where the widest vector may."""
    size = int(np.prod(shape)) * dtype.itemsize
    memory = np.zeros(size + 64, np.uint8)
    first = -memory.ctypes.data % 64
    return memory[first : first + size].view(dtype).reshape(shape)


@pytest.mark.parametrize('columns', COLUMNS)
def test_each_lane_holds_a_row(moves, columns):
    gather, _, lanes, dtype = moves
    for states in range(1, lanes + 1):
        table = np.arange(states * (columns + 3), dtype=dtype).reshape(states, columns + 3)
        vectors = aligned((columns, lanes), dtype)
        finite = gather(
            table.ctypes.data, table.strides[0], states - 1, columns, vectors.ctypes.data
        )
        # Rows that do not exist repeat the last one.
        expected = table[np.minimum(np.arange(lanes), states - 1), :columns].T
        np.testing.assert_array_equal(vectors, expected)
        assert finite


def test_a_number_that_is_none_is_told_wherever_it_stands(moves):
    gather, _, lanes, dtype = moves
    for columns in (1, 5, 16, 21):
        vectors = aligned((columns, lanes), dtype)
        for place in np.ndindex(lanes, columns):
            table = np.ones((lanes, columns), dtype)
            table[place] = np.inf
            given = (table.ctypes.data, table.strides[0], lanes - 1, columns)
            assert not gather(*given, vectors.ctypes.data)


@pytest.mark.parametrize('columns', COLUMNS)
def test_each_row_holds_what_the_table_of_places_says(moves, columns):
    _, scatter, lanes, dtype = moves
    rng = np.random.default_rng(columns)
    vectors = aligned((columns + 1, lanes), dtype)
    vectors[1:] = np.arange(columns * lanes).reshape(columns, lanes)  # the first is zero
    for places in (rng.integers(columns + 1, size=columns), np.zeros(columns, int)):
        bytes_behind = (places * vectors.strides[0]).astype(np.int32)
        for states in range(1, lanes + 1):
            table = np.full((states, columns + 3), -1, dtype)
            scatter(
                table.ctypes.data, table.strides[0], states - 1, columns, vectors.ctypes.data,
                bytes_behind.ctypes.data,
            )  # fmt: skip
            expected = vectors[places].T
            # Lanes without a row repeat the last state, and are stored to its place.
            np.testing.assert_array_equal(table[:-1, :columns], expected[: states - 1])
            assert (table[:, columns:] == -1).all()
            if states == lanes:
                np.testing.assert_array_equal(table[:, :columns], expected)
