# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Laws of mechanics hold on random trees, robots that nobody tuned for."""

from __future__ import annotations

import logging

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from laws import assert_close, rate
from patience import examples
from random_robots import SEEDS, random_state, robots
from tolerances import AGAINST_PINOCCHIO, DIFFERENCE, EXACT, LAW

from benchmarks.pinocchio_peer import PinocchioPeer
from benchmarks.robots import urdf_path
from dynamics_ros import Robot, spatial
from dynamics_ros.spatial import Force

FEW = examples(8)
"""Every random robot is traced anew, a tenth of a second for each quantity."""


def on_any_robot(law):
    """A test of random robots and seeds."""
    return FEW(given(robots(), SEEDS)(law))


WEIGHTLESS = (0.0, 0.0, 0.0)


@on_any_robot
def test_forward_dynamics_inverts_inverse_dynamics(robot, seed):
    s = random_state(robot, seed)
    tau = robot.inverse_dynamics(s.q, s.v, s.a)
    assert_close(robot.forward_dynamics(s.q, s.v, tau), s.a, LAW, np.abs(tau).max())


@on_any_robot
def test_the_mass_matrix_is_symmetric_and_positive_definite(robot, seed):
    M = robot.mass_matrix(random_state(robot, seed).q)
    assert_close(M, M.T, EXACT)
    assert np.linalg.eigvalsh(M).min() > 0.0
    assert_close(M @ robot.mass_matrix_inverse(random_state(robot, seed).q), np.eye(robot.nv))


@on_any_robot
def test_the_rate_of_the_mass_matrix_less_twice_coriolis_is_skew(robot, seed):
    s = random_state(robot, seed)
    M_dot = rate(lambda q, v: robot.mass_matrix(q), robot, s, np.zeros(robot.nv))
    C = robot.coriolis(s.q, s.v)
    assert_close(M_dot, C + C.T, DIFFERENCE)


@on_any_robot
def test_kinetic_energy_changes_by_the_power_of_torques_and_gravity(robot, seed):
    s = random_state(robot, seed)
    a = robot.forward_dynamics(s.q, s.v, s.tau)
    power = s.v @ s.tau - s.v @ robot.gravity(s.q)
    scale = np.abs(s.v * robot.gravity(s.q)).sum() + np.abs(a).max()
    assert_close(rate(robot.kinetic_energy, robot, s, a), power, DIFFERENCE, scale)


@FEW
@given(robots(roots=('floating',), gravity=WEIGHTLESS), SEEDS)
def test_momentum_does_not_change_without_external_force(robot, seed):
    s = random_state(robot, seed)
    internal = np.where(np.arange(robot.nv) < 6, 0.0, s.tau)
    a = robot.forward_dynamics(s.q, s.v, internal)
    change = rate(robot.centroidal_momentum, robot, s, a)
    assert_close(change, np.zeros(6), DIFFERENCE, np.abs(a).max() * robot.total_mass)


@on_any_robot
def test_hybrid_dynamics_agrees_with_inverse_dynamics_between_its_ends(robot, seed):
    s = random_state(robot, seed)
    prescribed = np.random.default_rng(seed).random(robot.nv) < 0.5
    a, tau = robot.hybrid_dynamics(s.q, s.v, s.a, s.tau, prescribed)
    assert np.array_equal(a[prescribed], s.a[prescribed])
    assert np.array_equal(tau[~prescribed], s.tau[~prescribed])
    assert_close(robot.inverse_dynamics(s.q, s.v, a), tau, LAW, np.abs(a).max())


@on_any_robot
def test_rates_of_coordinates_and_their_maps(robot, seed):
    s = random_state(robot, seed)
    E, F = robot.rate_map_inverse(s.q), robot.rate_map(s.q)
    assert_close(robot.configuration_rate(s.q, s.v), F @ s.v, EXACT)
    assert_close(F @ s.v, rate(lambda q, v: q, robot, s, s.a), DIFFERENCE)
    assert E.shape == (robot.nv, robot.nq)
    assert_close(E @ F, np.eye(robot.nv), EXACT)
    q_rate = np.random.default_rng(seed).normal(size=robot.nq)
    v = robot.velocity_of_rate(s.q, q_rate)
    assert_close(v, E @ q_rate, EXACT)
    # F E drops what would lengthen the quaternion and keeps all else.
    missing = q_rate - F @ v
    if robot.model.root_joint == 'floating':
        along = missing[3:7] @ s.q[3:7] * s.q[3:7]
        assert_close(missing[3:7], along, EXACT)
        missing[3:7] = 0.0
    assert_close(missing, np.zeros(robot.nq), EXACT)


@on_any_robot
def test_a_body_accelerates_as_its_frame(robot, seed):
    s = random_state(robot, seed)
    accelerations = robot.body_accelerations(s.q, s.v, s.a)
    assert accelerations.shape == (len(robot.body_names), 6)
    for name, acceleration in zip(robot.body_names, accelerations, strict=True):
        expected = robot.frame_acceleration(s.q, s.v, s.a, name, 'local')
        assert_close(acceleration, expected, EXACT)


