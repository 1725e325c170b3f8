# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""analyze_recordings on a cluster gives the results of one process."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy')
pytest.importorskip('rosbags')
pytest.importorskip('pyarrow')
pytest.importorskip('distributed')


from benchmarks.recordings_fleet import BEGIN, DAY, FleetRobot, Recorded, record
from dynamics_ros.fleet.analysis import Task, analyze, analyze_all
from dynamics_ros.fleet.command import cluster
from dynamics_ros.fleet.results import find_bags

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


def test_processes_of_a_local_cluster(bags, expected, tmp_path):
    from distributed import LocalCluster

    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        check(analyzed(bags, tmp_path, cluster.scheduler_address), expected)
