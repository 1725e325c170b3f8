# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Memory of robots that were replaced goes back to the system."""

from __future__ import annotations

import ctypes
import threading
from pathlib import Path

import pytest

from dynamics_ros.kernels.process import system as freed_memory

pytestmark = pytest.mark.skipif(
    freed_memory._trim is None, reason='this C library has no malloc_trim'
)

BLOCK, COUNT = 2000, 50_000


def resident() -> float:
    """MB."""
    return int(Path('/proc/self/statm').read_text().split()[1]) * 4 / 1024


def test_pages_between_what_is_still_in_use_are_given_back():
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, (ctypes.c_void_p,)
    kept = []

    def use():
        blocks = [libc.malloc(BLOCK) for _ in range(COUNT)]
        for block in blocks:
            ctypes.memset(block, 1, BLOCK)
        # The last one stays, so that the end of the heap of this thread does.
        kept.append(blocks.pop())
        for block in blocks:
            libc.free(block)

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    before = resident()
    freed_memory.give_back()
    assert before - resident() > 0.5 * BLOCK * COUNT / 2**20
    libc.free(kept[0])
