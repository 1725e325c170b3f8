# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Messages of two publishers that take turns."""

from __future__ import annotations

import numpy as np

START = 10**18
"""ns"""

LEFT, RIGHT = np.array([0, 1]), np.array([2, 3])
"""Quantities of each."""


def taking_turns(
    period: int, shift: int, count: int, by_stamp: bool, chance: float = 0.0, start: int = START
):
    """Two publishers: (stamp, quantities) in the order in which they come in, and whole cycles.

    Args:
        period: of each [ns].
        shift: of the stamps of the second [ns].
        count: cycles.
        by_stamp: whether the second samples as much later as its stamps say; else its clock is off.
        chance: that a message is lost, and that it comes after the next one.
        start: first stamp of the first [ns].
    """
    rng, messages, whole = np.random.default_rng(abs(shift)), [], np.ones(count, dtype=bool)
    for which, offset in ((LEFT, 0), (RIGHT, shift)):
        kept = rng.random(count) >= chance
        whole &= kept
        sent = [start + k * period + offset for k in range(count) if kept[k]]
        came = [stamp - (0 if by_stamp else offset) for stamp in sent]
        for k in range(len(sent) - 1):
            if rng.random() < chance:
                sent[k], sent[k + 1] = sent[k + 1], sent[k]
        messages += [(*both, which) for both in zip(came, sent, strict=True)]
    messages.sort(key=lambda message: message[0])
    return [(stamp, which) for _, stamp, which in messages], int(whole.sum())
