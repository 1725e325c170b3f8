# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""analyze_recordings: what is found in the bags of simulated robots, whatever happens to some."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest

pytest.importorskip('rclpy')
pytest.importorskip('rosbags')
pytest.importorskip('pyarrow')

import ast
import re
import subprocess
import sys
from pathlib import Path

import pyarrow
import pyarrow.dataset
import scipy.signal
from patience import times

from benchmarks.recordings_fleet import (
    BEGIN,
    DAY,
    FORMATS,
    FleetRobot,
    Push,
    Recorded,
    bag_path,
    record,
)
from dynamics_ros.fleet.analysis import Task, analyze_all
from dynamics_ros.fleet.command import cluster, main
from dynamics_ros.fleet.report import findings
from dynamics_ros.fleet.results import EVENTS, SUMMARY, Bag, find_bags
from dynamics_ros.fleet.statistics import low_pass

pytestmark = pytest.mark.ros

PUSH = Push('tool0', 4.0, 4.6, (0.0, 20.0, 0.0))
WORN, FACTOR = 'shoulder_pitch', 1.3
DURATION, RATE = 8.0, 125.0


@pytest.fixture(scope='module')
def fleet(tmp_path_factory):
    """Two robots, one with a worn joint, each with a bag of each format; one bag has a push."""
    folder = tmp_path_factory.mktemp('fleet')
    for name, factors in (('sound', {}), ('worn', {1: FACTOR})):
        robot = FleetRobot.of(factors)
        for k, kind in enumerate(FORMATS):
            pushes = (PUSH,) if k == 0 else ()
            path = bag_path(folder / name, f'day{k}', kind)
            begin = BEGIN + k * DAY
            record(robot, Recorded(path, kind, DURATION, RATE, begin, seed=k, pushes=pushes))
    return folder


@pytest.fixture(scope='module')
def results(fleet, tmp_path_factory):
    output = tmp_path_factory.mktemp('results')
    arguments = [str(fleet), '--output', str(output), '--jobs', '1']
    assert main(arguments) == 0
    return output


def rows(output, table):
    whole = pyarrow.dataset.dataset(output / table, partitioning='hive').to_table()
    stamps = [field for field in whole.schema if pyarrow.types.is_timestamp(field.type)]
    for field in stamps:  # [ns], which datetime does not have
        column = whole[field.name].cast(pyarrow.int64())
        whole = whole.set_column(whole.schema.get_field_index(field.name), field.name, column)
    return whole.to_pylist()


def test_friction_of_all_formats_is_that_of_the_robot(results):
    summary = rows(results, SUMMARY)
    assert len(summary) == 2 * len(FORMATS)
    for row in summary:
        worn = np.array(row['joints']) == WORN
        factor = np.where(worn & (row['robot'] == 'worn'), FACTOR, 1.0)
        true = factor * np.array(row['friction_declared'])
        # Nm; the smallest friction is 0.05 Nm.
        np.testing.assert_allclose(row['friction'], true, rtol=0.03, atol=0.005)
        assert row['rate'] == pytest.approx(RATE)
        assert row['messages'] == DURATION * RATE
        assert row['gaps'] == 0
        assert row['findings'] == []


def test_the_push_is_an_event_with_link_force_and_time(results):
    contacts = [row for row in rows(results, EVENTS) if not row['false_contact']]
    assert {(row['robot'], row['bag']) for row in contacts} == {
        ('sound', 'day0'),
        ('worn', 'day0'),
    }
    for row in contacts:
        assert row['kind'] == 'contact'
        assert row['link'] == 'tool_link'
        assert (row['begin'] - BEGIN) * 1e-9 == pytest.approx(PUSH.begin, abs=0.05)
        assert row['duration'] == pytest.approx(PUSH.end - PUSH.begin, abs=0.15)
        assert row['force'] == pytest.approx(20.0, abs=2.0)


