# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The simulated robot obeys mechanics, whatever its description lacks."""

import math
from pathlib import Path

import numpy as np
import pytest
from scipy.interpolate import CubicHermiteSpline

from benchmarks.pinocchio_peer import PinocchioPeer
from dynamics_ros import Robot
from dynamics_ros.errors import (
    InvalidArgumentError,
    ModelError,
    UnknownFrameError,
    UnknownJointError,
)
from dynamics_ros.estimation import (
    ContactPipeline,
    ContactState,
    EffortModel,
    MomentumObserver,
)
from dynamics_ros.estimation.contact_settings import (
    ContactEffortSettings,
    ContactSettings,
    ThresholdSettings,
)
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.model.tool_frame import tool_frame, tool_frame_and_reason
from dynamics_ros.model.urdf import read_urdf
from dynamics_ros.simulation import (
    TIME_STEP_NS,
    Actuators,
    Assembly,
    SimulatedRobot,
    comfortable_posture,
    gentle_push,
    slow_motion,
)
from dynamics_ros.simulation.motion import CommandedMotion

ARM = (Path(__file__).parents[2] / 'urdf' / 'seven_joint_arm.urdf').read_text()
STEPS_PER_SECOND = 10**9 // TIME_STEP_NS

ROUNDING = 1e-9
"""Absolute, on radians, metres, Nm of order 1 to 100: sums of some hundred products, and a solution
of equations whose matrix is conditioned like 1e4."""


def inertial(mass, x=0.0, inertia=0.0):
    return (
        f'<inertial><origin xyz="{x} 0 0"/><mass value="{mass}"/><inertia ixx="{inertia}" '
        f'ixy="0" ixz="0" iyy="{inertia}" iyz="0" izz="{inertia}"/></inertial>'
    )


def joint(name, parent, child, kind='continuous', axis='0 1 0', x=0.0, inside=''):
    return (
        f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{x} 0 0"/><axis xyz="{axis}"/>{inside}</joint>'
    )


def robot_of(*parts):
    return f'<robot name="test"><link name="base"/>{"".join(parts)}</robot>'


PENDULUM = robot_of(
    joint('hinge', 'base', 'rod'), f'<link name="rod">{inertial(2.0, 0.5, 0.1)}</link>'
)
DOUBLE_PENDULUM = robot_of(
    joint('upper', 'base', 'first'),
    f'<link name="first">{inertial(1.5, 0.4, 0.05)}</link>',
    joint('lower', 'first', 'second', axis='0.6 0.8 0', x=0.8),
    f'<link name="second">{inertial(1.0, 0.3, 0.02)}</link>',
)
LIMITED_PENDULUM = robot_of(
    joint(
        'hinge',
        'base',
        'rod',
        'revolute',
        inside='<limit lower="-1" upper="0.5" effort="0" velocity="0"/>',
    ),
    f'<link name="rod">{inertial(2.0, 0.5, 0.1)}</link>',
)
MASSLESS_TIP = robot_of(
    joint('shoulder', 'base', 'upper_arm'),
    f'<link name="upper_arm">{inertial(2.0, 0.2, 0.01)}</link>',
    joint('elbow', 'upper_arm', 'forearm', x=0.4),
    '<link name="forearm"/>',
    joint('wrist', 'forearm', 'hand', axis='1 0 0', x=0.3),
    '<link name="hand"/>',
)
WITHOUT_MASSES = robot_of(
    joint('a', 'base', 'one'), '<link name="one"/>',
    joint('b', 'one', 'two', 'prismatic', x=0.3), '<link name="two"/>',
)  # fmt: skip
WITH_FRICTION = robot_of(
    joint('upper', 'base', 'first', inside='<dynamics damping="0.7" friction="0.4"/>'),
    f'<link name="first">{inertial(1.5, 0.4, 0.05)}</link>',
    joint('lower', 'first', 'second', x=0.8, inside='<dynamics friction="0.2"/>'),
    f'<link name="second">{inertial(1.0, 0.3, 0.02)}</link>',
)
SLIDE_LIMIT = '<limit lower="0" upper="0.04" effort="20" velocity="0.2"/>'
SLIDE_COPY = (
    '<mimic joint="slide" multiplier="0.9" offset="0.01"/>'
    '<limit lower="-9" upper="9" effort="99" velocity="99"/>'
)
GRIPPER = robot_of(
    joint('shoulder', 'base', 'arm', axis='0 0 1'),
    f'<link name="arm">{inertial(2.0, 0.2, 0.01)}</link>',
    joint('slide', 'arm', 'left', 'prismatic', x=0.5, inside=SLIDE_LIMIT),
    f'<link name="left">{inertial(0.1)}</link>',
    joint('copy', 'arm', 'right', 'prismatic', axis='0 -1 0', x=0.5, inside=SLIDE_COPY),
    f'<link name="right">{inertial(0.1)}</link>',
)  # fmt: skip


