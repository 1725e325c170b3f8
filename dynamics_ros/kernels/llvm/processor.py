# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Processor features that decide how numerical code is emitted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Processor(NamedTuple):
    """Vector width of a processor, and whether it has fused multiply-add.

    Attributes:
        lanes: numbers in a vector, doubles unless stated otherwise; 1 where vectors do not pay off.
        fused: whether a*b + c is one instruction with one rounding.
    """

    lanes: int
    fused: bool


PLAIN = Processor(1, False)
"""Baseline that any processor supports."""


def of_target(triple: str, features: Mapping[str, bool]) -> Processor:
    """Return the features of an LLVM target.

    Args:
        triple: LLVM target triple, architecture first.
        features: processor features that LLVM detected, by name.
    """
    architecture = triple.split('-', 1)[0]
    if architecture in ('aarch64', 'arm64'):
        return Processor(2, True)
    if architecture == 'x86_64' and features.get('fma') and features.get('avx2'):
        wide = features.get('avx512f') and features.get('avx512dq') and features.get('avx512vl')
        return Processor(8 if wide else 4, True)
    return PLAIN
