# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The robot on one host, the nodes on another, and a cable between them that is pulled.

The hosts are network namespaces of this machine, with nothing in common but a pair of interfaces.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from patience import PATIENCE

pytest.importorskip('rclpy')

from hosts import may_make_hosts
from ros_harness import executable

pytestmark = [
    pytest.mark.ros,
    pytest.mark.skipif(not may_make_hosts(), reason='needs root and iproute2'),
]

DOMAIN = 73


QUIET_LINES = 10
"""Lines of the watcher, a second of them."""


def ip(*arguments: str) -> None:
    subprocess.run(['ip', *arguments], check=True, capture_output=True)


class Cable:
    """Two hosts and what connects them."""

    def __init__(self, robot: str, computer: str) -> None:
        self.robot, self.computer = robot, computer

    def pull(self) -> None:
        ip('-n', self.robot, 'link', 'set', 'cable', 'down')

    def plug(self) -> None:
        ip('-n', self.robot, 'link', 'set', 'cable', 'up')
        self._let_multicast_out(self.robot)

    @staticmethod
    def _let_multicast_out(host: str) -> None:
        # The route goes with the link.
        ip('-n', host, 'route', 'replace', '224.0.0.0/4', 'dev', 'cable')

    @classmethod
    @contextmanager
    def laid(cls) -> Iterator[Cable]:
        """Two hosts with a cable between them, until the block ends."""
        number = os.getpid()
        hosts = [f'dynros_robot_{number}', f'dynros_computer_{number}']
        try:
            for host in hosts:
                ip('netns', 'add', host)
            ends = [
                ['name', 'cable', 'netns', hosts[0]],
                ['name', 'cable', 'netns', hosts[1]],
            ]
            ip('link', 'add', *ends[0], 'type', 'veth', 'peer', *ends[1])
            for place, host in enumerate(hosts, 1):
                ip('-n', host, 'address', 'add', f'10.73.0.{place}/24', 'dev', 'cable')
                ip('-n', host, 'link', 'set', 'lo', 'up')
                ip('-n', host, 'link', 'set', 'cable', 'up')
                cls._let_multicast_out(host)
            yield cls(*hosts)
        finally:
            for host in hosts:
                subprocess.run(['ip', 'netns', 'delete', host], capture_output=True)


@contextmanager
def on(host: str, *command: str, **options: Any) -> Iterator[subprocess.Popen[str]]:
    """A process on a host, until the block ends."""
    environment = {
        **os.environ,
        'ROS_DOMAIN_ID': str(DOMAIN),
        'ROS_AUTOMATIC_DISCOVERY_RANGE': 'SUBNET',
        # Namespaces share the machine's memory; hosts do not.
        'FASTDDS_BUILTIN_TRANSPORTS': 'UDPv4',
    }
    process = subprocess.Popen(
        ['ip', 'netns', 'exec', host, *command], env=environment, text=True, **options
    )
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(10.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class Seen:
    """The latest line of a watcher."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.now: dict[str, Any] = {'poses': 0, 'stamp': 0.0, 'status': ''}
        self._same = 0
        self._new = threading.Condition()
        self._lines = process.stdout
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._lines is not None
        for line in self._lines:
            with self._new:
                told = json.loads(line)
                self._same = self._same + 1 if told['poses'] == self.now['poses'] else 0
                self.now = told
                self._new.notify_all()

    def wait_for_no_more_poses(self) -> dict[str, Any]:
        """Wait for so many lines without a new pose that there would be hundreds."""
        return self.wait_for(lambda _: self._same > QUIET_LINES)

    def wait_for(self, condition: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        with self._new:
            if not self._new.wait_for(lambda: condition(self.now), PATIENCE):
                pytest.fail(f'waited {PATIENCE} s in vain, seen: {self.now}')
            return self.now


@pytest.mark.slow
def test_a_cable_that_is_pulled_silences_the_nodes_until_it_is_back() -> None:
    watcher = str(Path(__file__).parent / 'network_watcher.py')
    with ExitStack() as everything:
        cable = everything.enter_context(Cable.laid())
        robot = everything.enter_context(on(cable.robot, executable('robot_simulator')))
        nodes = everything.enter_context(on(cable.computer, executable('dynamics_ros')))
        seen = Seen(
            everything.enter_context(
                on(cable.computer, sys.executable, watcher, stdout=subprocess.PIPE)
            )
        )
        seen.wait_for(lambda told: told['poses'] > 100 and 'publishing' in told['status'])

        cable.pull()
        seen.wait_for(lambda told: 'silent: ' in told['status'])
        # Once what was under way has come, there is nothing any more.
        before = seen.wait_for_no_more_poses()

        cable.plug()
        seen.wait_for(lambda told: told['poses'] > before['poses'] + 100)
        after = seen.wait_for(lambda told: 'publishing' in told['status'])
        assert after['stamp'] > before['stamp']
        assert robot.poll() is None
        assert nodes.poll() is None
