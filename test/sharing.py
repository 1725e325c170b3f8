# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""How the processes of a run with ``-n`` share its test files, also when one of them crashes.

Tests of nodes mostly wait, for processes of their own. With ``-n 3`` two processes have those, and
a third what needs no nodes, with what the others leave of the processors.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

NODES = re.compile(r'\b(ros_harness|rclpy|benchmarks\.timing)\b')
"""What a file names that waits for processes of its own, or measures them."""

MOVING = re.compile(r'\b(impedance_harness|servo_harness|robot_simulator|dynamics_ros\.demo)\b')
"""What a file names beside that in which robots move by commands, in real time."""


@cache
def _turn(file: Path) -> int:
    """When a file has its turn: 0: robots move, 1: without nodes, 2: other nodes."""
    text = file.read_text()
    return 1 if not NODES.search(text) else 0 if MOVING.search(text) else 2


FOREMOST = 2
"""Processes that have tests of nodes; what runs beside them is less urgent."""

NICENESS = 3
"""Niceness of the other processes; 10 would leave them next to nothing beside eight busy ones."""


class Turns:
    """Orders the files of a run that several processes share, and runs some less urgently."""

    def __init__(self, urgent: bool) -> None:
        self._urgent = urgent

    def pytest_collection_finish(self) -> None:
        """Lower the priority, but not before all processes have the same list of tests."""
        if not self._urgent:
            os.nice(NICENESS)

    @staticmethod
    def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
        """Put files by their turns, and the longest first, by what their tests are marked as."""
        seconds: Counter[Path] = Counter()
        for item in items:
            seconds[item.path] += 6.0 if item.get_closest_marker('slow') else 0.2
        items.sort(key=lambda item: (_turn(item.path), -seconds[item.path]))


def _number(worker: str) -> int:
    return int(worker.removeprefix('gw'))


def pytest_configure(config: pytest.Config) -> None:
    if hasattr(config, 'workerinput'):
        urgent = _number(config.workerinput['workerid']) < FOREMOST
        config.pluginmanager.register(Turns(urgent))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Keep each file in one process, and those in which robots move in the same one.

    One process begins with these, file after file: two robots that move would take each other's
    time on a machine of two cores. With ``-n 2`` the other one begins with what needs no nodes;
    with more, the second one with other nodes. Whoever has ended its file begins the next one.
    """
    from xdist.scheduler import LoadScopeScheduling

    def starts_nodes(file: str) -> bool:
        return file == 'moving' or _turn(config.rootpath / file) != 1

    class ByFile(LoadScopeScheduling):
        """xdist 3.8 waits for ever after a crash: see its issues 1323, 1327 and 1378."""

        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.split('::')[0]
            return file if _turn(config.rootpath / file) else 'moving'

        def remove_node(self, node: Any) -> str | None:
            """Give what a process leaves to others, without the test in which it crashed.

            xdist would also hand out files that are done, which keep a process waiting, and run
            the same crash in one process after another.
            """
            files = self.assigned_work.pop(node)
            left = [(test, tests) for tests in files.values() for test in tests if not tests[test]]
            if not left:
                return None
            crashed, tests = left[0]  # they are run in this order
            tests[crashed] = True
            for name, tests in files.items():
                if not all(tests.values()):
                    self.workqueue[name] = tests
            for other in self.nodes:
                self._reschedule(other)
            return crashed

        def _reschedule(self, node: Any) -> None:
            """Hand out files until the process has tests enough, or tell it that there are no more.

            A process begins its last test when it knows what follows; xdist hands out one file,
            and one with a single test left is waited for.
            """
            while not node.shutting_down and self._pending_of(self.assigned_work[node]) <= 2:
                if self._next_file(node) is None:
                    node.shutdown()
                    return
                self._assign_work_unit(node)

        def _assign_work_unit(self, node: Any) -> None:
            file = self._next_file(node)
            if file is not None:
                self.workqueue.move_to_end(file, last=False)
                super()._assign_work_unit(node)

        def _next_file(self, node: Any) -> str | None:
            """The file that a process begins next, if it has to."""
            active = [other for other in self.nodes if not other.shutting_down]
            active.sort(key=lambda other: _number(other.gateway.id))
            quiet = (file for file in self.workqueue if not starts_nodes(file))
            if node in active[FOREMOST:]:
                return next(quiet, None)
            nodes = filter(starts_nodes, self.workqueue)
            some = self.workqueue if len(active) <= FOREMOST else nodes
            return next(iter(some), None) or next(quiet, None)

    config.option.loadscopereorder = False  # not by the number of tests
    return ByFile(config, log)
