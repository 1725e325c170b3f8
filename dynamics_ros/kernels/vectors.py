"""Arithmetic of vectors as kernels: what programs do between larger ones."""

from __future__ import annotations

from functools import lru_cache

from dynamics_ros.kernels.graph.tracing import trace
from dynamics_ros.kernels.kernel import Kernel

MOST = 32
"""Kernels of each kind that are kept: an order comes from whoever publishes."""


@lru_cache(maxsize=MOST)
def copy_of(size: int) -> Kernel:
    """a, of a (size)."""
    return Kernel(trace(lambda a: a, {'a': size}, 'vector_copy', 'a'))


@lru_cache(maxsize=MOST)
def ordered(order: tuple[int, ...]) -> Kernel:
    """a in another order: its element ``order[i]`` in the place i."""
    return Kernel(
        trace(lambda a: [a[i] for i in order], {'a': len(order)}, 'vector_order', 'a in order')
    )


@lru_cache(maxsize=MOST)
def sum_of(size: int) -> Kernel:
    """a + b, of a and b (size)."""
    return Kernel(
        trace(
            lambda a, b: [x + y for x, y in zip(a, b, strict=True)],
            {'a': size, 'b': size},
            'vector_sum',
            'a + b',
        )
    )


@lru_cache(maxsize=MOST)
def difference_of(size: int) -> Kernel:
    """a - b, of a and b (size)."""
    return Kernel(
        trace(
            lambda a, b: [x - y for x, y in zip(a, b, strict=True)],
            {'a': size, 'b': size},
            'vector_difference',
            'a - b',
        )
    )
