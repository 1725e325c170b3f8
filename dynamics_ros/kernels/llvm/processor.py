# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The features of a processor that decide how numerical code is written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Processor(NamedTuple):
    """The width of its vectors, and whether it multiplies and adds in one instruction.

    Attributes:
        lanes: numbers in a vector, doubles unless others are meant; 1 where vectors do not pay.
        fused: whether a*b + c is one instruction with one rounding.
    """

    lanes: int
    fused: bool


PLAIN = Processor(1, False)
"""Any processor."""


def of_target(triple: str, features: Mapping[str, bool]) -> Processor:
    """Return the features of an LLVM target.

    Args:
        triple: what LLVM calls the target, its architecture first.
        features: what LLVM found in the processor, by name.
    """
    architecture = triple.split('-', 1)[0]
    if architecture in ('aarch64', 'arm64'):
        return Processor(2, True)
    if architecture == 'x86_64' and features.get('fma') and features.get('avx2'):
        wide = features.get('avx512f') and features.get('avx512dq') and features.get('avx512vl')
        return Processor(8 if wide else 4, True)
    return PLAIN
