# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Signals that end a process."""

from __future__ import annotations

import signal


def ending_signals() -> tuple[signal.Signals, ...]:
    """Return SIGINT, SIGTERM, and SIGHUP unless that is ignored, as under nohup."""
    hangup = getattr(signal, 'SIGHUP', None)
    if hangup is None or signal.getsignal(hangup) is signal.SIG_IGN:
        return signal.SIGINT, signal.SIGTERM
    return signal.SIGINT, signal.SIGTERM, hangup
