# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Robots read from MJCF compute what MuJoCo computes of the same file."""

from __future__ import annotations

import numpy as np
import pytest
from tolerances import AGAINST_MUJOCO

from dynamics_ros import Robot
from dynamics_ros.errors import ModelError

mujoco = pytest.importorskip('mujoco')

FREE, SLIDE = int(mujoco.mjtJoint.mjJNT_FREE), int(mujoco.mjtJoint.mjJNT_SLIDE)

ARM = """
<mujoco model="arm">
  <option gravity="0.3 -0.2 -9.7"/>
  <worldbody>
    <body name="column" pos="0.1 0.2 0.3" euler="10 20 30">
      <geom type="box" size="0.1 0.1 0.1"/>
      <body name="shoulder" pos="0 0.05 0.2" quat="0.9 0.1 0.3 0.2">
        <joint name="pan" axis="0.1 0.2 1" pos="0.02 -0.03 0.01" range="-120 90"
          damping="0.7" frictionloss="0.3" armature="0.02" actuatorfrcrange="-40 50"/>
        <geom type="capsule" size="0.05" fromto="0 0 0 0.3 0.1 0.2"/>
        <body name="elbow" pos="0.3 0.1 0.2" euler="-40 5 60">
          <joint name="lift" axis="0 1 0.3" ref="25"/>
          <joint name="slide" type="slide" axis="1 0.2 0" pos="0.1 0 0" ref="0.05"
            range="-0.1 0.4"/>
          <joint name="roll" axis="1 0 0" pos="0 0.05 0.02"/>
          <inertial mass="1.3" pos="0.05 0.02 -0.01"
            fullinertia="0.02 0.03 0.04 0.001 0.002 0.003"/>
          <body name="wrist" pos="0.25 0 0">
            <joint name="ball" type="ball" pos="0.01 0.02 0.03"/>
            <geom type="ellipsoid" size="0.05 0.08 0.1" pos="0 0 0.1"/>
            <site name="tool" pos="0 0.01 0.2" euler="0 90 0"/>
          </body>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>
"""

QUADRUPED = """
<mujoco model="two legs">
  <worldbody>
    <light pos="0 0 3"/>
    <body name="trunk" pos="0 0 0.6" euler="0 10 0">
      <freejoint name="base"/>
      <geom type="box" size="0.3 0.1 0.05" mass="8"/>
      <body name="left" pos="0.2 0.1 0"><joint name="hip_l" axis="0 1 0"/>
        <geom type="capsule" size="0.03" fromto="0 0 0 0 0.02 -0.3"/></body>
      <body name="right" pos="0.2 -0.1 0"><joint name="hip_r" axis="0 1 0"/>
        <geom type="capsule" size="0.03" fromto="0 0 0 0 0.02 -0.3"/></body>
    </body>
  </worldbody>
</mujoco>
"""

TWO_FREE = """
<mujoco>
  <worldbody>
    <body><freejoint/><geom type="box" size="0.3 0.1 0.05" pos="0.1 0 0"/></body>
    <body pos="1 0 0"><joint axis="0 0 1"/>
      <geom type="box" size="0.1 0.2 0.05" pos="0.3 0 0"/></body>
    <body pos="2 0 0"><freejoint/><geom type="sphere" size="0.1" pos="0 0.2 0"/></body>
  </worldbody>
</mujoco>
"""

GRIPPER = """
<mujoco model="gripper">
  <worldbody>
    <body name="palm"><joint name="turn" axis="0 0 1"/><geom type="box" size="0.05 0.05 0.05"/>
      <body name="a" pos="0 0.05 0"><joint name="leader" type="slide" axis="0 1 0" ref="0.01"/>
        <geom type="box" size="0.01 0.01 0.05"/></body>
      <body name="b" pos="0 -0.05 0"><joint name="follower" axis="1 0 0" ref="10"/>
        <geom type="box" size="0.01 0.01 0.05" pos="0 0 0.1"/></body>
    </body>
  </worldbody>
  <equality><joint joint1="follower" joint2="leader" polycoef="0.1 -3 0 0 0"/></equality>
</mujoco>
"""


