# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Check whether this process may run machine code that it writes.

A systemd service under ``MemoryDenyWriteExecute`` may not, nor a process that SELinux denies
``execmem``. LLVM does not notice, and the first call of compiled code crashes the process.
"""

from __future__ import annotations

import ctypes
import mmap
import os
import sys

READ_EXECUTE = 1 | 4
"""PROT_READ, PROT_EXEC."""


def why_forbidden() -> str:
    """Return why machine code made in this process would not run; '' if it would."""
    if not sys.platform.startswith('linux'):
        return ''
    mprotect = ctypes.CDLL(None, use_errno=True).mprotect
    mprotect.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
    with mmap.mmap(-1, mmap.PAGESIZE) as page:
        # Same order as LLVM: pages are written first and made executable then.
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
