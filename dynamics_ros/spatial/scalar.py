"""Elementary functions of a scalar that may be a number or a symbolic expression.

A symbolic scalar brings its own methods (``x.sin()``, ``x.where_less(y, a, b)``); a
number goes to ``math``. Algorithms written with these functions run on either.
"""

from __future__ import annotations

import math
from typing import Any

Scalar = Any
"""A float, or anything that adds, multiplies and divides like one."""


def sin(x: Scalar) -> Scalar:
    """Sine of an angle in rad."""
    return x.sin() if hasattr(x, 'sin') else math.sin(x)


def cos(x: Scalar) -> Scalar:
    """Cosine of an angle in rad."""
    return x.cos() if hasattr(x, 'cos') else math.cos(x)


def sqrt(x: Scalar) -> Scalar:
    """Square root."""
    return x.sqrt() if hasattr(x, 'sqrt') else math.sqrt(x)


def atan2(y: Scalar, x: Scalar) -> Scalar:
    """Angle of the point (x, y) in rad, in (-pi, pi]."""
    return y.atan2(x) if hasattr(y, 'atan2') else math.atan2(y, x)


def where_less(a: Scalar, b: Scalar, then: Scalar, otherwise: Scalar) -> Scalar:
    """``then`` where a < b, else ``otherwise``; both are computed, so both must be finite."""
    if hasattr(a, 'where_less'):
        return a.where_less(b, then, otherwise)
    return then if a < b else otherwise
