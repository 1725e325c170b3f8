# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Robots whose description closes loops: a gripper, a palletizer, a delta; and MuJoCo on MJCF."""

from __future__ import annotations

from dataclasses import replace

import mujoco
import numpy as np
import pytest
from closed_mechanisms import DELTA, GRIPPER, MECHANISMS, PALLETIZER, one_way
from numpy.testing import assert_allclose

from dynamics_ros import Robot
from dynamics_ros.constraints import (
    PassiveJoints,
    forward_dynamics_in_loops,
    gravity_in_loops,
    inverse_dynamics_in_loops,
    loops_of,
    widest_gap,
)
from dynamics_ros.errors import InfeasibleError, InvalidArgumentError

DIFFERENCES = 1e-6
"""Relative: second derivatives of the closed forms by steps of 1 ms."""

CLOSED = 1e-7
"""Gap of a closed loop [m or rad]."""


@pytest.fixture(params=list(MECHANISMS))
def mechanism(request):
    return MECHANISMS[request.param]


@pytest.fixture
def robot(mechanism):
    return mechanism.robot()


def test_gravity_torques_are_the_slope_of_the_potential_energy_by_the_motors(mechanism, robot):
    q = mechanism.q(robot, mechanism.u)
    assert max(widest_gap(robot, q)[1:]) < 1e-12
    torques = gravity_in_loops(robot, q)
    # The energy along the coordinates, and the motion of the motors along them.
    rise = np.array(
        [
            np.diff([robot.potential_energy(mechanism.q(robot, mechanism.u + x)) for x in (-e, e)])
            for e in 1e-4 * np.eye(len(mechanism.u))
        ]
    )[:, 0]
    slope = mechanism.slope(robot, mechanism.u)
    assert_allclose(slope.T @ torques, rise / 2e-4, rtol=DIFFERENCES, atol=1e-7)
    passive = [robot.joint_names.index(name) for name in robot.model.passive_joints]
    assert len(passive) == robot.nv - len(mechanism.u)
    assert_allclose(torques[passive], 0.0, atol=0.0)


def test_torques_of_a_motion_do_the_work_of_the_tree(mechanism, robot):
    q, v, a = mechanism.motion(robot)
    expected = mechanism.of_motors(robot, robot.inverse_dynamics(q, v, a))
    moved = np.array([name not in robot.model.passive_joints for name in robot.joint_names])
    # What passive joints do follows from the motors.
    torques = inverse_dynamics_in_loops(robot, q, v * moved, a * moved)
    assert_allclose(torques, expected, atol=2e-5 * np.abs(expected).max())
    back = forward_dynamics_in_loops(robot, q, v * moved, torques)
    assert_allclose(back, a, atol=2e-5 * np.abs(a).max())
    wrench = {mechanism.tool: np.array([3.0, -2.0, 5.0, 0.0, 0.0, 0.0])}
    loaded = inverse_dynamics_in_loops(robot, q, v, a, wrench)
    tree = robot.inverse_dynamics(q, v, a, wrench)
    assert_allclose(loaded, mechanism.of_motors(robot, tree), atol=1e-4)


def test_inverse_kinematics_closes_the_loops(mechanism, robot):
    seed = mechanism.q(robot, mechanism.u)
    for k in range(5):
        u = mechanism.u + 0.05 * k * mechanism.rate
        wanted = mechanism.q(robot, u)
        target = robot.forward_kinematics(wanted, mechanism.tool)
        found = robot.inverse_kinematics(target, mechanism.tool, seed, timeout=5.0)
        assert found.success and found.reason == 'converged'
        assert max(widest_gap(robot, found.q)[1:]) < CLOSED
        assert_allclose(found.q, wanted, atol=1e-4)


def test_the_closest_approach_to_a_target_out_of_reach_is_closed(mechanism, robot):
    seed = mechanism.q(robot, mechanism.u)
    target = robot.forward_kinematics(seed, mechanism.tool)
    target[:3, 3] += [2.0, 0.0, 0.0]
    found = robot.inverse_kinematics(target, mechanism.tool, seed, position_only=True)
    assert not found.success and found.reason != 'converged'
    assert max(widest_gap(robot, found.q)[1:]) < CLOSED
    assert found.position_error > 0.5