def test_bags_that_cannot_be_analyzed_are_named_and_the_others_come(fleet, tmp_path, capsys):
    folder = tmp_path / 'robot'
    whole = fleet / 'sound' / 'day0'
    (data,) = whole.glob('*.mcap')
    folder.mkdir()
    (folder / 'cut.mcap').write_bytes(data.read_bytes()[: data.stat().st_size // 2])
    (folder / 'good.mcap').write_bytes(data.read_bytes())
    bag = (fleet / 'sound' / 'day2.bag').read_bytes()
    (folder / 'short.bag').write_bytes(bag[: len(bag) // 2])
    (tmp_path / 'foreign.urdf').write_text(
        '<robot name="foreign"><link name="a"/><link name="b"><inertial><mass value="1"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="knee" type="revolute"><parent link="a"/><child link="b"/>'
        '<axis xyz="0 1 0"/><limit lower="-1" upper="1" effort="10" velocity="1"/></joint></robot>'
    )
    assert main([str(folder), '--output', str(tmp_path / 'out'), '--jobs', '1']) == 1
    told = capsys.readouterr()
    assert 'cut.mcap: ' in told.err
    assert 'short.bag: ' in told.err
    assert 'good' not in told.err
    assert '1 of 3 bags' in told.out
    by_name = {row['bag']: row for row in rows(tmp_path / 'out', SUMMARY)}
    assert by_name['good']['status'] == 'ok'
    assert by_name['cut']['status'] == 'failed'
    assert by_name['cut']['reason']
    arguments = ['--robot', str(tmp_path / 'foreign.urdf'), '--output', str(tmp_path / 'out2')]
    assert main([str(folder / 'good.mcap'), *arguments, '--jobs', '1']) == 1
    assert 'another robot' in capsys.readouterr().err


def test_two_robots_of_a_fleet_with_more_friction_are_found_and_no_others():
    rng = np.random.default_rng(0)

    def row(robot, bag, factor):
        friction = np.array([0.6, 0.3]) * (1.0 + 0.02 * rng.normal(size=2))
        friction[1] *= factor
        return {
            'status': 'ok',
            'robot': robot,
            'model': 'arm',
            'begin': BEGIN + bag * DAY,
            'joints': ['a', 'b'],
            'friction': friction.tolist(),
        }

    summaries = [row(f'r{k}', bag, 1.3 if k < 2 else 1.0) for k in range(20) for bag in range(10)]
    found = findings(summaries)
    assert [(one.robot, one.joint, one.kind) for one in found] == [
        ('r0', 'b', 'like robots'),
        ('r1', 'b', 'like robots'),
    ]
    rising = [row('r', bag, 1.0 + 0.05 * bag) for bag in range(10)]
    assert [(one.joint, one.kind) for one in findings(rising)] == [('b', 'before')]


def kill_once(task: Task, bag: Bag) -> dict:
    """An analysis whose worker is killed the first time that it comes to a bag."""
    mark = task.output / f'killed-{bag.name}'
    if bag.name == 'day1' and not mark.exists():
        mark.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return {'robot': bag.robot, 'bag': bag.name, 'status': 'ok'}


def kill_always(task: Task, bag: Bag) -> dict:
    """An analysis that no worker survives."""
    if bag.name == 'day1':
        os.kill(os.getpid(), signal.SIGKILL)
    return {'robot': bag.robot, 'bag': bag.name, 'status': 'ok'}


@pytest.mark.slow
@pytest.mark.parametrize(('analyze_one', 'failed'), [(kill_once, []), (kill_always, ['day1'])])
def test_a_killed_worker_costs_its_bag_one_retry(fleet, tmp_path, analyze_one, failed):
    bags = [bag for bag in find_bags([str(fleet)]) if bag.robot == 'sound']
    summaries = list(analyze_all(Task(output=tmp_path), bags, 2, analyze_one=analyze_one))
    assert sorted(row['bag'] for row in summaries) == ['day0', 'day1', 'day2']
    bad = [row for row in summaries if row['status'] != 'ok']
    assert [row['bag'] for row in bad] == failed
    assert all('died twice' in row['reason'] for row in bad)


@pytest.mark.slow
def test_results_do_not_depend_on_order_or_number_of_workers(fleet, results, tmp_path):
    expected = {(row['robot'], row['bag']): row for row in rows(results, SUMMARY)}
    bags = find_bags([str(fleet)])
    for count in times((3,), (2, 8)):
        order = np.random.default_rng(count).permutation(len(bags))
        task = Task(output=tmp_path / str(count))
        found = list(analyze_all(task, [bags[k] for k in order], count))
        assert len(found) == len(bags)
        for row in found:
            other = expected[row['robot'], row['bag']]
            for key, value in row.items():
                if isinstance(value, float) or (isinstance(value, list) and key != 'joints'):
                    np.testing.assert_allclose(value, other[key], rtol=1e-12, atol=1e-12)
                else:
                    assert value == other[key]


@pytest.mark.slow
def test_processes_of_a_local_cluster(fleet, results, tmp_path):
    distributed = pytest.importorskip('distributed')
    expected = {x['bag']: x for x in rows(results, SUMMARY) if x['robot'] == 'sound'}
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as local,
        cluster(local.scheduler_address) as executor,
    ):
        bags = find_bags([str(fleet / 'sound')])
        summaries = list(analyze_all(Task(output=tmp_path / 'two'), bags, executor=executor))
    assert {row['bag'] for row in summaries} == set(expected)
    for row in summaries:
        for key in ('friction', 'residual_rms', 'rate'):
            np.testing.assert_allclose(row[key], expected[row['bag']][key], rtol=1e-12)


def test_the_low_pass_of_blocks_is_that_of_scipy():
    decay, parts = np.array([0.0, 0.3, 0.99, 1.0]), []
    values = last = np.random.default_rng(1).normal(size=(136, 4, 3))
    for part in np.split(values, [7, 8]):
        parts.append(low_pass(part, decay, last[-1] if parts else values[0]))
        last = parts[-1]
    for row, d in enumerate(decay):
        first = d * values[:1, row]
        expected, _ = scipy.signal.lfilter([1.0 - d], [1.0, -d], values[:, row], axis=0, zi=first)
        np.testing.assert_allclose(np.concatenate(parts)[:, row], expected, rtol=0.0, atol=1e-13)


MARCH, JUNE = 1_772_400_000 * 10**9, 1_780_300_000 * 10**9
"""ns: stamps in March and June 2026."""


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
