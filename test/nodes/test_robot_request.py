# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""From what is asked for to a robot: what is made anew, what stays, and what is refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from arm import description

from dynamics_ros import Robot
from dynamics_ros.errors import InvalidArgumentError, ModelError
from dynamics_ros.nodes.robot_request import (
    GRAVITY_RATE,
    PAYLOAD_RATE,
    RobotRequest,
    approached,
    description_path,
    make_robot,
    read_description,
)
from dynamics_ros.parameters.dynamics import PayloadParameters
from dynamics_ros.parameters.robot import RobotParameters

PYTHON = RobotParameters(backend='python')
ARM = RobotRequest(PYTHON, description())
PAYLOAD = PayloadParameters.of('tool0', 2.0, [0.0, 0.0, 0.1], np.zeros((3, 3)))


def test_another_load_shares_what_is_compiled_and_another_description_does_not():
    made = make_robot(ARM)
    bare = made.robot
    q = bare.random_configuration(1)
    loaded = make_robot(replace(ARM, payload=PAYLOAD, gravity=(0.0, 9.81, 0.0)), made).robot
    assert loaded.shares_kernels_with(bare)
    wanted = bare.with_gravity((0.0, 9.81, 0.0)).with_payload('tool0', 2.0, [0.0, 0.0, 0.1])
    assert loaded.gravity(q) == pytest.approx(wanted.gravity(q))
    renamed = description().replace(f'"{bare.joint_names[0]}"', '"other"')
    other = make_robot(replace(ARM, description=renamed), made)
    assert other.robot.joint_names[0] == 'other'
    assert not other.robot.shares_kernels_with(bare)


XACRO = """<robot name="turned" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:arg name="joint" default="one"/>
  <link name="a"/><link name="b"/>
  <joint name="$(arg joint)" type="continuous"><parent link="a"/><child link="b"/></joint>
</robot>"""

MJCF = """<?xml version="1.0"?>
<!-- not a <robot> of URDF -->
<mujoco model="swung"><worldbody><body name="rod"><joint name="swing" type="hinge"/>
  <geom size="0.1"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize(
    ('name', 'text', 'arguments', 'joints', 'package'),
    [
        ('arm.urdf', description(), (), None, 'numpy'),
        ('arm.urdf.xacro', XACRO, (), ('one',), 'xacro'),
        ('arm.xacro', XACRO, ('joint:=two',), ('two',), 'xacro'),
        ('arm.xml', MJCF, (), ('swing',), 'mujoco'),
    ],
)
def test_a_robot_of_a_file(tmp_path, monkeypatch, name, text, arguments, joints, package):
    pytest.importorskip(package)
    (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    values = replace(PYTHON, robot_description_file=name, robot_description_arguments=arguments)
    file = description_path(values)
    monkeypatch.chdir('/')
    built = make_robot(RobotRequest(values, file))
    assert built.robot.joint_names == (joints or make_robot(ARM).robot.joint_names)
    assert built.description.folder == tmp_path
    assert built.description.urdf.lstrip().startswith('<') == (package != 'mujoco')


@pytest.mark.parametrize(
    ('name', 'text', 'words'),
    [
        ('none.urdf', None, 'none.urdf.*No such file'),
        ('bad.urdf', '<robot', 'malformed XML'),
        ('plain.urdf', 'hello', 'XML begins'),
        ('none.xacro', None, 'none.xacro.*No such file'),
    ],
)
def test_the_error_of_a_file_names_the_parameter(tmp_path, name, text, words):
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(ModelError, match=f'^robot_description_file: .*{words}'):
        make_robot(RobotRequest(PYTHON, tmp_path / name))


BOUNDED = replace(PYTHON, largest_payload=2.0)


def carrying(mass, center=(0.0, 0.0, 0.1), inertia=0.0):
    """The request for a payload."""
    load = PayloadParameters.of('tool0', mass, np.array(center), inertia * np.eye(3))
    return replace(ARM, payload=load)


@pytest.mark.parametrize(
    ('request_', 'words'),
    [
        (carrying(1e6), 'payload.mass'),
        (carrying(100.0), 'what the robot itself weighs; another bound: largest_payload'),
        (replace(carrying(2.1), parameters=BOUNDED), '2.1 kg.*up to 2 kg, largest_payload'),
        (carrying(1.0, (0.0, 11.0, 0.0)), 'payload.center_of_mass'),
        (carrying(1.0, inertia=1e7), 'payload.inertia'),
        (
            replace(ARM, payload=replace(PAYLOAD, frame='')),
            'payload.frame: is empty; expected the frame that carries the 2 kg',
        ),
    ],
)
def test_a_payload_that_nobody_can_mean_is_refused_and_the_one_before_stays(request_, words):
    before = make_robot(carrying(2.0))
    with pytest.raises(InvalidArgumentError, match=words):
        make_robot(request_, before)
    assert make_robot(carrying(2.0), before).robot is before.robot


@pytest.mark.parametrize(
    'wanted',
    [
        replace(ARM, gravity=(20.0, 0.0, 0.0)),
        replace(ARM, gravity=(0.0, 0.0, 9.81)),
        carrying(5.0),
        carrying(5.0, inertia=0.1),
        replace(carrying(8.0, (0.0, 0.0, 1.0)), gravity=(0.0, 5.0, 0.0)),
    ],
)
@pytest.mark.parametrize('back', [False, True])
def test_gravity_and_payload_are_approached_at_bounded_rates_and_reached(wanted, back):
    start, end = (wanted, ARM) if back else (ARM, wanted)
    robot, dt, request, steps = Robot.from_urdf(description(), backend='python'), 0.1, start, 0
    q = robot.random_configuration(3)

    def torques(request):
        load = request.payload
        loaded = robot.with_gravity(request.gravity).with_payload(
            load.frame or 'tool0', load.mass, load.center_of_mass, load.inertia_matrix()
        )
        return loaded.gravity(q)

    before, most = torques(request), 0.0
    while request != end:
        request = approached(request, end, dt)
        after = torques(request)
        most, before, steps = max(most, np.abs(after - before).max()), after, steps + 1
        assert steps < 500
    assert steps > 5
    # Of 17 kg at less than a metre, and of 5 kg/s at little more.
    assert most < dt * (GRAVITY_RATE * 17.0 + 9.81 * 2.0 * PAYLOAD_RATE)


def test_a_link_that_tf2_would_refuse_is_refused_by_name():
    text = description().replace('"base_link"', '"/base_link"')
    with pytest.raises(
        InvalidArgumentError, match=r"link: '/base_link'; expected no '/'.*'base_link'"
    ):
        read_description(text)
