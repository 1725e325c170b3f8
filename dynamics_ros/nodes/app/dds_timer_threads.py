# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Scheduling of the threads in which Fast DDS runs its timers.

Each reliable message starts a heartbeat. The thread for these would wake for every one of a dozen
messages and take the processor from the thread that sends the next: at 1 kHz on two busy cores
that costs a fifth more CPU. Under SCHED_BATCH, which needs no rights, it runs once they are out.
"""

from __future__ import annotations

import os
from pathlib import Path

NAME = 'dds.ev'
"""How Fast DDS 2 and 3 name these threads."""

TASKS = Path('/proc/self/task')


def schedule_timers_as_batch() -> int:
    """Put the timer threads of this process under SCHED_BATCH; returns how many.

    Threads that hand over messages stay as they are: on a busy machine they have to be quick.
    Where there are no such threads, or they have a policy already, nothing changes.
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
        pass  # another operating system, or not allowed: everything works without
    return count
