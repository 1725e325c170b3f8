# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Whether this process may run what it has written.

A service under ``MemoryDenyWriteExecute`` of systemd may not, nor a process that SELinux denies
``execmem``: LLVM takes no notice of that, and the first call of what it compiled ends the process.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys

READ_EXECUTE = 1 | 4
"""PROT_READ, PROT_EXEC."""


def why_forbidden() -> str:
    """Why machine code that is made in this process would not run; '' where it would."""
    if not sys.platform.startswith('linux'):
        return ''
    mprotect = ctypes.CDLL(None, use_errno=True).mprotect
    mprotect.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    with mmap.mmap(-1, mmap.PAGESIZE) as page:
        # As LLVM does it: pages are written first and made executable then.
        start = ctypes.c_char.from_buffer(page)
        refused = mprotect(ctypes.addressof(start), mmap.PAGESIZE, READ_EXECUTE)
        reason = os.strerror(ctypes.get_errno()) if refused else ''
        del start  # else the page cannot be closed
    if not refused:
        return ''
    return (
        f'this process may not run memory that it has written ({reason}): allow that, such as by '
        'MemoryDenyWriteExecute=no for a service of systemd'
    )
