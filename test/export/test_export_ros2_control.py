# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The C of a generated ros2_control package computes what the library computes, in every mode."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from built import once
from few_joint_arms import ARMS, few_joint_arm
from patience import PATIENCE, times
from tolerances import LAW

from dynamics_ros import Robot
from dynamics_ros.algorithms.contact import torque_observer
from dynamics_ros.algorithms.control.impedance import FLAGS, JOINT_GAINS
from dynamics_ros.algorithms.control.motion_check import ROWS
from dynamics_ros.control import (
    ArmSettings,
    Compliance,
    CompliantArm,
    Guiding,
    ImpedanceController,
    ImpedanceState,
    ImpedanceTarget,
    Reaction,
    ReactionSettings,
    Setpoint,
    SetpointLimits,
)
from dynamics_ros.control.compliance.compliant_arm import AT_REST
from dynamics_ros.control.compliance.motion_check import velocity_limits
from dynamics_ros.demo.known_robots import robots_folder
from dynamics_ros.estimation import MomentumObserver, WrenchEstimator
from dynamics_ros.export import export_ros2_control
from dynamics_ros.export.ros2_control import numbers

ROOT = Path(__file__).parents[2]
ARM = ROOT / 'urdf' / 'seven_joint_arm.urdf'
C = shutil.which('gcc') or shutil.which('cc')
STRICT = ['-std=c11', '-Wall', '-Wextra', '-pedantic', '-Werror']

PANDA = 'panda_description/urdf/panda.urdf'

ROBOTS = {
    'seven_joint_arm': ('', 'tool0', {}),
    'six joints': ('ur_description/urdf/ur5_robot.urdf', 'tool0', {}),
    'fingers, one a mimic': (PANDA, 'panda_hand', {}),
    'locked fingers, another tool': (PANDA, 'panda_link7', {'panda_finger_joint1': 0.02}),
    'a lift': ('lift', 'tool0', {}),
    'four joints': ('scara', 'tool', {}),
}
"""File of the package example-robot-data, tool and locked joints."""

USUAL = ('seven_joint_arm', 'fingers, one a mimic', 'a lift', 'four joints')
"""Robots that differ in kind; --thorough takes all."""


def on_a_lift(urdf):
    """The arm on a prismatic joint, with a gripper whose second finger follows the first."""
    inertial = (
        '<inertial><origin xyz="0 0 0.1"/><mass value="{}"/><inertia ixx="0.1" iyy="0.1" izz="0.1"'
        ' ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    joint = (
        '<joint name="{0}" type="prismatic"><parent link="{1}"/><child link="{2}"/>'
        '<axis xyz="0 0 1"/><limit lower="-0.5" upper="0.5" velocity="1" effort="{3}"/>{4}</joint>'
    )
    follows = '<mimic joint="finger" multiplier="-0.5" offset="0.01"/>'
    more = (
        f'<link name="floor"/>{joint.format("lift", "floor", "base_link", 900, "")}'
        f'<link name="left">{inertial.format(0.1)}</link>'
        f'<link name="right">{inertial.format(0.1)}</link>'
        f'{joint.format("finger", "tool0", "left", 20, "")}'
        f'{joint.format("follower", "tool0", "right", 20, follows)}</robot>'
    )
    return urdf.replace('</robot>', more)


def urdf_text(file):
    if file in ('', 'lift'):
        return on_a_lift(ARM.read_text()) if file else ARM.read_text()
    return (robots_folder() / file).read_text()


def exported(name, folder, then=lambda package: None):
    """A package, with what a function adds to it."""
    file, tool, locked = ROBOTS[name]
    try:
        text = few_joint_arm(file) if file in ARMS else urdf_text(file)
    except FileNotFoundError as error:
        pytest.skip(str(error))
    robot = Robot.from_urdf(text, locked_joints=locked)

    def make(into):
        export_ros2_control(robot, text, 'my_arm', into, tool)
        then(into / 'my_arm')

    made = once(f'{name} {then.__name__}', folder, make)
    return SimpleNamespace(robot=robot, tool=tool, folder=made / 'my_arm')


