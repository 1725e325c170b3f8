# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The timer threads of Fast DDS are batch threads in a process of nodes; nothing depends on it."""

from __future__ import annotations

import os

import pytest

pytest.importorskip('rclpy')

from ros_harness import client, running
from shared_memory import needs_fast_dds

from dynamics_ros.nodes import process as process_of_nodes

pytestmark = pytest.mark.ros

DOMAIN = 137


def policies(pid: int) -> dict[str, set[int]]:
    """Name of the threads of a process to their scheduling policies."""
    found: dict[str, set[int]] = {}
    for task in os.listdir(f'/proc/{pid}/task'):
        with open(f'/proc/{pid}/task/{task}/comm') as comm:
            found.setdefault(comm.read().strip(), set()).add(os.sched_getscheduler(int(task)))
    return found


@needs_fast_dds
def test_only_the_timers_of_the_middleware_are_batch_threads():
    with client(DOMAIN) as ros, running('dynamics_node', DOMAIN) as process:
        ros.wait_for_report('dynamics_node')
        found = policies(process.pid)
    batch = {name for name, kinds in found.items() if kinds == {os.SCHED_BATCH}}
    assert batch
    assert all(name.startswith(process_of_nodes.DDS_TIMERS) for name in batch)
    assert {os.SCHED_OTHER} in found.values()


def test_where_threads_cannot_be_listed_nothing_happens(monkeypatch, tmp_path):
    monkeypatch.setattr(process_of_nodes, 'TASKS', tmp_path / 'none')
    assert process_of_nodes.schedule_timers_as_batch() == 0
