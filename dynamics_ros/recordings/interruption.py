# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Signals that end a command: each interrupts it as Ctrl-C does, so that it cleans up."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

SIGNALS = signal.SIGTERM, signal.SIGHUP
"""Of ``kill``, service managers and job schedulers, and of a terminal that closes."""


@contextmanager
def interrupted_by_signals() -> Iterator[None]:
    """Raise KeyboardInterrupt on SIGTERM and SIGHUP.

    Signals that are ignored, as by nohup, or handled otherwise stay so. In another thread than the
    main one nothing changes, because Python handles signals in the main thread only.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ours = [one for one in SIGNALS if signal.getsignal(one) is signal.SIG_DFL]
    for one in ours:
        signal.signal(one, signal.default_int_handler)
    try:
        yield
    finally:
        for one in ours:
            signal.signal(one, signal.SIG_DFL)
