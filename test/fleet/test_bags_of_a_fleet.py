# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Bags are found, named and written whatever folders are called, and whatever runs have left."""

from __future__ import annotations

import os
import select
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from patience import PATIENCE

pytest.importorskip('rclpy')
pytest.importorskip('rosbags')
pytest.importorskip('pyarrow')

import pyarrow.dataset
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from benchmarks.recordings_fleet import FleetRobot, Recorded, record
from dynamics_ros.fleet.command import main
from dynamics_ros.fleet.results import find_bags
from dynamics_ros.recordings.bag import Recording, RecordingWriter
from dynamics_ros.recordings.command import main as estimate_bag

pytestmark = pytest.mark.ros

ROBOT = FleetRobot.of()


def recorded(path, kind='mcap'):
    return record(ROBOT, Recorded(path, kind, 2.0, 100.0))


@pytest.fixture(scope='module')
def bag(tmp_path_factory):
    return recorded(tmp_path_factory.mktemp('fleet') / 'robot' / 'day')


def empty(folder):
    """What is taken for a bag as long as nobody reads it."""
    folder.mkdir(parents=True)
    (folder / 'metadata.yaml').touch()
    return folder


def test_links_are_followed_once(tmp_path):
    one = empty(tmp_path / 'robot' / 'one')
    (tmp_path / 'robot' / 'latest').symlink_to('one')
    (tmp_path / 'robot' / 'round').symlink_to('..')
    (tmp_path / 'robot' / 'itself').symlink_to('itself')
    (tmp_path / 'robot' / 'gone.bag').symlink_to('nowhere')
    found = find_bags([str(tmp_path), str(one), str(tmp_path / 'robot' / '..' / 'robot' / 'one')])
    # A link to nowhere is named when it is read.
    assert [(bag.robot, bag.name) for bag in found] == [('robot', 'gone.bag'), ('robot', 'latest')]


def test_results_within_the_input_are_no_input(tmp_path):
    empty(tmp_path / 'arm' / 'day')
    empty(tmp_path / 'out' / 'arm' / 'day')
    (bag,) = find_bags([str(tmp_path)], output=tmp_path / 'out')
    assert bag.path == tmp_path / 'arm' / 'day'


ODD = ['a b=c', 'x#1%20[z]', 'ümläut\nline', '..', '../../up', '$(touch pwned)']


@pytest.mark.parametrize('name', ODD)
def test_whatever_a_robot_is_called_is_its_name_in_the_tables(bag, tmp_path, name):
    output = tmp_path / 'deep' / 'out'
    options = ['--output', str(output), '--jobs', '1', '--name', name]
    assert main([str(bag), *options]) == 0
    table = pyarrow.dataset.dataset(output / 'summary', partitioning='hive').to_table()
    assert table['robot'].to_pylist() == [name]
    assert [path.name for path in tmp_path.iterdir()] == ['deep']
    assert [path.name for path in output.parent.iterdir()] == ['out']


def test_what_an_earlier_run_found_in_a_bag_that_is_damaged_now_goes(tmp_path):
    path = recorded(tmp_path / 'robot' / 'day.bag', 'ros1')
    arguments = [str(path), '--output', str(tmp_path / 'out'), '--jobs', '1']
    assert main(arguments) == 0
    path.write_bytes(path.read_bytes()[:-1000])
    assert main(arguments) == 1
    left = {file.parts[-4] for file in (tmp_path / 'out').rglob('*.parquet')}
    assert left == {'summary'}


def copied(source, target, change):
    """A bag with the messages of another; ``change`` says what becomes of each, by its number."""
    with Recording(source) as recording, RecordingWriter(target, 'mcap') as writer:
        topics = {'/robot_description': String, '/joint_states': JointState}
        for k, (topic, time, data) in enumerate(recording.messages([*topics])):
            writer.write(topic, topics[topic], time, change(k, data))
    return target


def test_a_damaged_message_is_told_and_ends_nothing(bag, tmp_path, capsys):
    described = copied(bag, tmp_path / 'a', lambda k, data: data if k else data[:50])
    joints = copied(bag, tmp_path / 'b', lambda k, data: data[:30] if 0 < k < 20 else data)
    assert main([str(tmp_path), '--output', str(tmp_path / 'out'), '--jobs', '1']) == 1
    told = capsys.readouterr()
    assert f'{described}: its robot_description is damaged' in told.err
    assert '1 of 2 bags' in told.out
    assert estimate_bag([str(described), '--output', str(tmp_path / 'one')]) == 1
    assert 'its robot_description is damaged' in capsys.readouterr().err
    assert estimate_bag([str(joints), '--output', str(tmp_path / 'two')]) == 0
    assert '19 joint states were refused' in capsys.readouterr().out


def wait_for_ever(task, bag):
    """An analysis that says that it has begun, and is interrupted."""
    (task.output.parent / 'begun').write_text('yes')
    signal.pause()


INTERRUPTED = """
import sys
from pathlib import Path
from dynamics_ros.fleet import command
from test_bags_of_a_fleet import wait_for_ever
real = command.analyze_all
command.analyze_all = lambda *given: real(*given, wait_for_ever)
sys.exit(command.main(sys.argv[1:]))
"""


@pytest.mark.slow
def test_an_interrupted_run_says_so_and_the_next_one_is_whole(bag, tmp_path):
    output, begun = tmp_path / 'out', tmp_path / 'begun'
    os.mkfifo(begun)
    bags = [str(bag), str(shutil.copytree(bag, tmp_path / 'robot' / 'night'))]
    reader = os.open(begun, os.O_RDONLY | os.O_NONBLOCK)
    process = subprocess.Popen(
        [sys.executable, '-c', INTERRUPTED, *bags, '--output', str(output), '--jobs', '2'],
        stderr=subprocess.PIPE,
        text=True,
        # Its workers import this file as it does.
        env={**os.environ, 'PYTHONPATH': os.pathsep.join([str(Path(__file__).parent), *sys.path])},
        start_new_session=True,
    )
    try:
        while not select.select([reader], [], [], 0.5)[0]:
            assert process.poll() is None, process.communicate()[1]
        # As a terminal does: all processes of the command.
        os.killpg(process.pid, signal.SIGINT)
        _, told = process.communicate(timeout=PATIENCE)
    finally:
        os.close(reader)
        process.kill()
        process.wait()
    assert process.returncode == 130, told
    assert 'interrupted' in told
    assert main([str(bag), '--output', str(output), '--jobs', '1']) == 0
