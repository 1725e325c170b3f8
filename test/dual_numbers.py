# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Numbers that carry their time derivative: what runs on any scalar is differentiated exactly."""

from __future__ import annotations

import math


class Dual:
    """A value and its rate; rates follow the chain rule, without the error of a difference."""

    def __init__(self, value, rate=0.0):
        self.value = value
        self.rate = rate

    def __add__(self, other):
        other = dual(other)
        return Dual(self.value + other.value, self.rate + other.rate)

    __radd__ = __add__

    def __neg__(self):
        return Dual(-self.value, -self.rate)

    def __sub__(self, other):
        return self + -dual(other)

    def __rsub__(self, other):
        return dual(other) - self

    def __mul__(self, other):
        other = dual(other)
        return Dual(self.value * other.value, self.rate * other.value + self.value * other.rate)

    __rmul__ = __mul__

    def __truediv__(self, other):
        other = dual(other)
        quotient = self.value / other.value
        return Dual(quotient, (self.rate - quotient * other.rate) / other.value)

    def __rtruediv__(self, other):
        return dual(other) / self

    def sin(self):
        return Dual(math.sin(self.value), math.cos(self.value) * self.rate)

    def cos(self):
        return Dual(math.cos(self.value), -math.sin(self.value) * self.rate)

    def sqrt(self):
        root = math.sqrt(self.value)
        return Dual(root, 0.5 * self.rate / root)

    def atan2(self, x):
        x = dual(x)
        squared = self.value**2 + x.value**2
        return Dual(
            math.atan2(self.value, x.value),
            (x.value * self.rate - self.value * x.rate) / squared,
        )

    def where_less(self, other, then, otherwise):
        return dual(then if self.value < dual(other).value else otherwise)


def dual(x):
    """A dual number of a dual number or a constant."""
    return x if isinstance(x, Dual) else Dual(x)


def moving(values, rates):
    """Numbers that change at rates."""
    return [Dual(float(value), float(rate)) for value, rate in zip(values, rates, strict=True)]


def rates(nested):
    """The rates of nested rows of dual numbers."""
    return [dual(x).rate if _is_scalar(x) else rates(x) for x in nested]


def values(nested):
    """The values of nested rows of dual numbers."""
    return [dual(x).value if _is_scalar(x) else values(x) for x in nested]


def _is_scalar(x):
    return isinstance(x, (Dual, int, float))
