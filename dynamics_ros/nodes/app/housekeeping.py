"""The middleware's own timers do not interrupt answers."""

from __future__ import annotations

import os
from pathlib import Path

TIMERS = 'dds.ev'
"""What Fast DDS calls its threads for timers: heartbeats, leases."""

TASKS = Path('/proc/self/task')


def let_timers_wait() -> int:
    """Have the threads for timers not interrupt others when they wake; how many there are.

    Each reliable message sets a heartbeat going. The thread that looks after these would wake for
    every one of a dozen, and take the processor from the thread that sends them. As SCHED_BATCH,
    which needs no rights, it runs once they are out. Threads that hand over messages stay as they
    are: on a busy machine they have to be quick. Where there are no such threads, or somebody has
    given them a policy already, nothing happens.
    """
    count = 0
    try:
        for task in TASKS.iterdir():
            number = int(task.name)
            if not (task / 'comm').read_text().startswith(TIMERS):
                continue
            if os.sched_getscheduler(number) == os.SCHED_OTHER:
                os.sched_setscheduler(number, os.SCHED_BATCH, os.sched_param(0))
                count += 1
    except (AttributeError, OSError, ValueError):
        pass  # another operating system, or not allowed: everything works without
    return count
