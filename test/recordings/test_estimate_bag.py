# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""estimate_bag: recordings in, the same estimates out as contact_node makes, and a picture."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy')
pytest.importorskip('rosbags')

import copy
import re

from geometry_msgs.msg import WrenchStamped
from rclpy.serialization import deserialize_message, serialize_message
from ros_harness import client, description, executable, running, stamp_of
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from dynamics_ros import Robot
from dynamics_ros.recordings.bag import Recording, RecordingWriter
from dynamics_ros.recordings.command import main
from dynamics_ros.recordings.settings import read_parameters
from dynamics_ros.simulation import Actuators, SimulatedRobot, comfortable_posture, slow_motion
from dynamics_ros.wire.conversions import inertia_message
from dynamics_ros_msgs.msg import ContactState, Payload

pytestmark = pytest.mark.ros

DOMAIN = 92
ROBOT = Robot.from_urdf(description())
TOOL = 'tool0'
FORCE = np.array([6.0, -15.0, 9.0])
EVERY = 4
"""Steps of the simulation, 1 ms each, between two joint states."""

BEGIN, END, DURATION = 0.4, 0.8, 1.2
"""s: of the push, and of all."""

MASS, CENTER = 1.5, np.array([0.02, 0.0, 0.05])
PARAMETERS = {'frames': [TOOL], 'thresholds': {'contact': [1.0]}, 'effort': {'sampling': 'instant'}}


@pytest.fixture(scope='module')
def joint_states():
    return simulated_joint_states(ROBOT)


def simulated_joint_states(robot):
    """What a simulated robot publishes that moves and is pushed at its tool for a while."""
    posture = comfortable_posture(robot, TOOL)
    actuators = Actuators.for_robot(robot, posture, TOOL)
    simulated = SimulatedRobot(robot, actuators, slow_motion(robot, posture))
    found = []
    for k in range(round(DURATION * 1000)):
        t = k * 1e-3
        if k == round(BEGIN * 1000):
            simulated.push(TOOL, np.concatenate([FORCE, np.zeros(3)]), END - BEGIN, TOOL)
        simulated.step()
        if k % EVERY:
            continue
        sample = simulated.sample()
        message = JointState(name=list(ROBOT.joint_names))
        message.header.stamp = stamp_of(10**9 + round(t * 1e9))
        for field, values in (('position', sample.q), ('velocity', sample.v)):
            setattr(message, field, values.tolist())
        message.effort = sample.effort.tolist()
        found.append(message)
    return found


def record(path, storage, joint_states, *, described=False):
    with RecordingWriter(path, storage) as writer:
        if described:
            writer.write('/robot_description', String, 1, String(data=description()))
        for message in joint_states:
            stamp = message.header.stamp
            time = stamp.sec * 10**9 + stamp.nanosec
            writer.write('/joint_states', JointState, time, serialize_message(message))
    return path


def record_payloads(path, joint_states, payloads):
    """A recording in which the robot takes up one payload after another.

    Args:
        path, joint_states: as above.
        payloads: (s, frame, kg) each.
    """
    told = [(10**9 + round(t * 1e9), frame, mass) for t, frame, mass in payloads]
    with RecordingWriter(path, 'mcap') as writer:
        writer.write('/left/robot_description', String, 1, String(data=description()))
        for message in joint_states:
            time = message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
            while told and told[0][0] <= time:
                _, frame, mass = told.pop(0)
                payload = Payload(inertia=inertia_message(mass, CENTER, np.zeros((3, 3))))
                payload.header.frame_id = frame
                writer.write('/left/payload', Payload, time, payload)
            writer.write('/left/joint_states', JointState, time, serialize_message(message))
    return path


def contents(path, topic, kind):
    with Recording(path) as recording:
        return [deserialize_message(data, kind) for _, _, data in recording.messages([topic])]


@pytest.fixture(scope='module')
def parameters(tmp_path_factory):
    import yaml

    path = tmp_path_factory.mktemp('parameters') / 'contact.yaml'
    path.write_text(yaml.safe_dump({'/**/contact_node': {'ros__parameters': PARAMETERS}}))
    return path


