# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A signal while an executable is still starting ends it like any other: exit code 0, no word."""

from __future__ import annotations

import signal
import time
from pathlib import Path
from subprocess import Popen

import pytest
from patience import PATIENCE

pytest.importorskip('rclpy')

import node_server
from ros_harness import NodeProcess

pytestmark = [
    pytest.mark.ros,
    pytest.mark.skipif(not Path('/proc/self/maps').exists(), reason='needs Linux'),
]

DOMAIN = 87

MOMENTS = {
    'numpy is imported': '_multiarray_umath',
    'rclpy is imported': '_rclpy_pybind11',
    'the middleware is loaded': 'librmw_fastrtps',
    'the participant is there': '/dev/shm/fastdds_',
}
"""What of it is mapped into the process then."""


def wait_until_mapped(process: NodeProcess, what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while what not in Path(f'/proc/{process.pid}/maps').read_text():
        assert process.alive, process.printed
        assert time.monotonic() < deadline, f'{what} is never mapped'


@pytest.mark.parametrize('by', [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize('moment', MOMENTS)
@pytest.mark.parametrize(
    'name', ['dynamics_ros', pytest.param('kinematics_node', marks=pytest.mark.thorough)]
)
def test_a_signal_while_it_starts_ends_a_node_with_exit_code_0(name, moment, by):
    process = NodeProcess(name, DOMAIN, [], node_server.start_alone)
    wait_until_mapped(process, MOMENTS[moment])
    code, _ = process.end(by)
    printed = process.printed
    process.close()
    assert code == 0, printed
    assert 'Traceback' not in printed and 'KeyboardInterrupt' not in printed


@pytest.mark.parametrize('by', [signal.SIGINT, signal.SIGTERM])
def test_of_several_signals_the_first_counts(by):
    process = NodeProcess('dynamics_ros', DOMAIN, [], node_server.start_alone)
    wait_until_mapped(process, MOMENTS['the middleware is loaded'])
    for _ in range(5):
        process.send(by)
    code, _ = process.end(by)
    printed = process.printed
    process.close()
    assert code == 0, printed
    assert 'Traceback' not in printed


@pytest.mark.skipif(not node_server.forkable(), reason='nodes are not forked')
@pytest.mark.parametrize(
    ('arguments', 'code', 'words'),
    [
        (['--help'], 0, '--log-level LEVEL'),
        (['--ros-args', '-p', 'frames:=1'], 1, 'expected str'),
        (['--ros-args', '-r'], 1, 'expected what --help says'),
    ],
)
def test_a_node_that_tests_fork_ends_as_the_executable_does(arguments, code, words, monkeypatch):
    monkeypatch.setenv('ARGUMENTS', arguments[-1])  # an environment without a server
    ends = []
    for start in (node_server.start_alone, node_server.start, node_server.start):
        process = NodeProcess('kinematics_node', DOMAIN, arguments, start)
        ends.append((type(process._process), process.wait(), process.printed))
        process.close()
    assert [kind for kind, *_ in ends] == [Popen, Popen, node_server.Forked]
    assert [own for _, *own in ends] == [[code, ends[0][-1]]] * 3
    assert words in ends[0][-1]