def passive(urdf, q, motion=None):
    """The rigid bodies alone: no motor, no friction, no controller."""
    robot = Robot.from_urdf(urdf)
    tool = tool_frame(read_urdf(urdf))
    return SimulatedRobot(robot, Actuators.ideal(robot, robot.neutral(), tool), motion, q)


def controlled(urdf, moving=True):
    """A robot with its motors and controllers, in its posture, and its tool."""
    robot = Robot.from_urdf(urdf)
    tool = tool_frame(read_urdf(urdf))
    posture = comfortable_posture(robot, tool)
    motion = slow_motion(robot, posture)
    actuators = Actuators.for_robot(robot, posture, tool)
    return SimulatedRobot(robot, actuators, motion if moving else motion.standing), tool


def advance(simulated, seconds):
    """The samples of so many seconds, one a step, the last at the end."""
    samples = []
    for _ in range(round(seconds * STEPS_PER_SECOND)):
        simulated.step()
        samples.append(simulated.sample())
    return samples


class TestMechanics:
    def test_energy_is_kept_without_friction_and_motors(self):
        simulated = passive(DOUBLE_PENDULUM, (0.4, -0.9))

        def energy(sample):
            state = sample.q, sample.v
            return simulated.robot.kinetic_energy(*state) + simulated.robot.potential_energy(
                sample.q
            )

        before = energy(simulated.sample())
        energies = [energy(advance(simulated, 0.25)[-1]) for _ in range(20)]
        # A leapfrog step errs by (w dt)^2 of what swings, and does not drift: some 10 J at
        # w = 10 rad/s; Coriolis forces at a predicted velocity cost some more.
        assert np.max(np.abs(np.array(energies) - before)) < 5e-3

    def test_a_push_acts_where_and_in_the_axes_it_is_asked_for(self):
        urdf = DOUBLE_PENDULUM
        simulated = passive(urdf, (0.5, 0.7))
        point = (0.1, 0.2, -0.3)
        simulated.push('second', (1.0, 2.0, 3.0, 0.4, 0.5, 0.6), 1.0, 'first', point)
        (sample,) = advance(simulated, 1e-3)
        reference = PinocchioPeer(urdf, simulated.robot)
        R = reference.forward_kinematics(sample.q, 'first')[:3, :3]
        lever = reference.forward_kinematics(sample.q, 'second')[:3, :3] @ point
        force, torque = R @ (1.0, 2.0, 3.0), R @ (0.4, 0.5, 0.6)
        wrench = np.concatenate([force, torque + np.cross(lever, force)])
        J = reference.jacobian(sample.q, 'second', 'local_world_aligned')
        expected = J.T @ wrench
        assert sample.external_torque == pytest.approx(expected, abs=ROUNDING)

    @pytest.mark.parametrize('urdf', [DOUBLE_PENDULUM, WITH_FRICTION, MASSLESS_TIP, GRIPPER, ARM])
    def test_the_sensed_effort_is_what_pinocchio_needs_besides_pushes_and_declared_friction(
        self, urdf
    ):
        simulated, tool = controlled(urdf)
        robot = simulated.robot
        reference = PinocchioPeer(urdf, robot)
        advance(simulated, 0.5)
        simulated.push(tool, (5.0, -3.0, 2.0, 0.1, 0.2, 0.3), 1.0)
        for sample in advance(simulated, 0.2)[::20]:
            rigid = reference.inverse_dynamics(sample.q, sample.v, sample.a)
            joints = robot.model.actuated
            friction = np.array(
                [j.damping * v + j.friction * math.tanh(v / 0.01) for j, v in zip(joints, sample.v)]
            )
            expected = rigid - sample.external_torque + friction
            assert sample.effort == pytest.approx(expected, abs=ROUNDING)


