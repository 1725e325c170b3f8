# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""analyze_recordings on clusters: processes of one machine, and two hosts with a cable between.

The hosts are network namespaces of this machine; the scheduler is on one, workers are on both.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import numpy as np
import pytest

pytest.importorskip('rclpy')
pytest.importorskip('rosbags')
pytest.importorskip('pyarrow')
pytest.importorskip('distributed')

from hosts import may_make_hosts

from benchmarks.recordings_fleet import BEGIN, DAY, FleetRobot, Recorded, record
from dynamics_ros.fleet.analysis import Task, analyze, analyze_all
from dynamics_ros.fleet.command import cluster
from dynamics_ros.fleet.results import SUMMARY, find_bags, read_rows

pytestmark = [pytest.mark.ros, pytest.mark.slow]


@pytest.fixture(scope='module')
def bags(tmp_path_factory):
    folder = tmp_path_factory.mktemp('fleet') / 'robot'
    robot = FleetRobot.of()
    for k in range(4):
        record(robot, Recorded(folder / f'day{k}', 'mcap', 4.0, 125.0, BEGIN + k * DAY, seed=k))
    return find_bags([str(folder)])


@pytest.fixture(scope='module')
def expected(bags, tmp_path_factory):
    task = Task(output=tmp_path_factory.mktemp('expected'))
    return {bag.name: analyze(task, bag) for bag in bags}


def analyzed(bags, output, scheduler):
    with cluster(scheduler) as executor:
        return list(analyze_all(Task(output=output), bags, executor=executor))


def check(summaries, expected):
    assert {row['bag'] for row in summaries} == set(expected)
    for row in summaries:
        for key in ('friction', 'residual_rms', 'rate'):
            np.testing.assert_allclose(row[key], expected[row['bag']][key], rtol=1e-12)


@pytest.mark.thorough
def test_processes_of_a_local_cluster(bags, expected, tmp_path):
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        check(analyzed(bags, tmp_path, cluster.scheduler_address), expected)


def ip(*arguments: str) -> None:
    subprocess.run(['ip', *arguments], check=True, capture_output=True)


@contextmanager
def two_hosts() -> Iterator[list[str]]:
    """Two hosts with a cable between them, at 10.74.0.1 and 10.74.0.2."""
    hosts = [f'dynros_fleet{k}_{os.getpid()}' for k in (1, 2)]
    try:
        for host in hosts:
            ip('netns', 'add', host)
        ends = [['name', 'cable', 'netns', host] for host in hosts]
        ip('link', 'add', *ends[0], 'type', 'veth', 'peer', *ends[1])
        for place, host in enumerate(hosts, 1):
            ip('-n', host, 'address', 'add', f'10.74.0.{place}/24', 'dev', 'cable')
            ip('-n', host, 'link', 'set', 'lo', 'up')
            ip('-n', host, 'link', 'set', 'cable', 'up')
        yield hosts
    finally:
        for host in hosts:
            subprocess.run(['ip', 'netns', 'delete', host], capture_output=True)


@contextmanager
def on(host: str, *command: str) -> Iterator[None]:
    """A process on a host, until the block ends."""
    process = subprocess.Popen(['ip', 'netns', 'exec', host, sys.executable, '-m', *command])
    try:
        yield
    finally:
        process.terminate()
        try:
            process.wait(10.0)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


@pytest.mark.skipif(not may_make_hosts(), reason='needs root and iproute2')
def test_two_hosts_with_the_scheduler_on_one_of_them(bags, expected, tmp_path):
    address = 'tcp://10.74.0.1:8786'
    with two_hosts() as hosts, ExitStack() as stack:
        scheduler = ('distributed.cli.dask_scheduler', '--host', '10.74.0.1', '--no-dashboard')
        stack.enter_context(on(hosts[0], *scheduler))
        options = ('--nthreads', '1', '--no-dashboard', '--no-nanny')
        for place, host in enumerate(hosts, 1):
            name = ('--name', f'host{place}', '--host', f'10.74.0.{place}')
            worker = ('distributed.cli.dask_worker', address, *options, *name)
            stack.enter_context(on(host, *worker, '--local-directory', str(tmp_path)))
        # The command on the first host; its results come back in a file.
        output = tmp_path / 'out'
        command = ('dynamics_ros.fleet.command', *(str(bag.path) for bag in bags))
        options = ('--output', str(output), '--scheduler', address)
        done = subprocess.run(
            ['ip', 'netns', 'exec', hosts[1], sys.executable, '-m', *command, *options],
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    check(read_rows(output, SUMMARY, bags), expected)
