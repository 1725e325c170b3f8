# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What analyze_recordings writes is of use: bags with estimates, payloads, queries, triangles."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('rclpy')
pytest.importorskip('rosbags')
pytest.importorskip('pyarrow')

from benchmarks.recordings_fleet import DAY, FleetRobot, Push, Recorded, record
from dynamics_ros.fleet.analysis import Task, analyze
from dynamics_ros.fleet.command import main
from dynamics_ros.fleet.results import EVENTS, SIGNALS, find_bags, read_rows
from dynamics_ros.recordings.bag import Recording

pytestmark = pytest.mark.ros

MARCH, JUNE = 1_772_400_000 * 10**9, 1_780_300_000 * 10**9
"""ns: stamps in March and June 2026."""


@pytest.mark.parametrize('storage', ['mcap', 'sqlite3'])
def test_bags_have_the_estimates_beside_the_inputs(tmp_path, storage):
    record(FleetRobot.of(), Recorded(tmp_path / 'arm' / 'day', 'mcap', 4.0, 50.0))
    (bag,) = find_bags([str(tmp_path / 'arm')])
    output = tmp_path / 'out'
    summary = analyze(Task(output=output, bags=storage, signals=True), bag)
    assert summary['status'] == 'ok', summary['reason']
    torques = np.array([row['external_torque'] for row in read_rows(output, SIGNALS, [bag])])
    with Recording(output / 'bags' / 'arm' / 'day') as written:
        assert written.storage == storage
        kind = 'sensor_msgs/msg/JointState'
        assert '/contact_node/external_torques' in written.topics(kind)
        assert written.count(['/joint_states']) == summary['messages']
        assert written.count(['/robot_description']) == 1
        found = [m.effort for *_, m in written.decoded(['/contact_node/external_torques'])]
        assert written.count(['/contact_node/contact_state']) == len(found)
    # While a state is in doubt, the estimate before is published again.
    new = [True, *np.any(np.diff(found, axis=0), axis=1)]
    np.testing.assert_allclose(np.array(found)[new], torques, rtol=1e-12, atol=1e-12)


def test_results_are_not_written_into_a_file_or_a_recording(tmp_path, capsys):
    file, recording = tmp_path / 'file', tmp_path / 'arm' / 'day'
    file.write_text('')
    record(FleetRobot.of(), Recorded(recording, 'mcap', 1.0, 50.0))
    for output, words in ((file, 'is not a folder'), (recording, 'is a recording')):
        before = sorted(tmp_path.rglob('*'))
        assert main([str(tmp_path / 'arm'), '--output', str(output)]) != 0
        printed = capsys.readouterr().err
        assert words in printed, printed
        assert 'Traceback' not in printed
        assert sorted(tmp_path.rglob('*')) == before
    assert main([str(tmp_path / 'arm'), '--output', str(tmp_path / 'out'), '--jobs', '0']) != 0
    assert '-1 for one per core' in capsys.readouterr().err


def test_a_change_of_payload_is_an_event_with_its_mass(tmp_path):
    mass, begin = 1.5, 10.0
    weight = Push('tool0', begin, 20.0, (0.0, 0.0, -9.81 * mass))
    path = tmp_path / 'arm' / 'day'
    recorded = Recorded(path, 'mcap', 20.0, 100.0, MARCH, pushes=(weight,))
    record(FleetRobot.of(), recorded)
    bags = find_bags([str(tmp_path / 'arm')])
    summary = analyze(Task(output=tmp_path / 'out'), bags[0])
    assert summary['payload_changes'] == 1
    (change,) = [r for r in read_rows(tmp_path / 'out', EVENTS, bags) if r['kind'] == 'payload']
    assert change['mass'] == pytest.approx(mass, abs=0.1)
    assert (change['begin'] - MARCH) * 1e-9 == pytest.approx(begin, abs=2.0)


@pytest.mark.slow
def test_the_query_of_the_documentation_names_the_robot_whose_friction_rose(tmp_path):
    pytest.importorskip('duckdb')
    for name, factor in (('sound', 1.0), ('worn', 1.3)):
        for begin, factors in ((MARCH, {}), (JUNE, {1: factor})):
            for k in range(2):
                path = tmp_path / 'fleet' / name / f'{begin}-{k}'
                day = begin + k * DAY
                record(FleetRobot.of(factors), Recorded(path, 'mcap', 8.0, 100.0, day, seed=k))
    main([str(tmp_path / 'fleet'), '--output', str(tmp_path / 'results'), '--jobs', '1'])
    text = (Path(__file__).parents[2] / 'docs' / 'recordings.md').read_text()
    (query,) = re.findall(r'```sql\n(.*?)```', text, re.DOTALL)
    rows = answer(f'import duckdb\nprint(duckdb.sql({query!r}).fetchall())', tmp_path)
    ((robot, joint, march, today),) = ast.literal_eval(rows)
    assert (robot, joint) == ('worn', 'shoulder_pitch')
    assert today > 1.2 * march > 0.0


def test_another_executor_is_called_as_the_documentation_says(tmp_path):
    for name in ('one', 'two'):
        recorded = Recorded(tmp_path / 'fleet' / name / 'day', 'mcap', 4.0, 100.0, MARCH)
        record(FleetRobot.of(), recorded)
    text = (Path(__file__).parents[2] / 'docs' / 'recordings.md').read_text()
    (program,) = (x for x in re.findall(r'```py\n(.*?)```', text, re.DOTALL) if 'MPI' in x)
    pool = 'import sys, types, concurrent.futures as futures\nsys.modules.update(mpi4py=None)\n'
    module = 'types.SimpleNamespace(MPIPoolExecutor=futures.ThreadPoolExecutor)'
    stand_in = f"{pool}sys.modules['mpi4py.futures'] = {module}\n"
    printed = answer(f'{stand_in}{program}\nprint([one["robot"] for one in summaries])', tmp_path)
    assert sorted(ast.literal_eval(printed.splitlines()[-1])) == ['one', 'two']
    assert (tmp_path / 'results' / 'summary').is_dir()


def answer(program, folder):
    """What a program prints that runs in a folder, in a process of its own."""
    run = subprocess.run(
        [sys.executable, '-c', program], cwd=folder, capture_output=True, text=True, check=True
    )
    return run.stdout
