# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Scheduling of the threads in which Fast DDS runs its timers.

Each reliable message starts a heartbeat timer. The timer thread would wake for each of the dozen
messages of a state and preempt the thread that sends the next one, which costs a fifth more CPU at
1 kHz on two busy cores. Under SCHED_BATCH, which needs no privileges, it runs after the last one.
"""

from __future__ import annotations

import os
from pathlib import Path

NAME = 'dds.ev'
"""Prefix of the names that Fast DDS 2 and 3 give these threads."""

TASKS = Path('/proc/self/task')


def schedule_timers_as_batch() -> int:
    """Schedule the timer threads of this process under SCHED_BATCH; return how many changed.

    Threads that deliver messages keep their policy, because they need short latencies on a busy
    machine. Threads that already have another policy keep it.
    """
    count = 0
    try:
        for task in TASKS.iterdir():
            number = int(task.name)
            if not (task / 'comm').read_text().startswith(NAME):
                continue
            if os.sched_getscheduler(number) == os.SCHED_OTHER:
                os.sched_setscheduler(number, os.SCHED_BATCH, os.sched_param(0))
                count += 1
    except (AttributeError, OSError, ValueError):
        pass  # another operating system, or not allowed: the nodes work without it
    return count
