# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Wrenches in joints and accelerations of bodies: each body, cut free, obeys Newton and Euler."""

from __future__ import annotations

import numpy as np
import pinocchio as pin
import pytest
from hypothesis import given
from laws import assert_close
from patience import examples
from random_robots import SEEDS, random_state, robots
from tolerances import AGAINST_PINOCCHIO, EXACT, LAW

from benchmarks.pinocchio_peer import PinocchioPeer
from benchmarks.robots import urdf_path
from dynamics_ros import Robot, spatial
from dynamics_ros.spatial import Force

FEW = examples(8)


def pose_in_parent(robot, q, body):
    """X_PB of a body, ROOT included as the root frame."""
    parent = robot.model.joints[body].parent
    X_0B = robot.forward_kinematics(q, robot.body_names[body])
    if parent < 0:
        return X_0B
    return np.linalg.inv(robot.forward_kinematics(q, robot.body_names[parent])) @ X_0B


def in_parent(robot, q, body, wrench):
    X_PB = spatial.Transform.from_array(pose_in_parent(robot, q, body))
    return X_PB.act(Force.from_array(wrench)).array()


def wrench_at(robot, rng):
    """A frame, the body that it is part of, and a wrench in it."""
    frame = robot.model.frames[rng.integers(1, len(robot.frame_names))]
    return frame, rng.normal(size=6)


@FEW
@given(robots(), SEEDS)
def test_a_body_accelerates_as_its_frame(robot, seed):
    s = random_state(robot, seed)
    accelerations = robot.body_accelerations(s.q, s.v, s.a)
    assert accelerations.shape == (len(robot.body_names), 6)
    for name, acceleration in zip(robot.body_names, accelerations, strict=True):
        expected = robot.frame_acceleration(s.q, s.v, s.a, name, 'local')
        assert_close(acceleration, expected, EXACT)


@FEW
@given(robots(), SEEDS)
def test_every_body_cut_free_obeys_newton_and_euler(robot, seed):
    """[RD] eq. 3.24, 3.25: about the centre of mass, in root axes, with the weight."""
    s = random_state(robot, seed)
    model, rng = robot.model, np.random.default_rng(seed)
    frame, wrench = wrench_at(robot, rng)
    F = robot.joint_wrenches(s.q, s.v, s.a, {frame.name: wrench})
    for body, name in enumerate(robot.body_names):
        net = F[body].copy()
        for child, joint in enumerate(model.joints):
            if joint.parent == body:
                net -= in_parent(robot, s.q, child, F[child])
        if frame.body == body:
            net += frame.placement.act(Force.from_array(wrench)).array()
        Y = model.inertias[body]
        c, I = Y.center.array(), Y.rotational.array()
        R = robot.forward_kinematics(s.q, name)[:3, :3]
        v = robot.frame_velocity(s.q, s.v, name)
        a = robot.frame_acceleration(s.q, s.v, s.a, name)
        a_c = spatial.point_acceleration(a[:3], v[3:], a[3:], R @ c)
        weight = Y.mass * model.gravity.array()
        assert_close(R @ net[:3] + weight, Y.mass * a_c, LAW, 10.0)
        w, I_0 = v[3:], R @ I @ R.T
        about_c = R @ (net[3:] - np.cross(c, net[:3]))
        assert_close(about_c, I_0 @ a[3:] + np.cross(w, I_0 @ w), LAW, 10.0)


@FEW
@given(robots(), SEEDS)
def test_an_external_wrench_is_borne_by_what_carries_its_body(robot, seed):
    s = random_state(robot, seed)
    frame, wrench = wrench_at(robot, np.random.default_rng(seed))
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