def test_a_locked_joint_of_a_closed_loop_stays():
    robot = PALLETIZER.robot()
    seed = PALLETIZER.q(robot, PALLETIZER.u)
    moved = PALLETIZER.q(robot, PALLETIZER.u + np.array([0.0, 0.1, -0.2]))
    target = robot.forward_kinematics(moved, 'hand')
    found = robot.inverse_kinematics(target, 'hand', seed, locked_joints=['yaw'], timeout=5.0)
    yaw = robot.joint_q_indices['yaw']
    assert found.success and found.q[yaw] == seed[yaw]
    turned, few = seed.copy(), {'locked_joints': ['yaw'], 'timeout': 5.0, 'max_restarts': 2}
    turned[yaw] = robot.upper_limits[yaw] + 1e-3
    moved[yaw] = turned[yaw]
    beyond = robot.forward_kinematics(moved, 'hand')
    found = robot.inverse_kinematics(beyond, 'hand', turned, **few)
    assert found.success and found.q[yaw] == turned[yaw]
    moved[yaw] = robot.upper_limits[yaw]
    within = robot.forward_kinematics(moved, 'hand')
    with pytest.raises(InvalidArgumentError, match="'yaw' beyond its limits"):
        robot.inverse_kinematics(within, 'hand', turned, **few)
    blocked = robot.inverse_kinematics(target, 'hand', seed, locked_joints=['drive'])
    assert not blocked.success
    for options in ({'slack': np.ones(6)}, {'posture': 'seed'}, {'supports': {'hand': 'point'}}):
        with pytest.raises(InvalidArgumentError):
            robot.inverse_kinematics(target, 'hand', seed, **options)
        with pytest.raises(InvalidArgumentError):
            robot.all_inverse_kinematics(target, 'hand', seed, **options)


def test_all_solutions_close_the_loops_and_differ(mechanism, robot):
    """The closed form has one of the two ways to place each arm of the delta."""
    seed = mechanism.q(robot, mechanism.u)
    wanted = mechanism.q(robot, mechanism.u + 0.1 * mechanism.rate)
    target = robot.forward_kinematics(wanted, mechanism.tool)
    found = robot.all_inverse_kinematics(target, mechanism.tool, seed, timeout=10.0)
    assert_allclose(found[0].q, wanted, atol=1e-4)
    for k, one in enumerate(found):
        assert max(widest_gap(robot, one.q)[1:]) < CLOSED
        pose = robot.forward_kinematics(one.q, mechanism.tool)
        assert_allclose(pose, target, atol=1e-4)
        assert all(np.abs(one.q - other).max() > 0.1 for other in found.q[:k])
    assert len(found) >= (1 if mechanism is GRIPPER else 4)
    one_seed = robot.all_inverse_kinematics(target, mechanism.tool, seed, max_restarts=0)
    assert_allclose(one_seed.q, found.q[:1], atol=1e-6)


def test_equalities_of_mjcf_are_the_loops_of_mujoco():
    """Gaps of connect and weld, between bodies and sites, as MuJoCo computes them."""
    text = """<mujoco><worldbody><site name="peg" pos=".1 .2 .3" euler="10 20 30"/>
      <body name="a" pos="0 0 .1"><joint axis="0 1 0"/><geom size=".1"/>
        <body name="b" pos=".3 0 0" euler="0 0 40"><joint axis="1 0 .2"/><geom size=".1"/>
        <site name="hole" pos="0 .1 0" euler="5 0 0"/></body></body>
      <body name="c" pos=".2 .1 0"><joint axis="0 0 1"/><geom size=".1"/></body></worldbody>
    <equality><connect body1="b" body2="c" anchor=".1 .2 .3"/><weld body1="b" body2="c"/>
      <connect site1="peg" site2="hole"/><weld site1="hole" site2="peg"/>
      <connect name="off" body1="a" anchor="0 0 0" active="false"/></equality></mujoco>"""
    robot, model = Robot(text, backend='python'), mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    q = data.qpos[:] = np.array([0.3, -0.4, 0.8])
    mujoco.mj_forward(model, data)
    loops = loops_of(robot)
    assert [loop.kind for loop in loops] == ['position', 'pose'] * 2
    assert loops[0].frame == 'equality_0_1'
    rows = data.efc_pos[: sum(loop.rows for loop in loops)]
    for loop, row in zip(loops, (0, 3, 9, 12), strict=True):
        gap = np.linalg.norm(loop.gap(robot, q)[:3])
        assert_allclose(gap, np.linalg.norm(rows[row : row + 3]), rtol=1e-12)
    for loop, row in zip(loops[1::2], (6, 15), strict=True):
        angle = np.linalg.norm(loop.gap(robot, q)[3:])
        assert_allclose(np.sin(0.5 * angle), np.linalg.norm(rows[row : row + 3]))


