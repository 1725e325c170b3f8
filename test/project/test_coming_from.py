# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Each line of docs/coming_from.md runs; those of Pinocchio and MuJoCo give the same numbers."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.transform import Rotation

from dynamics_ros import Robot

ROOT = Path(__file__).parents[2]
URDF = str(ROOT / 'urdf' / 'seven_joint_arm.urdf')
MJCF = """
<mujoco><worldbody><body name="upper"><joint name="a" axis="0 1 0"/>
  <inertial pos="0.1 0 0.2" mass="2" diaginertia="0.1 0.1 0.1"/>
  <body name="fore" pos="0 0 0.5"><joint name="b" axis="0 1 0.2"/>
    <inertial pos="0 0.1 0.1" mass="1" diaginertia="0.05 0.04 0.03"/>
    <site name="tip" pos="0 0.1 0.4" quat="0.5 0.5 0.5 0.5"/></body></body></worldbody></mujoco>
"""
SECTIONS = dict(
    re.findall(
        r'^## (.*?)\n(.*?)(?=^## |\Z)', (ROOT / 'docs/coming_from.md').read_text(), re.M | re.S
    )
)


def rows(section):
    """The cells of each row of a table, and the code in the first two."""
    for row in re.findall(r'^\| (.*) \|$', SECTIONS[section], re.M)[1:]:
        theirs, ours, _ = (cell.strip() for cell in f'{row} '.split(' | '))
        yield theirs, ours.strip('`')


def names(robot, frame):
    rng = np.random.default_rng(4)
    q, q1 = robot.random_configuration(rng), robot.random_configuration(rng)
    v, a, tau = rng.normal(size=(3, robot.nv))
    return {
        **{'robot': robot, 'Robot': Robot, 'Rotation': Rotation, 'urdf': URDF, 'frame': frame},
        **{'q': q, 'q1': q1, 'v': v, 'a': a, 'tau': tau, 'dt': 0.2, 'w': rng.normal(size=6)},
        'X': robot.forward_kinematics(q),
    }


@pytest.mark.parametrize(
    ('section', 'ours'), [(name, ours) for name in SECTIONS for _, ours in rows(name)]
)
def test_each_line_of_ours_runs(section, ours, tmp_path):
    mjcf = tmp_path / 'arm.xml'
    mjcf.write_text(MJCF)
    if section == 'MuJoCo':
        pytest.importorskip('mujoco')
    exec(ours, {**names(Robot(URDF), 'tool0'), 'mjcf': mjcf})


def compared(theirs, ours):
    """Both as tuples of arrays, a matrix of which one triangle is given completed."""
    pairs = [
        (np.asarray(x, float), np.asarray(y, float))
        for x, y in zip(*(z if isinstance(z, tuple) else (z,) for z in (theirs, ours)), strict=True)
    ]
    for x, y in pairs:
        if x.ndim == 2 and len(x) == len(x.T) > 4 and not np.tril(x, -1).any():
            x += np.triu(x, 1).T
        assert_allclose(y.reshape(x.shape), x, atol=1e-9)


@pytest.mark.parametrize('base', ['fixed', 'floating'])
def test_pinocchio_gives_the_same(base):
    pin = pytest.importorskip('pinocchio')
    root = () if base == 'fixed' else (pin.JointModelFreeFlyer(),)
    model = pin.buildModelFromUrdf(URDF, *root)
    robot = Robot(URDF, base)
    known = names(robot, 'tool0')
    known |= {
        'pin': pin,
        'model': model,
        'data': model.createData(),
        'i': model.getFrameId('tool0'),
    }
    for theirs, ours in rows('Pinocchio'):
        if not theirs.startswith('`') or 'buildModel' in theirs:
            continue
        *before, last = theirs.strip('`').split('; ')
        for statement in before:
            exec(statement, known)
        if 'pin.frameJacobianTimeVariation' in last:
            pin.computeJointJacobiansTimeVariation(model, known['data'], known['q'], known['v'])
        compared(eval(last, known), eval(ours, known))


def test_mujoco_gives_the_same():
    mujoco = pytest.importorskip('mujoco')
    robot, model = Robot(MJCF), mujoco.MjModel.from_xml_string(MJCF)
    known, data = names(robot, 'tip'), mujoco.MjData(model)
    data.qpos, data.qvel, data.qacc = known['q'], known['v'], known['a']
    mujoco.mj_forward(model, data)
    bias = data.qfrc_bias.copy()
    data.qacc = known['a']
    mujoco.mj_inverse(model, data)
    full, J = np.zeros((2, 2)), np.zeros((2, 3, 2))
    mujoco.mj_fullM(model, *((full, data.qM) if hasattr(data, 'qM') else (data, full)))
    mujoco.mj_jacSite(model, data, J[0], J[1], 0)
    moved, difference = known['q'].copy(), np.zeros(2)
    mujoco.mj_integratePos(model, moved, known['v'], known['dt'])
    mujoco.mj_differentiatePos(model, difference, 1.0, known['q'], known['q1'])
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, data.site_xmat[0])
    x, y, z, w = Rotation.from_quat(quaternion[[1, 2, 3, 0]]).as_quat()
    values = SimpleNamespace(
        nonlinear_effects=bias, inverse_dynamics=data.qfrc_inverse, mass_matrix=full,
        jacobian=J.reshape(6, 2), center_of_mass=data.subtree_com[0], integrate=moved,
        difference=difference,
    )  # fmt: skip
    for _, ours in rows('MuJoCo'):
        result = eval(ours, {**known, 'mjcf': MJCF})
        method = re.match(r'robot\.(\w+)', ours)
        if 'as_quat' in ours:
            assert_allclose(np.abs(result @ [x, y, z, w]), 1.0, atol=1e-9)
        elif method is not None and method[1] == 'forward_kinematics':
            assert_allclose(result, data.site_xpos[0], atol=1e-9)
        elif method is not None:
            assert_allclose(result, getattr(values, method[1]), atol=1e-9)