@pytest.fixture(scope='module', params=['mcap', 'sqlite3'])
def estimated(request, tmp_path_factory, joint_states, parameters):
    folder = tmp_path_factory.mktemp(request.param)
    source = record(folder / 'recorded', request.param, joint_states, described=True)
    output = folder / 'estimates'
    code = main([str(source), '--output', str(output), '--parameters', str(parameters)])
    assert code == 0
    with Recording(output) as recording:
        assert recording.storage == request.param
    return output


def test_the_push_is_found_where_and_when_it_was(estimated):
    wrenches = contents(estimated, f'/contact_node/{TOOL}/wrench', WrenchStamped)
    states = contents(estimated, '/contact_node/contact_state', ContactState)
    assert len(wrenches) == len(states)
    times = np.array([m.header.stamp.sec - 1 + 1e-9 * m.header.stamp.nanosec for m in wrenches])
    forces = np.array([[m.wrench.force.x, m.wrench.force.y, m.wrench.force.z] for m in wrenches])
    late = (times > END - 0.1) & (times < END - 0.01)
    # Twenty time constants of the observer after the push has begun, it stands for itself.
    assert {m.header.frame_id for m in wrenches} == {TOOL}
    np.testing.assert_allclose(forces[late].mean(axis=0), FORCE, atol=0.2)
    touched = np.array([m.state != ContactState.NONE for m in states])
    assert touched[late].all()
    assert not touched[times < BEGIN].any()


def halves(message, shift):
    """What two drivers tell of it, the clock of one of them ahead by so many ns."""
    for joints, ahead in ((slice(0, 4), 0), (slice(4, 7), shift)):
        half = JointState(name=message.name[joints])
        stamp = message.header.stamp.sec * 10**9 + message.header.stamp.nanosec
        half.header.stamp = stamp_of(stamp + ahead)
        for field in ('position', 'velocity', 'effort'):
            setattr(half, field, getattr(message, field)[joints])
        yield half


def test_two_drivers_whose_stamps_start_anew_are_estimated_like_one(
    tmp_path, joint_states, parameters
):
    source, output = tmp_path / 'recorded', tmp_path / 'estimates'
    with RecordingWriter(source, 'mcap') as writer:
        writer.write('/robot_description', String, 1, String(data=description()))
        twice = [half for m in 2 * joint_states for half in halves(m, 1_000_000)]
        for time, half in enumerate(twice, 10**9):
            writer.write('/joint_states', JointState, time, serialize_message(half))
    assert main([str(source), '--output', str(output), '--parameters', str(parameters)]) == 0
    wrenches = contents(output, f'/contact_node/{TOOL}/wrench', WrenchStamped)
    times = np.array([m.header.stamp.sec - 1 + 1e-9 * m.header.stamp.nanosec for m in wrenches])
    # Silent for three time constants at each start, and until the new one is believed.
    assert len(wrenches) > 2 * len(joint_states) - 60
    (anew,) = np.flatnonzero(np.diff(times) < 0.0)
    forces = np.array([[m.wrench.force.x, m.wrench.force.y, m.wrench.force.z] for m in wrenches])
    for which in (np.arange(len(times)) <= anew, np.arange(len(times)) > anew):
        late = which & (times > END - 0.1) & (times < END - 0.01)
        np.testing.assert_allclose(forces[late].mean(axis=0), FORCE, atol=0.2)


def test_the_node_says_the_same_of_the_same_messages(estimated, joint_states):
    offline = contents(estimated, '/contact_node/external_torques', JointState)
    node = PARAMETERS | {'robot_description': description()}
    with running('contact_node', DOMAIN, node), client(DOMAIN) as ros:
        online = ros.listen(JointState, '/contact_node/external_torques', 1000)
        # Until the node is there, states before those of the recording.
        early = joint_states[0]
        before = JointState(name=early.name, position=early.position, velocity=early.velocity)
        before.effort = early.effort
        stamps = iter(range(1, 10**6))

        def knock():
            before.header.stamp = stamp_of(10**6 * next(stamps))
            ros.publish_joint_state(before)

        ros.wait_for(lambda: online, meanwhile=knock)
        first = offline[0].header.stamp
        settling = [m for m in joint_states if seconds(m) < seconds(offline[0])]
        assert joint_states[len(settling)].header.stamp == first

        def begin():
            # An earlier stamp than the last makes the observer start anew. Where a busy machine
            # loses so many of these that it has not settled by then, all is said again.
            knock()
            for message in joint_states[: len(settling) + 1]:
                ros.publish_joint_state(message)

        ros.wait_for(
            lambda: any(m.header.stamp == first for m in online), meanwhile=begin, period=1.0
        )
        # From here on each is sent until it is answered; a repetition changes nothing.
        told = [ros.exchange(message, online) for message in joint_states[len(settling) :]]
    assert len(told) == len(offline) > 200
    for ours, theirs in zip(offline, told, strict=True):
        assert ours.header.stamp == theirs.header.stamp
        # Should one of the first have been lost, the observer has forgotten it after 0.4 s.
        if seconds(ours) - seconds(offline[0]) > 0.4:
            np.testing.assert_allclose(ours.effort, theirs.effort, atol=1e-9)