def library(package):
    """Compile a package, one of them with the optimizer, which warns of more and takes longer."""
    optimized = '-O1' if 'seven_joint_arm' in str(package) else '-O0'
    sources = [package / 'src' / name for name in ('control.c', 'my_arm_kernels.c')]
    options = [*STRICT, optimized, '-shared', '-fPIC', f'-I{package / "include"}']
    command = [C, *options, '-o', package / 'control.so', *sources, '-lm']
    subprocess.run(command, check=True, timeout=PATIENCE)


@pytest.fixture
def compiled(package):
    """A package with random numbers that do not depend on the tests before."""
    package.rng = np.random.default_rng(4)
    return package


@pytest.fixture(scope='module', params=times(USUAL, ROBOTS))
def package(request, tmp_path_factory):
    """A package with its library, and the structures of its header."""
    if C is None:
        pytest.skip('no C compiler here')
    made = exported(request.param, tmp_path_factory.mktemp('package'), library)
    made.c = ctypes.CDLL(str(made.folder / 'control.so'))
    made.c.my_arm_frame.argtypes = (ctypes.c_char_p,)
    return made


def structure(**sizes):
    """A structure of numbers: 0 stands for one of them, None for an int."""
    kinds = {0: ctypes.c_double, None: ctypes.c_int}
    fields = [(name, kinds.get(n) or ctypes.c_double * n) for name, n in sizes.items()]
    return type('Structure', (ctypes.Structure,), {'_fields_': fields})()


def pointer(x):
    return ctypes.byref(x) if isinstance(x, ctypes.Structure) else x.ctypes.data_as(ctypes.c_void_p)


def call(function, *arguments):
    """Numbers by value, arrays and structures by where they are."""
    passed = [
        ctypes.c_double(x) if isinstance(x, float) else x if isinstance(x, int) else pointer(x)
        for x in arguments
    ]
    function(*passed)


def gains_of(n):
    return structure(
        stiffness=36, damping=36, joints=15 * n, settings=2, setpoint_limits=6,
        velocity_limits=n, speed_share=0, state_timeout=0, friction=n, blending_time=0,
    )  # fmt: skip


def target_of(n):
    return structure(pose=16, posture=n, wrench=6)


def memory_of(n):
    return structure(
        memory=4 * n + 1, setpoint=16, twist=6, stop=2 * n + 1, runaway=0,
        state=2 * n, sample=n, check=n + (2 + len(ROWS)) * n, range_share=0, missing=0, blind=0,
        lost=None, doubted=None,
    )  # fmt: skip


class TestImpedance:
    def test_steps_are_those_of_the_library(self, compiled):
        """A second of a target that is far away, with noise for motion."""
        robot, tool, c = compiled.robot, compiled.tool, compiled.c
        n = robot.nv
        gains, target, memory = gains_of(n), target_of(n), memory_of(n)
        q = numbers.start(robot, tool)
        call(c.my_arm_default_gains, gains)
        gains.blending_time = 1e-9  # springs of joint ranges at once
        call(c.my_arm_target_at, q, target)
        c.my_arm_impedance_start(pointer(memory), pointer(q), None)
        controller = ImpedanceController(robot, tool)
        wanted_gains = numbers.gains(robot, tool)
        for name, share in (('coulomb', 0.3), ('load_friction', 0.1)):
            row = JOINT_GAINS.index(name)
            gains.joints[row * n : (row + 1) * n] = [share] * n
            wanted_gains.joints[row] = share
        setpoint, before = Setpoint(robot.forward_kinematics(q, tool)), controller.start(q)
        goal = robot.forward_kinematics(robot.random_configuration(compiled.rng), tool)
        target.pose[:] = goal.ravel()
        target.wrench[:] = wrench = np.array([1.0, -2.0, 3.0, 0.1, 0.2, -0.3])
        tau, flags = np.empty(n), np.empty(len(FLAGS))
        for _ in range(50):
            q = q + 1e-3 * compiled.rng.normal(size=n)
            v = 0.1 * compiled.rng.normal(size=n)
            call(c.my_arm_impedance_step, memory, gains, target, q, v, 0.002, tau, flags)
            setpoint.approach(goal, robot.forward_kinematics(q, tool), SetpointLimits(), 0.002)
            aim = ImpedanceTarget(
                setpoint.pose, np.array(target.posture), setpoint.twist, wrench=wrench
            )
            step = controller.step(ImpedanceState(q, v, 0.002), aim, wanted_gains, before)
            before = step.memory
            assert np.abs(tau - step.tau).max() <= LAW * max(1.0, np.abs(step.tau).max())
            assert np.array_equal(flags, step.flags)