def test_actuators_of_mjcf_say_which_joints_are_passive():
    robot = GRIPPER.robot()
    # The motor moves the follower of the left crank, and so the crank.
    assert robot.joint_names == (
        'left_crank',
        'left_tip',
        'left_rocker',
        'right_tip',
        'right_rocker',
    )
    assert robot.model.passive_joints == ('left_tip', 'left_rocker', 'right_tip', 'right_rocker')
    by_tendon = GRIPPER.source.replace(
        '<motor joint="right_crank"/>', '<motor tendon="split"/>'
    ).replace(
        '<equality>',
        '<tendon><fixed name="split"><joint joint="left_crank" coef=".5"/>'
        '<joint joint="right_crank" coef=".5"/></fixed></tendon><equality>',
    )
    assert Robot(by_tendon).model.passive_joints == robot.model.passive_joints
    without = Robot(GRIPPER.source.replace('<motor joint="right_crank"/>', ''))
    assert without.model.passive_joints == ()


def test_loops_follow_the_robot_through_changes():
    robot = PALLETIZER.robot()
    q = PALLETIZER.q(robot, PALLETIZER.u)
    heavy = robot.with_payload('hand', 3.0)
    assert heavy.model.loops == robot.model.loops
    assert abs(gravity_in_loops(heavy, q)[1]) > abs(gravity_in_loops(robot, q)[1])
    held = dict(zip(robot.joint_names, q, strict=True))
    assert robot.with_locked(held).model.loops == ()
    one = robot.with_locked({'yaw': 0.3})
    assert one.model.loops == robot.model.loops and one.model.passive_joints == PALLETIZER.passive
    both = robot.with_tool(Robot(GRIPPER.source), 'hand', prefix='g_')
    assert both.model.loops[-1] == ('g_right_pin_1', 'g_right_pin_2', 'position')
    assert both.model.passive_joints[-1] == 'g_right_rocker'


@pytest.mark.parametrize(
    ('change', 'words'),
    [
        ({'loops': ('rod_end',)}, "loops: 'rod_end'; expected 'frame other'"),
        ({'loops': ('rod_end rear welded',)}, "'rod_end rear welded'"),
        ({'loops': ('rod_end rare',)}, "unknown frame 'rare'.*rear"),
        ({'passive': ('elbows',)}, "unknown joint 'elbows'"),
    ],
)
def test_loops_that_make_no_sense_are_refused(change, words):
    with pytest.raises(InvalidArgumentError, match=words):
        replace(PALLETIZER, **change).robot()


def test_what_motors_and_loops_cannot_hold_is_told():
    open_tree = replace(PALLETIZER, loops=PALLETIZER.loops[:2]).robot()
    q = PALLETIZER.q(open_tree, PALLETIZER.u)
    with pytest.raises(InfeasibleError, match='constraints and actuated joints together cannot'):
        gravity_in_loops(open_tree, q)


def test_kinds_of_loops_hold_what_they_say():
    for kind, rows in (('position', 3), ('revolute', 5), ('pose', 6)):
        robot = replace(PALLETIZER, loops=(f'hand upper {kind}',)).robot()
        (loop,) = loops_of(robot)
        assert loop is loops_of(robot)[0] and loop.rows == rows
        gap = widest_gap(robot, robot.neutral())
        assert gap.distance > 0.5 and gap.loop is loop
    with pytest.raises(InvalidArgumentError, match='no loops'):
        widest_gap(Robot(replace(PALLETIZER, loops=()).source), np.zeros(9))