def seconds(message):
    return message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec


def forces(path):
    """Times (n) [s] and forces (n, 3) [N] at the tool."""
    wrenches = contents(path, f'/contact_node/{TOOL}/wrench', WrenchStamped)
    found = [[m.wrench.force.x, m.wrench.force.y, m.wrench.force.z] for m in wrenches]
    return np.array([seconds(m) - 1.0 for m in wrenches]), np.array(found)


def test_what_the_robot_takes_up_in_the_recording_is_no_contact(tmp_path, capsys, parameters):
    states = simulated_joint_states(ROBOT.with_payload(TOOL, MASS, CENTER))
    # A mass that cannot be, a frame that is not there, what is true, and the same again.
    told = [
        (0.2, TOOL, -1.0),
        (0.2, 'nowhere', MASS),
        (0.25, f'left/{TOOL}', MASS),
        (0.6, TOOL, MASS),
    ]
    source = record_payloads(tmp_path / 'recorded', states, told)
    prefixed = tmp_path / 'prefixed.yaml'
    prefixed.write_text(f'{parameters.read_text()}    frame_prefix: left/\n')
    arguments = ['--parameters', str(prefixed), '--output', str(tmp_path / 'out')]
    assert main([str(source), *arguments]) == 0
    assert 'another payload 1 times' in capsys.readouterr().out
    times, found = forces(tmp_path / 'out')
    sizes = np.linalg.norm(found, axis=1)
    # Nobody has told of its weight yet.
    assert sizes[(times > 0.15) & (times < 0.25)] == pytest.approx(9.81 * MASS, rel=0.05)
    # Some time constants of the observer later, and before the push.
    assert sizes[(times > 0.35) & (times < BEGIN - 0.01)].max() < 0.1
    late = (times > END - 0.1) & (times < END - 0.01)
    np.testing.assert_allclose(found[late].mean(axis=0), FORCE, atol=0.2)


