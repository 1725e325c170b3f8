# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The generated controller in faults and in a closed loop, on stand-ins of ros2_control."""

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
from dynamics_ros.algorithms.control.impedance import FLAGS
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


STATE, SPEED, COLLIDED, RESTS = FLAGS.index('state'), *range(len(FLAGS), len(FLAGS) + 3)
"""Exported state interfaces: one of the flags, and those after them."""

SHORT = 2e-5
"""Period of a cycle in a burst [s]."""

ROTORS = np.diag([0.02, 0.02, 0.02, 0.02, 2e-3, 2e-3, 2e-3])


class Arm(Controller):
    """The controller and an arm with light rotors that it moves."""

    def __init__(self, library, **options):
        made, self.robot = library
        made.reconfigure.restype = ctypes.c_bool
        made.told.restype = ctypes.c_double
        self.q, self.v, self.steepest = Q.copy(), np.zeros(7), 0.0
        self.configure(made, **options)
        super().__init__(made, self.robot)

    def configure(self, made, mode='impedance', reaction='none', start_from_commands=False):
        assert made.reconfigure(mode.encode(), reaction.encode(), start_from_commands)

    def switch(self, **options):
        """Deactivate, and activate with another configuration, in one cycle."""
        before = self.efforts
        assert self.c.deactivate()
        for i, effort in enumerate(before):
            # Another controller takes over, which reads what the first one commanded last.
            self.c.set_effort(i, ctypes.c_double(effort))
        self.configure(self.c, **options)
        assert self.c.activate()

    def live(
        self, seconds, push=None, states='measured', dt=DT, rotors=ROTORS, burst=0, wrong=None
    ):
        """Move for a time, until an error; states: 'measured', 'frozen', 'nan', 'reversed'.

        Each cycle is followed by a burst of so many short ones, as in a loop that was held up.
        `wrong`: errors of positions [rad] by joint.
        """
        robot, errors = self.robot, wrong or {}
        force = np.zeros(6) if push is None else np.append(push, np.zeros(3))
        for _ in range(round(seconds / dt)):
            before = self.efforts
            for i in range(7):
                if states != 'frozen':
                    self.set_state(i, np.nan if states == 'nan' else self.q[i] + errors.get(i, 0.0))
                    sign = {'measured': 1.0, 'reversed': -1.0, 'nan': np.nan}[states]
                    self.set_state(i + 7, sign * self.v[i])
                self.set_state(i + 14, before[i])
            if not all(self.c.update(ctypes.c_double(x)) for x in (dt, *[SHORT] * burst)):
                return False
            tau = self.efforts
            self.steepest = max(self.steepest, np.abs(tau - before).max() / dt)
            for _ in range(round(dt / DT)):
                given = tau + robot.jacobian(self.q, 'tool0').T @ force
                M = robot.mass_matrix(self.q) + rotors
                a = np.linalg.solve(M, given - robot.nonlinear_effects(self.q, self.v))
                self.v = self.v + DT * a
                self.q = self.q + DT * self.v
        return True

    @property
    def place(self):
        return self.robot.forward_kinematics(self.q, 'tool0')[:3, 3]

    @property
    def speed(self):
        return np.linalg.norm(self.robot.frame_velocity(self.q, self.v, 'tool0')[:3])

    @property
    def fastest(self):
        return np.abs(self.v).max()

    def told(self, i):
        return self.c.told(i)


@pytest.fixture
def left_as_found(library):
    yield library
    made, _ = library
    made.reconfigure(b'impedance', b'none', False)
    for i in range(7):
        made.set_state(i + 14, ctypes.c_double(0.0))


def moving(library, **options):
    arm = Arm(library, **options)
    arm.live(0.01)
    arm.refer(FORCE_Z, -30.0)
    arm.live(0.3)
    assert arm.fastest > 0.3
    assert arm.told(RESTS) == 0.0
    return arm


def test_a_controller_of_mode_stop_takes_over_in_motion_and_ends_it(left_as_found):
    arm = moving(left_as_found)
    there, arm.steepest = arm.place, 0.0
    arm.switch(mode='stop', start_from_commands=True)
    arm.live(0.6)
    assert arm.steepest <= RATE * (1.0 + 1e-9), 'no step of effort, also not at the switch'
    assert arm.told(RESTS) == 1.0
    assert np.linalg.norm(arm.place - there) < 0.15
    there = arm.place
    arm.live(0.5, push=np.array([0.0, 0.0, -4.9]))
    arm.live(1.0)
    assert np.linalg.norm(arm.place - there) < 0.1


def test_efforts_that_are_none_or_beyond_limits_are_not_continued(left_as_found):
    made, robot = left_as_found
    arm = Arm(left_as_found)
    for wrong in (np.nan, np.inf, 1e4):
        arm.switch(mode='stop', start_from_commands=True)
        assert made.deactivate()
        made.set_effort(2, ctypes.c_double(wrong))
        assert made.activate()
        assert made.update(ctypes.c_double(DT))
        assert np.abs(arm.efforts - robot.gravity(arm.q)).max() <= RATE * DT + 1e-9