class Peer:
    """MuJoCo on the same text, with states in our order: quaternions last, base in its axes."""

    def __init__(self, text: str) -> None:
        self.model = mujoco.MjModel.from_xml_string(text)
        self.data = mujoco.MjData(self.model)

    def set(self, q, v, a):
        """Take a state of ours and compute poses and what velocities need."""
        model, data = self.model, self.data
        for j in range(model.njnt):
            at, dof = int(model.jnt_qposadr[j]), int(model.jnt_dofadr[j])
            kind = int(model.jnt_type[j])
            if kind >= SLIDE:
                data.qpos[at], data.qvel[dof], data.qacc[dof] = q[at], v[dof], a[dof]
                continue
            free = kind == FREE
            first = at + 3 * free
            data.qpos[first : first + 4] = q[[first + 3, first, first + 1, first + 2]]
            w = slice(dof + 3 * free, dof + 3 * free + 3)
            data.qvel[w], data.qacc[w] = v[w], a[w]
            if free:
                data.qpos[at : at + 3] = q[at : at + 3]
                R = rotation(data.qpos[first : first + 4])
                line = slice(dof, dof + 3)
                data.qvel[line] = R @ v[line]
                data.qacc[line] = R @ (a[line] + np.cross(v[w], v[line]))
        mujoco.mj_fwdPosition(model, data)
        mujoco.mj_fwdVelocity(model, data)
        return self

    def torques(self):
        """Torques (nv) of rigid bodies alone, those of a free joint in its axes."""
        model, data = self.model, self.data
        tau = np.empty(model.nv)
        mujoco.mj_rne(model, data, 1, tau)
        for j in range(model.njnt):
            if model.jnt_type[j] == FREE:
                line = slice(int(model.jnt_dofadr[j]), int(model.jnt_dofadr[j]) + 3)
                at = int(model.jnt_qposadr[j]) + 3
                tau[line] = rotation(data.qpos[at : at + 4]).T @ tau[line]
        return tau


def rotation(quaternion):
    R = np.empty(9)
    mujoco.mju_quat2Mat(R, np.ascontiguousarray(quaternion))
    return R.reshape(3, 3)


def state(robot, seed):
    rng = np.random.default_rng(seed)
    return robot.random_configuration(rng), *rng.normal(size=(2, robot.nv))


def assert_agrees(ours, theirs):
    scale = max(1.0, float(np.abs(theirs).max()))
    np.testing.assert_allclose(ours, theirs, rtol=0.0, atol=AGAINST_MUJOCO * scale)


@pytest.mark.parametrize('seed', range(3))
@pytest.mark.parametrize('text', [ARM, QUADRUPED, TWO_FREE], ids=['arm', 'legs', 'free'])
def test_torques_and_poses_are_those_of_mujoco(text, seed):
    robot, peer = Robot(text, backend='python'), Peer(text)
    q, v, a = state(robot, seed)
    peer.set(q, v, a)
    assert_agrees(robot.inverse_dynamics(q, v, a), peer.torques())
    for i in range(1, peer.model.nbody):
        pose = robot.forward_kinematics(q, peer.model.body(i).name or f'body_{i}')
        assert_agrees(pose[:3, 3], peer.data.xpos[i])
        assert_agrees(pose[:3, :3], peer.data.xmat[i].reshape(3, 3))
    for i in range(peer.model.nsite):
        pose = robot.forward_kinematics(q, peer.model.site(i).name)
        assert_agrees(pose[:3, 3], peer.data.site_xpos[i])
        assert_agrees(pose[:3, :3], peer.data.site_xmat[i].reshape(3, 3))


