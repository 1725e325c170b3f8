# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Robots read from SDF compute what Drake computes of the same text."""

from __future__ import annotations

import numpy as np
import pytest
from laws import assert_close
from tolerances import LAW

from dynamics_ros import Robot
from dynamics_ros.errors import ModelError


def link(name: str, mass: float, pose: str = '') -> str:
    """A link with its centre of mass off its origin and products of inertia."""
    return f"""<link name="{name}">{pose}<inertial>
    <pose>0.02 {0.01 * mass} 0.1 0.3 0 0.2</pose><mass>{mass}</mass>
    <inertia><ixx>0.03</ixx><iyy>0.04</iyy><izz>0.05</izz>
    <ixy>0.001</ixy><ixz>0.002</ixz><iyz>-0.001</iyz></inertia></inertial></link>"""


ARM = f"""<sdf version="1.9"><model name="arm">
  {link('base', 4.0)}
  {link('upper', 2.0, '<pose relative_to="base">0.1 0 0.4 0.1 0.2 0.3</pose>')}
  {link('lower', 1.5, '<pose relative_to="upper">0 0.2 0.5 0 0.4 0</pose>')}
  {link('slide', 0.5, '<pose relative_to="lower">0 0 0.3 0 0 1</pose>')}
  {link('wrist', 0.4, '<pose relative_to="slide">0.1 0 0.1 0.5 0 0</pose>')}
  {link('cover', 0.2, '<pose relative_to="wrist">0 0.1 0 0 0.3 0</pose>')}
  <frame name="tool" attached_to="wrist"><pose>0 0 0.2 0.1 0 0</pose></frame>
  <joint name="bolted" type="fixed"><parent>world</parent><child>base</child></joint>
  <joint name="shoulder" type="revolute"><parent>base</parent><child>upper</child>
    <axis><xyz>0 0.6 0.8</xyz><dynamics><damping>0.7</damping></dynamics>
    <limit><lower>-1</lower><upper>2</upper><effort>80</effort><velocity>3</velocity></limit></axis>
  </joint>
  <joint name="elbow" type="revolute"><pose>0 0.03 -0.1 0.2 0 0</pose>
    <parent>upper</parent><child>lower</child>
    <axis><xyz expressed_in="base">1 0 0</xyz></axis></joint>
  <joint name="rail" type="prismatic"><pose>0 0.1 0 0.3 0 0.1</pose>
    <parent>lower</parent><child>slide</child>
    <axis><xyz>0 0 1</xyz><limit><lower>0</lower><upper>0.3</upper></limit></axis></joint>
  <joint name="ball" type="ball"><parent>slide</parent><child>wrist</child></joint>
  <joint name="screws" type="fixed"><parent>wrist</parent><child>cover</child></joint>
</model></sdf>"""

FREE = f"""<sdf version="1.9"><model name="free">{link('trunk', 6.0)}
  {link('leg', 1.0, '<pose relative_to="trunk">0.2 0 -0.1 0 0 0</pose>')}
  <joint name="hip" type="revolute"><parent>trunk</parent><child>leg</child>
    <axis><xyz>0 1 0</xyz></axis></joint></model></sdf>"""


UNIVERSAL = FREE.replace('type="revolute"', 'type="universal"').replace(
    '</axis>', '</axis><axis2><xyz>1 0 0</xyz></axis2>'
)


class Peer:
    """Drake's plant of the same text."""

    def __init__(self, text: str) -> None:
        from pydrake.multibody.parsing import Parser
        from pydrake.multibody.plant import MultibodyPlant

        self.plant = MultibodyPlant(0.0)
        Parser(self.plant).AddModelsFromString(text, 'sdf')
        self.plant.Finalize()
        self.context = self.plant.CreateDefaultContext()

    def pose(self, frame: str) -> np.ndarray:
        return self.plant.GetFrameByName(frame).CalcPoseInWorld(self.context).GetAsMatrix4()

    def mass_matrix(self) -> np.ndarray:
        return self.plant.CalcMassMatrix(self.context)

    def effects(self) -> np.ndarray:
        """C v + g."""
        gravity = self.plant.CalcGravityGeneralizedForces(self.context)
        return self.plant.CalcBiasTerm(self.context) - gravity

    def set(self, joint: str, q: float, v: float) -> None:
        found = self.plant.GetJointByName(joint)
        positions = self.plant.GetPositions(self.context)
        velocities = self.plant.GetVelocities(self.context)
        positions[found.position_start()], velocities[found.velocity_start()] = q, v
        self.plant.SetPositions(self.context, positions)
        self.plant.SetVelocities(self.context, velocities)