def test_a_hand_guides_the_arm_and_leaves_it_where_it_is(left_as_found):
    arm = Arm(left_as_found, mode='guiding')
    there = arm.place
    arm.live(0.8, push=np.array([0.0, 8.0, 0.0]))
    assert arm.place[1] - there[1] > 0.05
    assert arm.steepest <= RATE * (1.0 + 1e-9)
    arm.live(0.5)
    there = arm.place
    arm.live(1.0)
    assert np.linalg.norm(arm.place - there) < 0.2
    # The springs of the impedance begin where the hand has left the tool.
    arm.switch(mode='impedance', start_from_commands=True)
    arm.live(2.0)
    assert arm.fastest < 0.05
    assert np.linalg.norm(arm.place - there) < 0.3


@pytest.mark.parametrize('dt', [0.001, 0.004, 0.01, 0.02])
@pytest.mark.parametrize('mode', ['impedance', 'guiding', 'stop'])
def test_a_light_wrist_without_rotors_comes_to_rest_however_long_its_cycle_is(
    left_as_found, mode, dt
):
    arm = Arm(left_as_found, mode=mode)
    arm.v[:] = 1e-3
    arm.live(0.5, dt=dt, rotors=0.0)
    assert arm.fastest < 0.01
    arm.live(0.2, push=np.array([4.0, -4.0, 3.0]), dt=dt, rotors=0.0)
    assert arm.fastest > 0.05
    arm.live(1.0, dt=dt, rotors=0.0)
    assert arm.fastest < (1.5 if mode == 'guiding' else 0.1)


@pytest.mark.parametrize('mode', ['impedance', 'guiding', 'stop'])
def test_a_control_loop_that_is_held_up_and_then_hurries_does_not_fling_the_arm(
    left_as_found, mode
):
    """It runs the cycles of 48 ms at once, and the last efforts act until the next burst."""
    arm, pushed = Arm(left_as_found, mode=mode), np.array([0.0, 0.0, 5.0])
    held_up = {'dt': 0.048, 'rotors': 0.0, 'burst': 47}
    arm.live(0.1, rotors=0.0)
    arm.live(0.096, **held_up)
    arm.live(0.048, push=pushed, **held_up)
    speed, fastest = arm.speed, 0.0
    for _ in range(20):
        assert arm.live(0.048, **held_up)
        fastest = max(fastest, arm.speed)
    assert fastest < 1.1 * speed
    assert arm.speed < (0.5 if mode == 'guiding' else 0.1) * speed


REACTIONS = ('stop', 'float')


@pytest.mark.parametrize('reaction', REACTIONS)
def test_a_collision_is_reacted_to_and_awaits_acknowledgement(left_as_found, reaction):
    arm = Arm(left_as_found, reaction=reaction)
    assert arm.c.number_of_state_interfaces() == 21
    arm.live(0.2)
    arm.steepest = 0.0
    assert arm.told(COLLIDED) == 0.0
    there, struck = arm.place, np.array([60.0, 0.0, 0.0])
    arm.live(0.1, push=struck)
    assert arm.told(COLLIDED) == 1.0
    gone = {}
    for seconds in (0.2, 1.5):
        arm.live(seconds)
        gone[seconds] = np.linalg.norm(arm.place - there)
    assert arm.told(COLLIDED) == arm.told(RESTS) == 1.0
    assert arm.steepest <= RATE * (1.0 + 1e-9)
    if reaction == 'stop':
        assert gone[0.2] < 0.2
    # A target is followed only after acknowledgement.
    there = arm.place
    arm.refer(FORCE_Z, -5.0)
    arm.live(0.3)
    assert np.linalg.norm(arm.place - there) < 2e-3
    arm.c.acknowledge()
    arm.live(0.1)
    assert arm.told(COLLIDED) == 0.0
    arm.refer(FORCE_Z, -5.0)
    arm.live(0.5)
    assert np.linalg.norm(arm.place - there) > 5e-3


def test_a_moving_arm_without_states_is_braked_and_then_stays(left_as_found):
    arm = moving(left_as_found)
    fastest, arm.steepest = arm.fastest, 0.0
    arm.live(0.03, states='nan')
    assert arm.told(STATE) == 1.0
    assert arm.live(0.17, states='nan')
    assert arm.fastest < 0.6 * fastest
    assert np.isfinite(arm.efforts).all()
    # States that come back do not resume the motion, although the force is still wanted.
    there = arm.place
    arm.live(0.6)
    assert arm.told(STATE) == 0.0
    assert arm.fastest < 0.05
    assert np.linalg.norm(arm.place - there) < 0.15
    there = arm.place
    arm.live(0.3)
    assert np.linalg.norm(arm.place - there) < 2e-3
    assert arm.steepest <= RATE * (1.0 + 1e-9)


