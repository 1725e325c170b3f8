# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The generated impedance controller in faults, on interfaces in place of those of ros2_control."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from built import once
from patience import PATIENCE

from dynamics_ros import Robot
from dynamics_ros.export import export_ros2_control

ROOT = Path(__file__).parents[2]
INTERFACES = Path(__file__).parent / 'ros2_control_interfaces'
C, CPP = shutil.which('gcc') or shutil.which('cc'), shutil.which('g++') or shutil.which('c++')

pytestmark = pytest.mark.skipif(not (C and CPP), reason='no compiler of C and C++ here')

Q = np.array([0.1, 0.5, -0.2, 1.1, 0.3, -0.4, 0.2])
RATE, DT = 1000.0, 1e-3
FORCE_Z, POSE = 9, range(7)
"""Reference interfaces: position.x to orientation.w, then force.x to torque.z."""


FLICKER = 1e-9
"""Noise of the positions [rad], without which an arm that torques do not move would be frozen."""


class Controller:
    """The controller, active at rest in the posture ``Q``, where something holds the arm."""

    def __init__(self, library, robot):
        self.c, self.robot = library, robot
        self.positions, self.flicker = {}, FLICKER
        for i, position in enumerate(Q):
            self.set_state(i, position)
            self.set_state(i + 7, 0.0)
        assert self.c.activate()

    def set_state(self, i, value):
        if i < len(Q):
            self.positions[i] = value
        self.c.set_state(i, ctypes.c_double(value))

    def refer(self, i, value):
        self.c.set_reference(i, ctypes.c_double(value))

    @property
    def efforts(self):
        return np.array([self.c.effort(i) for i in range(7)])

    def update(self, count=1, seconds=DT):
        """Steps whose efforts have to be within their limits and rates."""
        for _ in range(count):
            before = self.efforts
            self.flicker = -self.flicker
            for i, position in self.positions.items():
                self.c.set_state(i, ctypes.c_double(position + self.flicker))
            assert self.c.update(ctypes.c_double(seconds))
            assert (np.abs(self.efforts) <= self.robot.effort_limits).all()
            assert np.abs(self.efforts - before).max() <= RATE * DT + 1e-9

    @property
    def beside_gravity(self):
        return np.abs(self.efforts - self.robot.gravity(Q)).max()


@pytest.fixture(scope='module')
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp('package')
    text = (ROOT / 'urdf' / 'seven_joint_arm.urdf').read_text()
    roll = 'joint name="wrist_roll" type='
    assert f'{roll}"revolute"' in text
    text = text.replace(f'{roll}"revolute"', f'{roll}"continuous"')
    robot = Robot.from_urdf(text)

    def make(into):
        export_ros2_control(robot, text, 'my_arm', into, 'tool0')
        package, objects = into / 'my_arm', []
        for name in ('control.c', 'my_arm_kernels.c'):
            objects.append(into / f'{name}.o')
            options = ['-O0', '-fPIC', '-c', f'-I{package / "include"}', '-o', objects[-1]]
            subprocess.run([C, *options, package / 'src' / name], check=True, timeout=PATIENCE)
        folders = [f'-I{path}' for path in (INTERFACES, package / 'src', package / 'include')]
        options = ['-std=c++17', '-Wall', '-Wextra', '-Werror', '-shared', '-fPIC', *folders]
        command = [CPP, *options, '-o', into / 'controller.so', INTERFACES / 'controller_in_c.cpp']
        subprocess.run([*command, *objects], check=True, timeout=PATIENCE)

    made = ctypes.CDLL(str(once('controller', folder, make) / 'controller.so'))
    for name in ('configure', 'activate', 'deactivate', 'update'):
        getattr(made, name).restype = ctypes.c_bool
    for name in ('effort', 'reference'):
        getattr(made, name).restype = ctypes.c_double
    assert made.configure()
    return made, robot


@pytest.fixture
def controller(library):
    one = Controller(*library)
    # The law starts from the torques that carry the arm, whatever acted before.
    assert one.c.update(ctypes.c_double(DT))
    return one


@pytest.mark.parametrize('number', [np.nan, np.inf, 1e300])
@pytest.mark.parametrize('i', [2, 9])
def test_a_state_that_is_none_is_answered_by_the_torques_that_carry_it(controller, i, number):
    controller.set_state(i, number)
    controller.update(50)
    assert controller.beside_gravity < 1e-6


@pytest.mark.parametrize('seconds', [0.0, -1.0, np.nan, 1.0])
def test_a_period_that_cannot_be_makes_no_step_of_torque(controller, seconds):
    controller.refer(FORCE_Z, 10.0)
    controller.update(20)
    controller.update(5, seconds)
    controller.update(20)


def test_a_wrench_ends_with_nan_and_with_deactivation(controller):
    controller.refer(FORCE_Z, 10.0)
    controller.update(100)
    assert controller.beside_gravity > 1.0
    controller.refer(FORCE_Z, np.nan)
    controller.update(100)
    assert controller.beside_gravity < 1e-6
    controller.refer(FORCE_Z, 10.0)
    controller.update(100)
    controller.set_state(12, 1.0)
    controller.update()
    assert controller.c.deactivate()
    assert controller.beside_gravity < 1e-6
    controller.set_state(12, 0.0)
    assert controller.c.activate()
    assert np.isnan([controller.c.reference(i) for i in range(13)]).all()
    controller.update(100)
    assert controller.beside_gravity < 1e-6


@pytest.mark.parametrize(('number', 'limited'), [(1e6, 50.0), (1e200, 0.0), (np.inf, 0.0)])
def test_a_force_is_shortened_to_its_limit(controller, number, limited):
    controller.refer(FORCE_Z, number)
    controller.update(200)
    wanted = -controller.robot.jacobian(Q, 'tool0').T @ [0, 0, limited, 0, 0, 0]
    assert controller.beside_gravity == pytest.approx(np.abs(wanted).max(), abs=1e-6)


def test_efforts_that_cannot_be_written_are_an_error(controller):
    controller.c.hold_efforts(True)
    assert not controller.c.update(ctypes.c_double(DT))
    assert not controller.c.deactivate()
    controller.c.hold_efforts(False)


@pytest.mark.parametrize('number', [np.nan, np.inf, 1e300])
def test_a_pose_that_is_none_is_no_target(controller, number):
    for i in POSE:
        controller.refer(i, number if i == 1 else 0.5)
    controller.update(100)
    assert controller.beside_gravity < 1e-6


def test_it_carries_the_arm_at_activation_and_begins_only_with_positions(controller):
    controller.update(10)
    assert controller.beside_gravity < 1e-6
    controller.set_state(4, np.nan)
    assert not controller.c.activate()