class TestLimits:
    def test_a_falling_pendulum_is_held_by_its_stop(self):
        simulated = passive(LIMITED_PENDULUM, (-0.5,))
        samples = advance(simulated, 5.0)
        # The stop is a spring made for the inertia: the fall of 1 rad presses it in by little.
        assert max(sample.q[0] for sample in samples) < 0.5 + 0.05
        # The weight at rest presses it in by less than a milliradian.
        assert samples[-1].q[0] == pytest.approx(0.5, abs=1e-3)
        assert abs(samples[-1].v[0]) < 1e-6

    @pytest.mark.parametrize('urdf', [ARM, MASSLESS_TIP, WITHOUT_MASSES, GRIPPER])
    def test_nothing_explodes_however_hard_the_push(self, urdf):
        simulated, tool = controlled(urdf)
        simulated.push(tool, (1e6, -2e6, 3e6, 1e5, 1e5, 1e5), 0.5)
        samples = advance(simulated, 0.5)
        for sample in samples[::50]:
            for values in (sample.q, sample.v, sample.a, sample.effort):
                assert np.isfinite(values).all()
        advance(simulated, 5.0)
        wanted = simulated.motion.at(simulated.time * 1e-9)[0]
        bounded = np.isfinite(simulated.robot.upper_limits)
        # It comes back to its motion; joints without limits have to unwind and may need longer.
        assert simulated.sample().q[bounded] == pytest.approx(wanted[bounded], abs=0.02)

    def test_motors_exert_no_more_than_the_effort_limits(self):
        simulated, _ = controlled(ARM, moving=False)
        limits = simulated.robot.effort_limits
        assert np.isfinite(limits).all()
        start = simulated.sample().q
        simulated.follow_efforts(np.array([1e9, *simulated.robot.gravity(start)[1:]]))
        sample = advance(simulated, 3e-3)[-1]
        # What turns the rotor and reaches the sensor; gear friction takes the rest.
        exerted = simulated.actuators.armature[0] * sample.a[0] + sample.effort[0]
        assert exerted == pytest.approx(limits[0], rel=0.02)
        assert sample.q[0] > start[0]

    def test_an_effort_limit_that_cannot_carry_the_robot_is_reported_and_not_enforced(self):
        weak = DOUBLE_PENDULUM.replace(
            '<axis xyz="0 1 0"/>', '<axis xyz="0 1 0"/><limit effort="0.01" velocity="1"/>'
        )
        robot = Robot.from_urdf(weak)
        actuators = Actuators.for_robot(robot, np.zeros(2), 'second')
        assert actuators.unusable_limits == ('upper',)
        assert np.isinf(actuators.effort_limits).all()


class TestControl:
    @pytest.mark.parametrize('urdf', [ARM, MASSLESS_TIP, WITHOUT_MASSES, WITH_FRICTION, GRIPPER])
    def test_the_motion_is_followed_within_the_limits(self, urdf):
        simulated, _ = controlled(urdf)
        robot = simulated.robot
        for sample in advance(simulated, 6.0)[::10]:
            wanted, _ = simulated.motion.at(sample.time * 1e-9)
            # Gear friction, which nobody compensates, over the stiffness: some 1e-4 rad.
            assert sample.q == pytest.approx(wanted, abs=2e-3)
            assert (sample.q >= robot.lower_limits).all()
            assert (sample.q <= robot.upper_limits).all()
            assert (np.abs(sample.v) <= robot.velocity_limits).all()

    def test_a_push_gives_way_a_little_and_ends_at_its_time(self):
        simulated, tool = controlled(ARM, moving=False)
        start = simulated.sample().q
        force = gentle_push(simulated.robot, simulated.actuators, start, tool)
        assert 0.0 < np.linalg.norm(force) <= 20.0 + ROUNDING
        simulated.push(tool, (*force, 0.0, 0.0, 0.0), 0.4)
        samples = advance(simulated, 2.5)
        assert [bool(sample.pushes) for sample in samples] == [True] * 400 + [False] * 2100
        way = simulated.robot.forward_kinematics(samples[399].q, tool)[:3, 3]
        way = way - simulated.robot.forward_kinematics(start, tool)[:3, 3]
        assert 1e-4 < np.linalg.norm(way) < 0.05
        assert way @ force > 0.0
        # The controller has had 2 s, many of its time constants, to come back.
        assert samples[-1].q == pytest.approx(start, abs=1e-3)


