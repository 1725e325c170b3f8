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


def test_processes_of_a_local_cluster(tmp_path):
    from distributed import LocalCluster

    for k in range(4):
        path = tmp_path / 'robot' / f'day{k}'
        record(FleetRobot.of(), Recorded(path, 'mcap', 4.0, 125.0, BEGIN + k * DAY, seed=k))
    bags = find_bags([str(tmp_path / 'robot')])
    expected = {bag.name: analyze(Task(output=tmp_path / 'one'), bag) for bag in bags}
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as local,
        cluster(local.scheduler_address) as executor,
    ):
        summaries = list(analyze_all(Task(output=tmp_path / 'two'), bags, executor=executor))
    assert {row['bag'] for row in summaries} == set(expected)
    for row in summaries:
        for key in ('friction', 'residual_rms', 'rate'):
            np.testing.assert_allclose(row[key], expected[row['bag']][key], rtol=1e-12)