def test_it_runs_as_an_executable_with_a_robot_of_its_own(tmp_path, joint_states, monkeypatch):
    import subprocess

    # As at the very first time: no kernel has been compiled yet.
    monkeypatch.setenv('DYNAMICS_ROS_CACHE', 'off')
    (tmp_path / 'robot.urdf').write_text(description())
    source = record(tmp_path / 'recorded', 'mcap', joint_states)
    done = subprocess.run(
        [
            *(executable('estimate_bag'), str(source), '--robot', str(tmp_path / 'robot.urdf')),
            *('--output', str(tmp_path / 'out'), '--storage', 'sqlite3'),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert f'of {len(joint_states)} joint states' in done.stdout
    with Recording(tmp_path / 'out') as recording:
        assert recording.storage == 'sqlite3'
        topics = [f'/contact_node/{name}' for name in ('external_torques', f'{TOOL}/wrench')]
        torques, wrenches = (recording.count([topic]) for topic in topics)
        assert torques == wrenches > 200


@pytest.mark.parametrize(
    ('arguments', 'reason'),
    [
        (['nowhere'], 'there is no such recording'),
        (['{bag}'], 'give the robot with --robot'),
        (['{bag}', '--robot', 'nowhere.urdf'], 'cannot be read'),
        (['{bag}', '--robot', '{robot}', '--topic', '/other'], 'joint_states'),
        (['{bag}', '--robot', '{robot}', '--parameters', 'nowhere.yaml'], 'a YAML file'),
        (
            ['{bag}', '--robot', '{robot}', '--parameters', '{misspelt}'],
            "contact_node has no parameter 'observer.gian'; was 'observer.gain' meant?",
        ),
        (['{bag}', '--robot', '{robot}', '--parameters', '{misspelt}'], 'calibrate again'),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(tmp_path, capsys, joint_states, arguments, reason):
    robot = tmp_path / 'robot.urdf'
    robot.write_text(description())
    source = record(tmp_path / 'recorded', 'mcap', joint_states[:3])
    # What is for every node may be for others; what is for this one may not.
    misspelt = tmp_path / 'misspelt.yaml'
    misspelt.write_text(
        '/**: {ros__parameters: {rate: 3.0}}\n'
        '/**/contact_node: {ros__parameters: {observer: {gian: [20.0], kind: static}}}\n'
    )
    given = [x.format(bag=source, robot=robot, misspelt=misspelt) for x in arguments]
    assert main([*given, '--output', str(tmp_path / 'out')]) == 1
    said = capsys.readouterr().err.strip()
    assert reason in said
    assert '\n' not in said


def test_parameters_are_those_of_the_node_and_of_all_nodes(tmp_path):
    path = tmp_path / 'parameters.yaml'
    path.write_text(
        '/**:\n  ros__parameters:\n    root_joint: floating\n    observer: {gain: [10.0]}\n'
        'contact_node:\n  ros__parameters:\n    observer.gain: [20.0]\n'
        '/dynamics_node:\n  ros__parameters:\n    publish_rate: 3.0\n'
    )
    assert read_parameters(path, 'contact_node') == {
        'root_joint': 'floating',
        'observer.gain': [20.0],
    }


def test_gaps_of_any_size_are_one_cause_with_their_range(
    tmp_path, capsys, joint_states, parameters
):
    late = copy.deepcopy(joint_states)
    for k, message in enumerate(late):
        gaps = k // 10
        message.header.stamp = stamp_of(
            10**9 + 4_000_000 * k + 600_000_000 * gaps + 10**6 * gaps**2
        )
    source = record(tmp_path / 'recorded', 'mcap', late, described=True)
    output = ['--parameters', str(parameters), '--output', str(tmp_path / 'out')]
    assert main([str(source), *output]) in (0, 1)
    text = ''.join(capsys.readouterr())
    assert text.count('the observer has not settled since') <= 2, text
    assert re.search(r'\(\+0\.6\d\d to \+0\.6\d\d s\)', text), text
    assert len(text) < 500, text


def test_a_file_of_rerun_has_the_robot_and_its_forces(tmp_path, capfd, joint_states, parameters):
    pytest.importorskip('rerun')
    import subprocess
    import sys

    source = record(tmp_path / 'recorded', 'mcap', joint_states, described=True)
    scene, rest = tmp_path / 'push.rrd', ['--parameters', str(parameters)]
    arguments = [str(source), '--output', str(tmp_path / 'out'), '--rerun', str(scene), *rest]
    assert main(arguments) == 0
    shown = subprocess.run(
        [sys.executable, '-m', 'rerun', 'rrd', 'print', '-v', str(scene)],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert 'Mesh3D' in shown
    # A picture each 20 ms, of a state each 4 ms, from the first estimate on.
    for entity in (f'robot/{TOOL}', f'robot/{TOOL}/force_at_{TOOL}', 'external_torques', 'contact'):
        rows = re.findall(rf'with (\d+) rows \([^)]*\) - /{entity} ', shown)
        assert 50 < sum(map(int, rows)) <= DURATION / 0.02
    assert list(tmp_path.glob('.push*')) == []


def test_without_rerun_the_command_that_installs_it_is_named(
    tmp_path, capsys, joint_states, parameters, monkeypatch
):
    monkeypatch.setitem(__import__('sys').modules, 'rerun', None)
    source = record(tmp_path / 'recorded', 'mcap', joint_states, described=True)
    scene = tmp_path / 'push.rrd'
    assert main([str(source), '--output', str(tmp_path / 'out'), '--rerun', str(scene)]) == 1
    assert 'pip install rerun-sdk' in capsys.readouterr().err
    assert not scene.exists() and not (tmp_path / 'out').exists()