class TestBadRequests:
    def test_pushes_that_make_no_sense_are_refused_and_change_nothing(self):
        simulated, tool = controlled(ARM)
        wrench = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        with pytest.raises(UnknownFrameError):
            simulated.push('no_such_frame', wrench, 1.0)
        with pytest.raises(UnknownFrameError):
            simulated.push(tool, wrench, 1.0, expressed_in='no_such_frame')
        for duration in (0.0, -1.0, math.nan, math.inf):
            with pytest.raises(InvalidArgumentError, match='duration'):
                simulated.push(tool, wrench, duration)
        with pytest.raises(InvalidArgumentError, match='wrench'):
            simulated.push(tool, (math.nan, *wrench[1:]), 1.0)
        with pytest.raises(InvalidArgumentError, match='point'):
            simulated.push(tool, wrench, 1.0, point=(0.0, math.inf, 0.0))
        assert not simulated.pushes

    def test_commands_that_make_no_sense_are_refused(self):
        simulated, _ = controlled(GRIPPER)
        with pytest.raises(UnknownJointError):
            simulated.follow_positions({'copy': 1.0}, duration=1.0)
        with pytest.raises(InvalidArgumentError):
            simulated.follow_positions({'slide': math.nan}, duration=1.0)

    @pytest.mark.parametrize('kind', ['planar', 'floating'])
    def test_joints_of_several_coordinates_are_refused_by_name(self, kind):
        urdf = robot_of(joint('loose', 'base', 'body', kind), '<link name="body"/>')
        robot = Robot.from_urdf(urdf)
        with pytest.raises(ModelError, match='loose'):
            SimulatedRobot(robot, Actuators.ideal(Robot.from_urdf(PENDULUM), np.zeros(1), 'rod'))

    def test_a_robot_that_cannot_move_is_refused(self):
        robot = Robot.from_urdf(robot_of())
        with pytest.raises(ModelError, match='no joint'):
            SimulatedRobot(robot, Actuators.ideal(Robot.from_urdf(PENDULUM), np.zeros(1), 'rod'))


def chain(length, *tail):
    links = ['base', *(f'link{i}' for i in range(1, length + 1))]
    parts = [joint(f'j{i}', links[i], links[i + 1]) for i in range(length)]
    return robot_of(*(f'<link name="{name}"/>' for name in links[1:]), *parts, *tail)


def fixed(parent, child):
    return joint(f'{parent}_{child}', parent, child, 'fixed') + f'<link name="{child}"/>'


def finger(parent, child, name=None):
    return joint(name or f'{parent}_{child}', parent, child) + f'<link name="{child}"/>'


FLANGE, MOUNT = fixed('link3', 'flange'), fixed('link4', 'mount')
PALM = fixed('link4', 'hand_palm_link')
GRIPPING = finger('link4', 'gripper', 'wrist_roll')
CAMERAS = ('camera_link', 'hand_camera_optical_frame', 'cam0', 'imu')


@pytest.mark.parametrize(
    ('length', 'tail', 'tool'),
    [
        (4, (finger('base', 'head'),), 'link4'),
        (3, (FLANGE, fixed('flange', 'camera'), fixed('link3', 'tool0')), 'tool0'),
        (4, (fixed('link4', 'hand'), finger('hand', 'left'), finger('hand', 'right')), 'hand'),
        # A wrist that carries a gripper is no finger.
        (4, (GRIPPING,), 'gripper'),
        (4, (GRIPPING, finger('gripper', 'part', 'gripper_joint')), 'gripper'),
        *((4, (PALM, MOUNT, fixed('mount', name)), 'hand_palm_link') for name in CAMERAS),
        *((4, (fixed('link4', name),), 'link4') for name in CAMERAS),
    ],
)
def test_the_tool_is_the_end_of_the_longest_chain_or_has_its_name(length, tail, tool):
    assert tool_frame(read_urdf(chain(length, *tail))) == tool


def test_the_reason_of_a_tool_counts_the_joints_before_it():
    reason = 'the last link at the end of a chain of 4 joints'
    assert tool_frame_and_reason(read_urdf(chain(4))) == ('link4', reason)


@pytest.mark.parametrize(
    ('name', 'child'),
    [('jointGripper', 'mover'), ('6', 'jaw'), ('f1x', 'link_fngr'), ('gripper', 'moving')],
)
def test_the_tool_is_before_a_single_finger(name, child):
    camera = fixed('link5', 'mount') + fixed('mount', 'hand_camera')
    for tail, wanted in (
        ((), 'link5'),
        ((camera,), 'link5'),
        ((fixed('link5', 'tcp'), camera), 'tcp'),
        ((fixed('link5', 'flange'), fixed('flange', 'stator')), 'flange'),
    ):
        urdf = chain(5, *tail, finger('link5', child, name))
        found, reason = tool_frame_and_reason(read_urdf(urdf))
        assert found == wanted and f'before the fingers ({name})' in reason


