# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Mathematical functions of numbers, arrays and traced values, for use with ``compile``.

On numbers each function equals NumPy's function of the same meaning, so that code written with them
also runs on arrays. NumPy's own functions (``np.sin``, ``np.maximum``, ``np.where``) accept the
inputs of a traced function and values computed from them; the functions here also accept plain
lists and arrays that mix traced values and numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from dynamics_ros.kernels.graph.symbols import apply, is_symbolic, norm, symbols, where

__all__ = [
    'absolute',
    'acos',
    'array',
    'asin',
    'atan',
    'atan2',
    'cos',
    'erfc',
    'exp',
    'log',
    'maximum',
    'minimum',
    'norm',
    'sign',
    'sin',
    'sqrt',
    'tan',
    'tanh',
    'where',
]


def _elementwise(ufunc: np.ufunc, meaning: str) -> Callable[..., Any]:
    """Return a function that broadcasts as NumPy's does, also over traced values."""

    def function(*values: Any) -> Any:
        if any(map(is_symbolic, values)):
            return apply(ufunc, '__call__', values, {})
        return ufunc(*values)

    function.__doc__ = meaning
    return function


sin = _elementwise(np.sin, 'Sine of an angle in rad.')
cos = _elementwise(np.cos, 'Cosine of an angle in rad.')
tan = _elementwise(np.tan, 'Tangent of an angle in rad.')
asin = _elementwise(np.arcsin, 'Arc sine in rad; NaN outside [-1, 1].')
acos = _elementwise(np.arccos, 'Arc cosine in rad; NaN outside [-1, 1].')
atan = _elementwise(np.arctan, 'Arc tangent in rad.')
atan2 = _elementwise(np.arctan2, 'Angle in rad of the point (x, y), from y and x.')
exp = _elementwise(np.exp, 'e to the power of x.')
log = _elementwise(np.log, 'Natural logarithm; NaN below zero.')
sqrt = _elementwise(np.sqrt, 'Square root; NaN below zero.')
tanh = _elementwise(np.tanh, 'Hyperbolic tangent.')
absolute = _elementwise(np.absolute, 'Absolute value.')
sign = _elementwise(np.sign, '1 above zero, -1 below, 0 at zero.')
minimum = _elementwise(np.minimum, 'The smaller of two values.')
maximum = _elementwise(np.maximum, 'The larger of two values.')


def erfc(x: Any) -> Any:
    """Complementary error function of x."""
    # This import takes as long as that of the rest of the package.
    from scipy.special import erfc as function

    return _elementwise(function, '')(x)


def array(values: Any) -> Any:
    """Return an array of numbers and traced values that NumPy's functions accept."""
    return symbols(values) if is_symbolic(values) else np.asarray(values, dtype=np.float64)
