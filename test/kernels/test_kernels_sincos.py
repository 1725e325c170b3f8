# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Sine and cosine of compiled kernels are right to the last bits, for every angle of a joint."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from dynamics_ros.kernels import Kernel, trace
from dynamics_ros.kernels.llvm import compiler as llvm_compiler
from dynamics_ros.kernels.llvm import sincos as llvm_sincos
from dynamics_ros.kernels.llvm.dialect import Dialect

ULPS = 0.85
"""Rounding the result takes half a unit in the last place; the polynomials and the last sum take
some of the rest, and 0.75 is the largest that was ever seen."""

llvm_compiler.load()
WIDTHS = [1] + [w for w in (2, 4, 8) if w <= llvm_compiler.platform().processor.lanes]


def sines_and_cosines(angles, width):
    """Compute with the function of so many angles at once, which a trace of so many uses."""
    kernel = Kernel(
        trace(
            lambda x: {'s': [e.sin() for e in x], 'c': [e.cos() for e in x]},
            {'x': width},
            'circle',
        ),
        'llvm',
    )
    assert f'@{llvm_sincos.name(width)}(' in kernel_text(kernel)
    rows = np.resize(angles, (-(-len(angles) // width), width))
    results = [kernel.call(row) for row in rows]
    return [np.concatenate([x[i] for x in results])[: len(angles)] for i in (0, 1)]


def kernel_text(kernel):
    from dynamics_ros.kernels.llvm import source as llvm_source

    return llvm_source.emit(kernel.trace, *llvm_compiler.platform())


def errors_in_ulps(computed, function, angles):
    with mpmath.workprec(250):
        exact = [function(mpmath.mpf(float(x))) for x in angles]
        return [
            float(abs(mpmath.mpf(float(y)) - e) / math.ulp(float(e)))
            for y, e in zip(computed, exact)
        ]


def angles_of(kind):
    rng = np.random.default_rng(0)
    if kind == 'of a joint':
        return rng.uniform(-2 * np.pi, 2 * np.pi, 1500)
    if kind == 'after many turns':
        return rng.uniform(-llvm_sincos.LIMIT, llvm_sincos.LIMIT, 1000)
    if kind == 'beyond the limit':
        return np.concatenate(
            [rng.uniform(1.0, 100.0, 200) * llvm_sincos.LIMIT, 10.0 ** rng.uniform(7, 60, 100)]
        )
    if kind == 'tiny':
        return np.concatenate([10.0 ** rng.uniform(-307, -3, 500), [5e-324, 0.0]])
    turns = np.concatenate([np.arange(-40, 41), rng.integers(-660_000, 660_000, 400)])
    middle = turns * (np.pi / 2)
    return np.concatenate([middle, np.nextafter(middle, np.inf), np.nextafter(middle, -np.inf)])


KINDS = ['of a joint', 'after many turns', 'beyond the limit', 'tiny', 'near a quarter turn']


@pytest.mark.parametrize('kind', KINDS)
def test_are_exact_for_angles(kind):
    angles = angles_of(kind)
    sines, cosines = sines_and_cosines(angles, WIDTHS[-1])
    # Beyond the limit it is the mathematical library, which promises one unit.
    allowed = 1.0 if kind == 'beyond the limit' else ULPS
    assert max(errors_in_ulps(sines, mpmath.sin, angles)) <= allowed
    assert max(errors_in_ulps(cosines, mpmath.cos, angles)) <= allowed


def test_are_odd_and_even_to_the_bit():
    angles = np.concatenate([angles_of(kind)[:300] for kind in KINDS])
    s, c = sines_and_cosines(angles, WIDTHS[-1])
    minus_s, same_c = sines_and_cosines(-angles, WIDTHS[-1])
    np.testing.assert_array_equal(minus_s, -s)
    np.testing.assert_array_equal(same_c, c)


def test_are_computed_by_libm_where_there_is_no_fused_multiply_add():
    width = 4
    text = llvm_sincos.emit(width, Dialect(True), fused=False)
    assert '@llvm.fma' not in text
    loop = f"""
define void @run(ptr %x, ptr %s, ptr %c) {{
  %v = load <{width} x double>, ptr %x, align 8
  call void @{llvm_sincos.name(width)}(<{width} x double> %v, ptr %s, ptr %c)
  ret void
}}"""
    if not llvm_compiler.has_opaque_pointers():
        pytest.skip('this LLVM writes pointers in another way')
    declared = '\n'.join(dict.fromkeys(llvm_sincos.declarations(width)))
    code = llvm_compiler.compile_module(declared + text + loop, ['run'])
    import ctypes

    run = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(code.address('run'))
    x, s, c = np.array([0.5, -3.0, 1e6, 1e20]), np.zeros(4), np.zeros(4)
    run(x.ctypes.data, s.ctypes.data, c.ctypes.data)
    np.testing.assert_array_equal(s, [math.sin(e) for e in x])
    np.testing.assert_array_equal(c, [math.cos(e) for e in x])