class TestWrench:
    def settings_of(self, compiled):
        n = compiled.robot.nv
        rows = len(torque_observer.SETTINGS)
        settings = structure(joints=rows * n, noise=4 * n, estimate=3, max_gap=0)
        memory = structure(memory=torque_observer.MEMORY * n, started=None)
        call(compiled.c.my_arm_default_observer_settings, settings)
        call(compiled.c.my_arm_observer_start, memory)
        return settings, memory

    def test_it_is_the_observer_and_the_estimator_of_the_library(self, compiled):
        robot, tool, rng = compiled.robot, compiled.tool, compiled.rng
        n = robot.nv
        settings, memory = self.settings_of(compiled)
        observer = MomentumObserver(robot, max_gap=numbers.MAX_PAUSE)
        estimator = WrenchEstimator(
            robot, tool, expressed_in=tool,
            effort_noise=numbers.EFFORT_NOISE, velocity_noise=numbers.VELOCITY_NOISE,
            momentum_gain=observer.noise_gains(1e-3).momentum,
        )  # fmt: skip
        q, stamp = numbers.start(robot, tool), 0
        external, wrench, observable = np.empty(n), np.empty(6), np.empty(7)
        for k in range(60):
            # A pause that is too long for one step, half way.
            stamp += 1_000_000 if k != 30 else 200_000_000
            q = q + 1e-3 * rng.normal(size=n)
            v, effort = 0.1 * rng.normal(size=n), 5.0 * rng.normal(size=n)
            interval = 0.001 if k != 30 else 0.2
            call(
                compiled.c.my_arm_observer_step,
                *(memory, settings, q, v, effort, interval, external, wrench, observable),
            )
            wanted = observer.update(stamp, q, v, effort)
            (estimate,) = estimator.estimate(q, wanted)
            assert np.abs(external - wanted).max() <= LAW * max(1.0, np.abs(wanted).max())
            scale = max(1.0, np.abs(estimate.wrench).max())
            assert np.abs(wrench - estimate.wrench).max() <= 1e-9 * scale
            assert np.array_equal(observable, estimate.flags)

    def test_nan_is_told_and_forgotten(self, compiled):
        n = compiled.robot.nv
        settings, memory = self.settings_of(compiled)
        external, wrench, observable = np.empty(n), np.empty(6), np.empty(7)
        q, rest, broken = (
            numbers.start(compiled.robot, compiled.tool),
            np.zeros(n),
            np.full(n, np.nan),
        )
        step = compiled.c.my_arm_observer_step
        results = external, wrench, observable
        call(step, memory, settings, q, rest, rest, 0.001, *results)
        call(step, memory, settings, q, rest, broken, 0.001, *results)
        assert np.isnan(external).all() and np.isnan(wrench).all()
        assert observable.tolist() == [0.0] * 6 + [1.0]
        call(step, memory, settings, q, rest, rest, 0.001, *results)
        assert not external.any() and not wrench.any()