@pytest.mark.parametrize('states', ['frozen', 'reversed', 'nan'])
def test_wrong_states_are_braked_by_a_prediction_and_end_in_an_error(left_as_found, states):
    arm = moving(left_as_found)
    speed, fastest = arm.speed, arm.fastest
    assert arm.live(0.02, states=states)
    assert arm.told(STATE) == 1.0
    faster = arm.speed - speed
    ended = False
    for _ in range(40):
        ended = ended or not arm.live(0.01, states=states)
        faster = max(faster, arm.speed - speed)
    assert ended, 'the controller manager activates the fallback'
    assert faster < (1.0 if states == 'reversed' else 0.5)
    assert arm.fastest < 0.6 * fastest
    assert np.abs(arm.efforts - arm.robot.gravity(arm.q)).max() < 2.0
    # The fallback, with true states again.
    for i, value in enumerate((*arm.q, *arm.v)):
        arm.set_state(i, value)
    arm.switch(mode='stop', start_from_commands=True)
    arm.live(0.6)
    assert arm.fastest < 0.05


@pytest.mark.parametrize('samples', [1, 5])
@pytest.mark.parametrize('size', [0.1, -0.5])
def test_a_position_that_jumps_and_comes_back_is_no_measurement(left_as_found, size, samples):
    arm = moving(left_as_found)
    speed, arm.steepest = arm.speed, 0.0
    for _ in range(samples):
        assert arm.live(DT, wrong={2: size})
        assert arm.told(STATE) == 1.0
    arm.live(DT)
    assert arm.told(STATE) == 1.0
    assert arm.speed < 1.05 * speed
    assert arm.live(2.0)
    assert arm.told(STATE) == 0.0
    assert arm.told(RESTS) == 1.0
    assert arm.steepest <= RATE * (1.0 + 1e-9)


@pytest.mark.parametrize('wrong', [{2: 0.1}, {2: -0.5}, {1: 0.5, 3: -0.5}])
def test_positions_that_jump_and_stay_wrong_end_in_an_error(left_as_found, wrong):
    arm = moving(left_as_found)
    speed, faster, ended = arm.speed, 0.0, False
    for _ in range(30):
        ended = ended or not arm.live(0.01, wrong=wrong)
        faster = max(faster, arm.speed - speed)
    assert ended
    assert faster < 0.1


@pytest.mark.parametrize(
    ('name', 'good', 'bad'),
    [
        ('stiffness', 500.0, (1e6, -1.0, np.nan)),
        ('damping', 20.0, (1e6, -1.0, np.inf)),
        ('posture_stiffness', 0.0, (1e6, -1.0, np.nan)),
        ('posture_damping', 0.0, (1e5, np.nan)),
        ('limit_stiffness', 0.0, (1e6, -1.0)),
        ('guard_rate', 20.0, (0.0, 1e4, np.nan)),
        ('max_torque_rate', 500.0, (0.0, np.inf)),
        ('friction.load', 0.1, (1.5, -0.1)),
        ('setpoint_limits', 0.5, (0.0, 1e4)),
        ('blending_time', 0.5, (0.0, 1e3, np.nan)),
        ('torque_share', 0.5, (0.0, 1.5, np.nan)),
        ('state_timeout', 0.05, (0.0, np.nan)),
        ('guiding.damping', 5.0, (1e6, -1.0)),
    ],
)
def test_settings_beyond_their_bounds_are_no_configuration(left_as_found, name, good, bad):
    made, _ = left_as_found
    made.accepts.restype = ctypes.c_bool
    assert made.accepts(name.encode(), ctypes.c_double(good))
    for value in bad:
        assert not made.accepts(name.encode(), ctypes.c_double(value)), value


def test_deactivation_alone_leaves_gravity_torques_and_an_arm_that_goes_on(left_as_found):
    arm = moving(left_as_found)
    assert arm.c.deactivate()
    carried = arm.robot.gravity(arm.q)
    assert np.abs(arm.efforts - carried).max() < 1.0
    assert arm.fastest > 0.3


def test_a_single_missing_state_does_not_end_a_motion(left_as_found):
    arm = moving(left_as_found)
    arm.live(DT, states='nan')
    assert arm.told(STATE) == 1.0
    arm.live(DT)
    assert arm.told(STATE) == 0.0
    arm.live(0.1)
    assert arm.fastest > 0.3


def test_an_angle_that_the_driver_wraps_by_a_turn_is_no_jump(left_as_found):
    arm = Arm(left_as_found)
    arm.live(0.1)
    there = arm.place
    for turns in (-1.0, 2.0):
        arm.q[6] += 2.0 * np.pi * turns
        arm.live(0.1)
        assert arm.told(STATE) == 0.0
        assert arm.fastest < 0.01
        assert np.linalg.norm(arm.place - there) < 1e-4


def test_a_joint_that_is_too_fast_is_braked_before_targets_are_followed(left_as_found):
    arm = Arm(left_as_found)
    arm.live(0.05)
    arm.v[2] = 2.0 * arm.robot.velocity_limits[2]
    arm.live(0.01)
    assert arm.told(SPEED) == 1.0
    arm.live(1.5)
    assert arm.told(SPEED) == 0.0
    assert arm.fastest < 0.05