def test_a_trajectory_is_the_cubic_spline_through_its_points():
    rng = np.random.default_rng(0)
    time, q, v = np.cumsum(rng.uniform(0.1, 1.0, 6)), *rng.uniform(-1.0, 1.0, (2, 6, 3))
    motion = CommandedMotion(q[0], np.full(3, -9.0), np.full(3, 9.0))
    motion.follow(time - time[0], q, v, 2.0)
    spline = CubicHermiteSpline(time - time[0] + 2.0, q, v)
    for t in 2.0 + rng.uniform(0.0, time[-1] - time[0], 100):
        np.testing.assert_allclose(motion.at(t), (spline(t), spline(t, 1)), atol=1e-12)
    np.testing.assert_allclose(motion.at(99.0), (q[-1], np.zeros(3)), atol=1e-12)


URDF = (Path(__file__).parents[2] / 'examples' / 'ur5e.urdf').read_text(encoding='utf-8')
TOOL = 'tool0'

EVERY = 2
"""Steps of 1 ms between two joint states."""

MAX_ALLOWANCE, TICK, QUEUE = 50, 5, 5
"""Steps of the simulator in one go after a stall; ms between two commands; commands that wait."""

STALL = 200
"""ms that the simulator's process stands still while commands are sent."""

BEGIN, SPEED = 300, np.array([0.0, -0.1, 0.2, -0.1, 0.0, 0.0])
"""ms, rad/s: a tool that is led upward."""

SETTINGS = ContactSettings(
    frames=(TOOL,),
    effort=ContactEffortSettings(sampling='interval'),
    thresholds=ThresholdSettings(contact=(8.0, 8.0, 6.0, 3.0, 3.0, 3.0)),
)
"""Of config/ur5e.yaml and config/simulated_robot.yaml."""


def arm():
    simulated, _, _ = Assembly(moving=False).of(URDF)
    return simulated


def led(simulated, stalled=(), push=None):
    """Samples, every 2 ms, of an arm that is led by commands, a simulator that stalls at times."""
    names, target = simulated.robot.joint_names, None
    waiting = []
    for now in range(1200):
        if now >= BEGIN and now % TICK == 0:
            target = (simulated.joints if target is None else target) + TICK * 1e-3 * SPEED
            waiting = [*waiting, target][-QUEUE:]
        if any(begin <= now < begin + STALL for begin in stalled):
            continue
        while simulated.time < (now + 1) * 10**6:
            if push is not None and simulated.time == push * 10**6:
                simulated.push(TOOL, (0.0, 60.0, 0.0, 0.0, 0.0, 0.0), 1.0)
            simulated.step()
            if simulated.time % (EVERY * 10**6) == 0:
                yield simulated.sample()
            if simulated.time % (MAX_ALLOWANCE * 10**6) == 0 or simulated.time == (now + 1) * 10**6:
                for q in waiting:
                    simulated.follow_positions(dict(zip(names, q, strict=True)), TICK * 1e-3)
                waiting = []


def touched(simulated, samples, lacking=()):
    """Times at which a contact is reported [ns]."""
    pipeline = ContactPipeline(simulated.robot, SETTINGS, TOOL)
    pipeline.compile(wait=True)
    nothing = np.zeros(simulated.robot.nv, dtype=bool)
    found = []
    for one in samples:
        state = RobotState(10**9 + one.time, one.q, one.v, one.effort, lacking, (), (), nothing)
        external = pipeline.update(state)
        if external is not None and external.report.state is not ContactState.NONE:
            found.append(one.time)
    return found


def test_efforts_of_all_steps_between_two_samples_are_in_the_momentum():
    simulated = arm()
    model = EffortModel.from_robot(simulated.robot)
    observer = MomentumObserver(simulated.robot, effort_model=model, effort_sampling='interval')
    felt, pulled = [], []
    for one in led(simulated, stalled=(600,)):
        felt.append(np.abs(observer.update(one.time, one.q, one.v, one.effort)).max())
        pulled.append(np.abs(one.effort - simulated.robot.gravity(one.q)).max())
    # The controllers pull by hundreds of Nm to where the commands of the stall lead.
    assert max(pulled) > 100.0
    assert max(felt) < 0.01 * max(pulled)


@pytest.mark.parametrize('lacking', [(), ('wrist_3_joint',)])
def test_commands_that_come_late_are_no_contact(lacking):
    simulated = arm()
    assert touched(simulated, led(simulated, stalled=(600, 900)), lacking) == []


def test_a_push_that_begins_while_states_are_lost_is_felt_after():
    simulated = arm()
    came = (one for one in led(simulated, push=700) if not 690 * 10**6 <= one.time < 740 * 10**6)
    assert 740 * 10**6 <= touched(simulated, came)[0] < 760 * 10**6