class TestKinematicsAndDynamics:
    def test_frames_are_those_of_the_robot(self, compiled):
        robot, c = compiled.robot, compiled.c
        n = robot.nv
        q, v = robot.random_configuration(compiled.rng), compiled.rng.normal(size=n)
        pose, J, inverse = np.empty((4, 4)), np.empty((6, n)), np.empty((n, 6))
        twist, joints = np.empty(6), np.empty(n)
        assert c.my_arm_frame(b'nothing') == -1
        for name in robot.frame_names:
            frame = c.my_arm_frame(name.encode())
            call(c.my_arm_frame_pose, frame, q, pose)
            call(c.my_arm_frame_jacobian, frame, q, J)
            call(c.my_arm_frame_jacobian_inverse, frame, q, 5e-6, inverse)
            call(c.my_arm_twist_of_joints, frame, q, v, twist)
            call(c.my_arm_joints_of_twist, frame, q, twist, 5e-6, joints)
            wanted = robot.jacobian(q, name)
            damped = wanted.T @ np.linalg.inv(wanted @ wanted.T + 5e-6 * np.eye(6))
            assert np.abs(pose - robot.forward_kinematics(q, name)).max() <= LAW, name
            assert np.abs(J - wanted).max() <= LAW, name
            scale = max(1.0, np.abs(damped).max())
            assert np.abs(inverse - damped).max() <= 1e-8 * scale, name
            assert np.abs(twist - wanted @ v).max() <= 1e-9, name
            assert np.abs(joints - damped @ twist).max() <= 1e-8 * scale * n, name

    def test_dynamics_are_those_of_the_robot(self, compiled):
        robot, c, rng = compiled.robot, compiled.c, compiled.rng
        n = robot.nv
        q, v, a = robot.random_configuration(rng), rng.normal(size=n), rng.normal(size=n)
        M, tau = np.empty((n, n)), np.empty(n)
        call(c.my_arm_mass_matrix, q, M)
        assert np.abs(M - robot.mass_matrix(q)).max() <= LAW
        call(c.my_arm_coriolis_torques, q, v, tau)
        assert np.abs(tau - robot.coriolis(q, v) @ v).max() <= 1e-9
        call(c.my_arm_inverse_dynamics, q, v, a, tau)
        assert np.abs(tau - robot.inverse_dynamics(q, v, a)).max() <= 1e-9


DT = 0.001


class Both:
    """The arm of the library and the functions of C, with the same settings and samples."""

    def __init__(self, compiled, blending_time=1e-6):
        robot, tool, self.c = compiled.robot, compiled.tool, compiled.c
        self.robot, self.rng = robot, np.random.default_rng(7)
        self.q = numbers.start(robot, tool)
        self.v = 0.2 * self.rng.normal(size=robot.nv)
        self.gains, self.memory = gains_of(robot.nv), memory_of(robot.nv)
        call(self.c.my_arm_default_gains, self.gains)
        self.c.my_arm_impedance_start(pointer(self.memory), pointer(self.q), None)
        n = robot.nv
        joints = {
            'posture_stiffness': numbers.POSTURE_STIFFNESS,
            'posture_damping': numbers.POSTURE_DAMPING,
            'margin': numbers.MARGIN,
            'limit_stiffness': numbers.LIMIT_STIFFNESS,
        }
        self.guiding = Guiding(np.repeat(numbers.GUIDING_DAMPING, 3), *numbers.GUIDING_SPEEDS)
        stiffness = np.diag(numbers.STIFFNESS)
        self.gains.blending_time = blending_time
        settings = ArmSettings(
            Compliance(stiffness), self.guiding, joints=joints, blending_time=blending_time
        )
        self.arm = CompliantArm(ImpedanceController(robot, tool), settings)
        self.arm.start(self.q, np.zeros(n))
        self.tau, self.flags = np.empty(n), np.empty(8)

    def compare(self, count, by_library, by_c):
        for _ in range(count):
            self.q = self.robot.integrate(self.q, DT * self.v)
            self.v = 0.98 * self.v + 0.01 * self.rng.normal(size=self.robot.nv)
            wanted = by_library(self.q, self.v, DT)
            by_c(self.q, self.v)
            scale = max(1.0, np.abs(wanted).max())
            assert np.abs(self.tau - wanted).max() <= 1e3 * LAW * scale

    def results(self, q, v):
        return q, v, DT, self.tau, self.flags


