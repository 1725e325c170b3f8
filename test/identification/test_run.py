# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""calibrate_robot run in front of robot_simulator: it moves, records, identifies, and stops."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from functools import partial

import numpy as np
import pytest
import yaml

pytest.importorskip('rclpy')
pytest.importorskip('control_msgs.action')

from few_joint_arms import few_joint_arm
from ros_harness import client, running
from sensor_msgs.msg import JointState
from two_joint_arm import two_joint_arm

from dynamics_ros.calibration import plan as planning
from dynamics_ros.calibration.command import main
from dynamics_ros.identification.excitation.fourier import plan_excitation

pytestmark = [pytest.mark.ros, pytest.mark.slow]

DOMAIN = 143
VISCOUS, COULOMB = 1.5, 2.0


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    """With the description, which knows no friction, and a plan."""
    found = tmp_path_factory.mktemp('run')
    (found / 'arm.urdf').write_text(two_joint_arm())
    plan = ['--output', str(found / 'motion.yaml'), '--duration', '10']
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planning, 'plan_excitation', partial(plan_excitation, iterations=30))
        assert main(['plan', '--robot', str(found / 'arm.urdf'), *plan, '--floor', '0.02']) == 0
    return found


@pytest.fixture(scope='module')
def ros():
    arm = {'robot_description': two_joint_arm(VISCOUS, COULOMB), 'motion': False}
    with running('robot_simulator', DOMAIN, arm), client(DOMAIN) as one:
        yield one


@pytest.fixture(scope='module')
def states(ros):
    received = ros.listen(JointState, '/joint_states', 100)
    ros.wait_for(lambda: received)
    return received


@contextmanager
def run(folder, *options):
    """The command as a process, which the block does not leave behind."""
    given = ['--robot', 'arm.urdf', '--trajectory', 'motion.yaml', '--speed', '0.5']
    given += ['--action', '/robot_simulator/follow_joint_trajectory', *options]
    with subprocess.Popen(
        [sys.executable, '-m', 'dynamics_ros.calibration.running', 'run', *given],
        cwd=folder,
        env={**os.environ, 'ROS_DOMAIN_ID': str(DOMAIN), 'PYTHONUNBUFFERED': '1'},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def ended(ros, process):
    ros.wait_for(lambda: process.poll() is not None)
    return process.returncode, process.stdout.read()


def wait_for_motion(ros, process, states, meanwhile=None):
    """Raises with what the command printed where it ends without one."""
    ros.wait_for(lambda: moving(states) or process.poll() is not None, meanwhile=meanwhile)
    assert process.poll() is None, process.stdout.read()


def moving(states):
    return len(states) > 1 and np.abs(states[-1].velocity).max() > 0.05


def test_it_moves_records_and_finds_the_friction(ros, states, folder):
    outputs = '--parameters', 'found.yaml', '--output', 'found.urdf'
    with run(folder, '--yes', *outputs) as process:
        code, printed = ended(ros, process)
    assert code == 0, printed
    assert 'moves the robot for' in printed and 'the robot rests' in printed
    found = yaml.safe_load((folder / 'found.yaml').read_text())
    parameters = found['/**/contact_node']['ros__parameters']
    np.testing.assert_allclose(parameters['friction']['viscous'], VISCOUS, atol=0.15)
    np.testing.assert_allclose(parameters['friction']['coulomb'], COULOMB, atol=0.15)
    assert 'friction="' in (folder / 'found.urdf').read_text()
    header, *rows = (folder / 'recording.csv').read_text().splitlines()
    assert 'shoulder.position' in header and len(rows) > 1000


def test_a_gantry_with_a_short_stroke_moves_too(ros, tmp_path):
    text = few_joint_arm('gantry')
    text = re.sub('(joint_3.*?)lower="-3" upper="3"', r'\1lower="-0.05" upper="0.05"', text)
    text = text.replace('lower="-3" upper="3"', 'lower="-0.8" upper="0.8"')
    (tmp_path / 'arm.urdf').write_text(text)
    plan = ['--output', str(tmp_path / 'motion.yaml'), '--duration', '10']
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(planning, 'plan_excitation', partial(plan_excitation, iterations=30))
        assert main(['plan', '--robot', str(tmp_path / 'arm.urdf'), *plan]) == 0
    friction = f'<dynamics damping="{20.0 * VISCOUS}" friction="{4.0 * COULOMB}"/></joint>'
    gantry = text.replace('velocity="3"/></joint>', f'velocity="3"/>{friction}')
    parameters = {'robot_description': gantry, 'motion': False}
    name = '/gantry/robot_simulator/follow_joint_trajectory'
    inputs = '--action', name, '--joint-states', '/gantry/joint_states'
    options = '--yes', *inputs, '--parameters', 'found.yaml'
    node = running('robot_simulator', DOMAIN, parameters, namespace='/gantry')
    with node, run(tmp_path, *options) as process:
        code, printed = ended(ros, process)
    assert code == 0, printed
    found = yaml.safe_load((tmp_path / 'found.yaml').read_text())['/**/contact_node']
    parameters = found['ros__parameters']['friction']
    np.testing.assert_allclose(parameters['viscous'], 20.0 * VISCOUS, rtol=0.1)
    np.testing.assert_allclose(parameters['coulomb'], 4.0 * COULOMB, rtol=0.1)


def test_ctrl_c_stops_the_robot_and_says_that_it_rests(ros, states, folder):
    with run(folder, '--yes') as process:
        wait_for_motion(ros, process, states)
        process.send_signal(signal.SIGINT)
        code, printed = ended(ros, process)
    assert code == 130, printed
    assert 'stopped: the robot rests' in printed
    states.clear()
    ros.wait_for(lambda: len(states) > 50)
    assert np.ptp([state.position for state in states], axis=0).max() < 0.002


def test_lost_joint_states_cancel_the_motion(ros, states, folder):
    relayed = []

    def relay():
        if states and not relayed:
            ros.publish('/relayed', states[-1])

    with run(folder, '--yes', '--joint-states', '/relayed') as process:
        wait_for_motion(ros, process, states, relay)
        relayed.append(True)
        code, printed = ended(ros, process)
    assert code == 1
    assert 'no joint states for 0.5 s: cancelled, IT IS NOT KNOWN' in printed
    states.clear()
    ros.wait_for(lambda: len(states) > 50)
    assert not moving(states)


@pytest.mark.parametrize(
    ('options', 'text'),
    [
        ((), '--yes says so'),
        (('--yes', '--action', '/nobody'), 'no controller offers this action'),
        (('--yes', '--joint-states', '/nothing'), 'no joint states'),
        (('--yes', '--floor', '0.9'), 'goes below 0.9 m'),
        (('--yes', '--split', '2'), 'not between 0 and 1'),
    ],
)
def test_what_cannot_be_moves_nothing(ros, states, folder, options, text):
    before = list(states[-1].position)
    with run(folder, *options) as process:
        code, printed = ended(ros, process)
    assert code != 0 and text in printed
    assert not re.search('Traceback', printed)
    np.testing.assert_allclose(states[-1].position, before, atol=0.002)
