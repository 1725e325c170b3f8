"""Arithmetic of vectors as kernels: what programs do between larger ones."""

from __future__ import annotations

from functools import lru_cache

from dynamics_ros.kernels.graph.tracing import trace
from dynamics_ros.kernels.kernel import Kernel

MAX_KEPT = 32
"""How many kernels of each kind are kept: orders come from messages of others."""


@lru_cache(maxsize=MAX_KEPT)
def copy_of(size: int) -> Kernel:
    """The kernel that copies a vector (size)."""
    return Kernel(trace(lambda a: a, {'a': size}, 'vector_copy', 'a'))


@lru_cache(maxsize=MAX_KEPT)
def ordered(order: tuple[int, ...]) -> Kernel:
    """The kernel that reorders a vector: element i of the result is element ``order[i]``."""
    return Kernel(
        trace(lambda a: [a[i] for i in order], {'a': len(order)}, 'vector_order', 'a in order')
    )


@lru_cache(maxsize=MAX_KEPT)
def sum_of(size: int) -> Kernel:
    """The kernel that adds two vectors (size)."""
    return Kernel(
        trace(
            lambda a, b: [x + y for x, y in zip(a, b, strict=True)],
            {'a': size, 'b': size},
            'vector_sum',
            'a + b',
        )
    )


@lru_cache(maxsize=MAX_KEPT)
def difference_of(size: int) -> Kernel:
    """The kernel that subtracts two vectors (size): a - b."""
    return Kernel(
        trace(
            lambda a, b: [x - y for x, y in zip(a, b, strict=True)],
            {'a': size, 'b': size},
            'vector_difference',
            'a - b',
        )
    )