@pytest.fixture
def drake():
    pytest.importorskip('pydrake', reason='drake is an extra')


needs_drake = pytest.mark.usefixtures('drake')


@needs_drake
def test_poses_masses_and_forces_are_those_of_drake():
    """Its ball is at zero, where the rates of Drake's angles are the angular velocity."""
    robot, peer = Robot(ARM, backend='python'), Peer(ARM)
    assert (robot.nq, robot.nv, robot.model.root_joint) == (7, 6, 'fixed')
    order = [peer.plant.GetJointByName(x).velocity_start() for x in robot.joint_names]
    order += [order[-1] + 1, order[-1] + 2]
    rng = np.random.default_rng(1)
    for _ in range(5):
        q, v = robot.neutral(), np.zeros(6)
        q[:3], v[:3] = rng.uniform(-0.5, 0.5, (2, 3))
        for name, position, speed in zip(robot.joint_names[:3], q, v, strict=False):
            peer.set(name, position, speed)
        for frame in ('upper', 'lower', 'slide', 'wrist', 'cover', 'tool'):
            assert_close(robot.forward_kinematics(q, frame), peer.pose(frame), LAW)
        assert_close(robot.mass_matrix(q), peer.mass_matrix()[np.ix_(order, order)], LAW)
        assert_close(robot.nonlinear_effects(q, v), peer.effects()[order], LAW)


@needs_drake
def test_limits_damping_and_names():
    robot = Robot(ARM, backend='python')
    assert robot.name == 'arm'
    assert robot.joint_names == ('shoulder', 'elbow', 'rail', 'ball')
    shoulder, elbow, rail, _ = robot.model.actuated
    limits = shoulder.limits
    assert (limits.lower, limits.upper, limits.velocity, limits.effort) == (-1.0, 2.0, 3.0, 80.0)
    assert shoulder.damping == 0.7
    assert np.isinf([elbow.limits.lower, elbow.limits.effort, rail.limits.effort]).all()
    assert (rail.limits.lower, rail.limits.upper) == (0.0, 0.3)
    assert {'world', 'base', 'wrist', 'cover', 'tool'} <= set(robot.frame_names)


@needs_drake
def test_what_nothing_holds_floats_or_is_bolted_on_request():
    robot = Robot(FREE, backend='python')
    assert (robot.model.root_joint, robot.nv, robot.total_mass) == ('floating', 7, 7.0)
    bolted, peer = Robot(FREE, 'fixed', backend='python'), Peer(FREE)
    q, v = np.array([0.4]), np.array([0.7])
    peer.set('hip', 0.4, 0.7)
    hip = peer.plant.GetJointByName('hip').velocity_start()
    assert_close(bolted.mass_matrix(q), peer.mass_matrix()[[hip]][:, [hip]], LAW)
    assert np.isfinite(bolted.nonlinear_effects(q, v)).all()


@needs_drake
def test_a_mimic_joint_is_warned_of(caplog):
    mimic = '<axis><xyz>0 1 0</xyz><mimic joint="hip"><multiplier>2</multiplier></mimic></axis>'
    text = FREE.replace(
        '</model>',
        f'{link("foot", 0.3)}<joint name="ankle" type="revolute"><parent>leg</parent>'
        f'<child>foot</child>{mimic}</joint></model>',
    ).replace('1.9', '1.11')
    assert Robot(text, backend='python').nv == 8
    assert 'mimic' in caplog.text


@needs_drake
@pytest.mark.parametrize(
    ('text', 'said'),
    [
        ('<sdf', 'drake refuses it'),
        (FREE.replace('<child>leg', '<child>arm'), 'drake refuses it'),
        (UNIVERSAL, "joint 'hip'.*universal"),
    ],
)
def test_what_cannot_be_read_is_refused(text, said):
    with pytest.raises(ModelError, match=said):
        Robot(text)