@on_any_robot
def test_an_external_wrench_is_borne_by_what_carries_its_body(robot, seed):
    s = random_state(robot, seed)
    rng = np.random.default_rng(seed)
    frame, wrench = robot.model.frames[rng.integers(1, len(robot.frame_names))], rng.normal(size=6)
    alone = robot.joint_wrenches(s.q, s.v, s.a)
    pushed = robot.joint_wrenches(s.q, s.v, s.a, {frame.name: wrench})
    carriers = robot.model.ancestors(frame.body)
    X_0F = spatial.Transform.from_array(robot.forward_kinematics(s.q, frame.name))
    for body, name in enumerate(robot.body_names):
        expected = np.zeros(6)
        if body in carriers:
            X_0B = spatial.Transform.from_array(robot.forward_kinematics(s.q, name))
            expected = X_0B.inverse_act(X_0F.act(Force.from_array(wrench))).array()
        assert_close(alone[body] - pushed[body], expected, EXACT, np.abs(alone).max())


@pytest.mark.parametrize('root', ['fixed', 'floating'])
@pytest.mark.parametrize('name', ['panda', 'ur5', 'xarm7', 'kinova'])
def test_pinocchio_has_the_same(name, root):
    text = urdf_path(name).read_text()
    robot = Robot.from_urdf(text, root)
    peer = PinocchioPeer(text, robot)
    rng = np.random.default_rng(11)
    q = robot.random_configuration(rng)
    v, a = rng.normal(size=(2, robot.nv))
    state = peer.configuration(q), peer.velocity(v), peer.velocity(a)
    peer.inverse_dynamics(q, v, a)
    wrenches = [np.array(f.vector) for f in peer.data.f]
    pin.forwardKinematics(peer.model, peer.data, *state)
    accelerations = [np.array(x.vector) for x in peer.data.a]
    theirs = [peer.model.getJointId(joint.name) for joint in robot.model.joints]
    assert_close(
        robot.joint_wrenches(q, v, a), np.array([wrenches[i] for i in theirs]), AGAINST_PINOCCHIO
    )
    assert_close(
        robot.body_accelerations(q, v, a),
        np.array([accelerations[i] for i in theirs]),
        AGAINST_PINOCCHIO,
    )


MASS = (
    '<inertial><mass value="{}"/><inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"/>'
    '</inertial>'
)
SHAPE = '<{}><geometry><sphere radius="0.1"/></geometry></{}>'
VISUAL, COLLISION = SHAPE.format('visual', 'visual'), SHAPE.format('collision', 'collision')


def chain(*links, fixed=(), root=VISUAL):
    """A chain base, b0, b1, ... on turning joints, but for fixed ones.

    Args:
        links: the contents of each.
        fixed: numbers of those behind a fixed joint.
        root: contents of the base.
    """
    parts, parent = [f'<link name="base">{root}</link>'], 'base'
    for number, content in enumerate(links):
        kind = 'fixed' if number in fixed else 'continuous'
        parts.append(f'<link name="b{number}">{content}</link>')
        parts.append(
            f'<joint name="j{number}" type="{kind}"><parent link="{parent}"/>'
            f'<child link="b{number}"/><axis xyz="0 1 0"/></joint>'
        )
        parent = f'b{number}'
    return f'<robot name="chain">{"".join(parts)}</robot>'


HEAVY = MASS.format(1)


MASSES = {
    'all have a mass': (chain(HEAVY, HEAVY), ()),
    'none has': (chain(VISUAL, VISUAL), ('b0', 'b1')),
    'not even shapes': (chain('', ''), ('b0', 'b1')),
    'the last has none': (chain(HEAVY, VISUAL), ('b1',)),
    'the last has neither mass nor shape': (chain(HEAVY, ''), ('b1',)),
    'one in between': (chain(VISUAL, HEAVY), ('b0',)),
    'one with a collision shape': (chain(COLLISION, HEAVY), ('b0',)),
    'a mass of zero': (chain(MASS.format(0) + VISUAL, HEAVY), ('b0',)),
    'a universal joint': (chain('', '', HEAVY), ()),
    'a massless frame on a body': (chain(HEAVY, VISUAL, fixed=[1]), ()),
    'a mass on a massless frame': (chain(VISUAL, HEAVY, fixed=[1]), ()),
    'a shape on a massless frame': (chain('', VISUAL, HEAVY, fixed=[1]), ('b0',)),
    'a link of the root': (chain(VISUAL, HEAVY, fixed=[0]), ()),
}


@pytest.mark.parametrize(('description', 'named'), MASSES.values(), ids=MASSES)
def test_bodies_without_the_mass_that_they_seem_to_have(description, named, caplog):
    with caplog.at_level(logging.WARNING, 'dynamics_ros'):
        robot = Robot.from_urdf(description)
    assert robot.massless_bodies == named
    told = [record.getMessage() for record in caplog.records if 'no mass' in record.getMessage()]
    assert len(told) == bool(named)
    assert all(repr(name) in told[0] for name in named)


def test_a_moving_base_and_a_payload_count():
    assert Robot.from_urdf(chain(HEAVY), 'floating').massless_bodies == ('base',)
    assert Robot.from_urdf(chain(HEAVY, root=''), 'floating').massless_bodies == ()
    robot = Robot.from_urdf(chain(VISUAL))
    assert robot.massless_bodies == ('b0',)
    assert robot.with_payload('b0', 1.0).massless_bodies == ()