def test_mj_inverse_and_mj_forward_are_the_same_with_rotors_and_friction():
    robot, peer = Robot(ARM, backend='python'), Peer(ARM)
    model, data = peer.model, peer.data
    # Soft limits and friction are constraints of MuJoCo, which have a force of their own.
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONSTRAINT
    q, v, a = state(robot, 7)
    peer.set(q, v, a)
    mujoco.mj_inverse(model, data)
    joints = robot.model.joints
    armature, damping = np.zeros((2, robot.nv))
    for joint in joints:
        armature[list(joint.v_indices)] = joint.armature
        damping[list(joint.v_indices)] = joint.damping
    assert armature.max() == 0.02 and damping.max() == 0.7
    tau = robot.inverse_dynamics(q, v, a) + armature * a + damping * v
    assert_agrees(tau, data.qfrc_inverse)
    data.qfrc_applied = tau
    mujoco.mj_forward(model, data)
    assert_agrees(data.qacc, a)
    M = robot.mass_matrix(q) + np.diag(armature)
    bias = robot.nonlinear_effects(q, v) + damping * v
    assert_agrees(np.linalg.solve(M, tau - bias), data.qacc)


def test_limits_friction_and_gravity_are_read():
    robot = Robot(ARM)
    assert robot.name == 'arm'
    assert robot.joint_names == ('pan', 'lift', 'slide', 'roll', 'ball')
    np.testing.assert_allclose(robot.lower_limits[:3], [-np.deg2rad(120), -np.inf, -0.1])
    np.testing.assert_allclose(robot.upper_limits[:3], [np.deg2rad(90), np.inf, 0.4])
    assert robot.effort_limits[:2].tolist() == [50.0, np.inf]
    assert robot.model.joints[0].friction == 0.3
    assert tuple(robot.model.gravity) == (0.3, -0.2, -9.7)
    assert tuple(Robot(ARM, gravity=(0, 0, -1)).model.gravity) == (0, 0, -1)


def test_joints_that_an_equality_couples_follow():
    robot, peer = Robot(GRIPPER, backend='python'), Peer(GRIPPER)
    assert robot.joint_names == ('turn', 'leader')
    q, v, a = state(robot, 3)
    slope, start = -3.0, np.deg2rad(10.0)
    follower = start + 0.1 + slope * (q[1] - 0.01)
    peer.set(np.array([*q, follower]), np.array([*v, slope * v[1]]), np.array([*a, slope * a[1]]))
    turn, leader, followed = peer.torques()
    assert_agrees(robot.inverse_dynamics(q, v, a), np.array([turn, leader + slope * followed]))
    assert_agrees(robot.forward_kinematics(q, 'b')[:3, 3], peer.data.xpos[3])


def test_the_first_joint_may_be_the_one_that_others_follow():
    robot = Robot(GRIPPER.replace('"leader" polycoef', '"turn" polycoef'))
    assert robot.joint_names == ('turn', 'leader')


def test_what_is_left_out_is_told(caplog):
    text = GRIPPER.replace('name="turn"', 'name="turn" stiffness="3"').replace('-3 0 0', '-3 1 0')
    robot = Robot(text)
    assert robot.joint_names == ('turn', 'leader', 'follower')
    assert "springs, of which the dynamics of rigid bodies knows nothing: 'turn'" in caplog.text
    assert 'MJCF has equalities' in caplog.text


def test_a_file_and_what_it_includes(tmp_path):
    (tmp_path / 'part.xml').write_text(
        '<mujoco><worldbody><body name="b"><joint/><geom size="0.1"/></body></worldbody></mujoco>'
    )
    (tmp_path / 'all.xml').write_text('<mujoco><include file="part.xml"/></mujoco>')
    assert Robot(tmp_path / 'all.xml').frame_names == ('world', 'b')
    assert Robot(str(tmp_path / 'all.xml')).nv == 1


@pytest.mark.parametrize('text', ['<mujoco><worldbody>', '<mujoco><x/></mujoco>'])
def test_what_mujoco_refuses_is_told(text):
    with pytest.raises(ModelError, match='MJCF: mujoco refuses it: '):
        Robot(text)