@pytest.mark.parametrize('law', ['brake', 'guide', 'float'])
def test_a_law_is_that_of_the_library(compiled, law):
    both, more = Both(compiled), ()
    ours = getattr(both.arm, law, None)
    if law == 'guide':
        more = (structure(damping=6, speeds=2),)
        call(both.c.my_arm_default_guiding, *more)
        assert np.array_equal(more[0].damping, both.guiding.damping)
    elif law == 'float':
        settings = ReactionSettings('float', duration=5.0)
        ours, more = Reaction(settings, both.arm).step, (settings.damping,)
    step = getattr(both.c, f'my_arm_{law}_step')
    both.compare(
        60, ours, lambda q, v: call(step, both.memory, both.gains, *more, *both.results(q, v))
    )


def test_an_arm_without_states_brakes_as_that_of_the_library(compiled):
    both = Both(compiled)
    none = np.full(both.robot.nv, np.nan)
    steps = []

    def by_library(q, v, dt):
        steps.append(len(steps) % 7 < 4)
        return both.arm.brake(q, v, dt) if steps[-1] else both.arm.reckon(dt)

    def brake(q, v):
        q, v = (q, v) if steps[-1] else (none, none)
        call(both.c.my_arm_brake_step, both.memory, both.gains, *both.results(q, v))
        assert both.flags[0] == (not steps[-1])

    both.compare(100, by_library, brake)


def test_a_motion_that_runs_away_is_told_until_it_is_caught(compiled):
    both = Both(compiled)
    limits = velocity_limits(both.robot)
    assert np.array_equal(both.gains.velocity_limits, limits)
    runs_away = both.c.my_arm_runs_away

    def told(share):
        v = share * limits
        return runs_away(pointer(both.memory), pointer(both.gains), pointer(v))

    assert [told(x) for x in (1.4, -1.6, 0.5, 0.11, 0.09, 1.4)] == [0, 1, 1, 1, 0, 0]
    for share, rests in ((0.5, 1), (2.0, 0), (np.nan, 0)):
        v = np.full(both.robot.nv, share * AT_REST)
        assert both.c.my_arm_at_rest(pointer(v)) == rests


@pytest.mark.parametrize(
    ('step', 'where'),
    [
        ('impedance', 'target'),
        *product(['impedance', 'brake', 'guide', 'float'], ['q', 'v', 'interval']),
    ],
)
@pytest.mark.parametrize('number', [np.nan, np.inf, 1e300])
@pytest.mark.few(13)
def test_numbers_that_are_none_leave_torques_within_limits(compiled, step, where, number):
    both = Both(compiled)
    n = both.robot.nv
    guiding, target = structure(damping=6, speeds=2), target_of(n)
    call(both.c.my_arm_default_guiding, guiding)
    call(both.c.my_arm_target_at, both.q, target)
    more = {'impedance': (target,), 'brake': (), 'guide': (guiding,), 'float': (5.0,)}[step]
    function = getattr(both.c, f'my_arm_{step}_step')
    # Between two samples at 1 kHz; a stop may make up for those that are missing.
    change = 1.0 if step == 'impedance' else 50.0

    def run(broken):
        inputs = {'q': both.q.copy(), 'v': np.zeros(n), 'interval': DT}
        pose = list(target.pose)
        if broken and where == 'interval':
            inputs['interval'] = float(number)
        elif broken and where == 'target':
            target.pose[3] = number
        elif broken:
            inputs[where][0] = number
        before = np.array(both.memory.memory)[n : 2 * n]
        call(function, both.memory, both.gains, *more, *inputs.values(), both.tau, both.flags)
        target.pose[:] = pose
        assert np.isfinite(both.tau).all()
        assert (np.abs(both.tau) <= both.robot.effort_limits + 1e-9).all()
        assert np.abs(both.tau - before).max() <= change + 1e-9
        if step == 'impedance':
            told = FLAGS.index('state' if where in 'qv' else 'input')
            assert both.flags[told] == broken
        return both.tau.copy()

    run(False)
    run(True)
    for _ in range(200):
        after = run(False)
    if step == 'brake':
        assert np.abs(after - both.robot.gravity(both.q)).max() < 0.5