class TestPassiveJoints:
    """Positions and velocities of joints that nobody measures."""

    @staticmethod
    def measured(robot: Robot, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The state without passive joints, as a driver reports it."""
        passive = robot.model.passive_joints
        q, v, zero = q.copy(), v.copy(), robot.neutral()
        for name in passive:
            place = robot.joint_q_indices[name]
            q[place], v[robot.joint_v_indices[name]] = zero[place], 0.0
        return q, v

    @pytest.mark.parametrize('mechanism', [GRIPPER, *map(one_way, (PALLETIZER, DELTA))])
    def test_close_the_loops_along_a_motion(self, mechanism):
        robot = mechanism.robot()
        passive = PassiveJoints(robot, robot.model.passive_joints)
        for t in (0.0, 0.01, 0.2, 0.21, 0.1):
            q, v, _ = replace(mechanism, u=mechanism.u + t * mechanism.rate).motion(robot)
            found = self.measured(robot, q, v)
            assert passive.solve(*found)
            assert_allclose(found[0], q, atol=CLOSED)
            assert_allclose(found[1], v, atol=1e-5)

    def test_that_may_be_assembled_in_several_ways_are_not_guessed(self):
        for mechanism in (PALLETIZER, DELTA):
            robot = mechanism.robot()
            passive = PassiveJoints(robot, robot.model.passive_joints)
            state = self.measured(robot, *mechanism.motion(robot)[:2])
            assert not passive.solve(*state) and passive.q is None

    def test_at_a_singularity_keep_the_last_positions(self):
        mechanism = one_way(PALLETIZER)
        robot = mechanism.robot()
        passive = PassiveJoints(robot, robot.model.passive_joints)
        q, v, _ = mechanism.motion(robot)
        assert passive.solve(*self.measured(robot, q, v))
        flat = mechanism.q(robot, np.array([0.3, 0.4, 0.4]))
        state = self.measured(robot, flat, 0.0 * v)
        assert not passive.solve(*state)
        assert_allclose(state[0][robot.joint_q_indices['elbow']], 1.5, atol=CLOSED)
        assert widest_gap(robot, state[0]).distance > 0.01
        assert passive.solve(*self.measured(robot, q, v))

    def test_behind_a_singularity_are_not_guessed(self):
        """A parallelogram that is flat at 90 degrees may go on as an antiparallelogram."""
        robot = GRIPPER.robot()
        passive = PassiveJoints(robot, robot.model.passive_joints)
        for crank, known in ((0.4, True), (1.5, True), (1.7, False), (6.0, False), (0.3, True)):
            q = GRIPPER.q(robot, np.array([crank]))
            state = self.measured(robot, q, np.zeros(robot.nv))
            assert passive.solve(*state) == known
            if known:
                assert_allclose(state[0], q, atol=CLOSED)

    def test_beside_encoders_with_noise_close_their_loop(self):
        mechanism = one_way(PALLETIZER)
        robot = mechanism.robot()
        passive = PassiveJoints(robot, ['elbow', 'rod_joint'])
        q, v, _ = mechanism.motion(robot)
        noisy = q.copy()
        noisy[robot.joint_q_indices['triangle_joint']] += 1e-3
        noisy[[robot.joint_q_indices[name] for name in passive.names]] = 0.0
        assert passive.solve(noisy, v)
        assert_allclose(noisy, q, atol=2e-3)
        noisy[robot.joint_q_indices['triangle_joint']] += 0.5
        assert not PassiveJoints(robot, passive.names).solve(noisy, v)

    def test_that_are_none_leave_a_state_as_it_is(self):
        mechanism = DELTA
        robot = mechanism.robot()
        q, v, _ = mechanism.motion(robot)
        state = q.copy(), v.copy()
        assert PassiveJoints(robot, ()).solve(*state)
        assert_allclose(state, (q, v), atol=CLOSED)

    def test_that_no_loop_moves_are_not_determined(self):
        mechanism = replace(one_way(PALLETIZER), loops=PALLETIZER.loops[:2])
        robot = mechanism.robot()
        passive = PassiveJoints(robot, robot.model.passive_joints)
        assert not passive.solve(*self.measured(robot, *mechanism.motion(robot)[:2]))
