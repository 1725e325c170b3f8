# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters as `ros2 param` sets, dumps and loads them: types are guessed from text."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

pytest.importorskip('rclpy')

from numpy.testing import assert_allclose
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.srv import GetParameters, ListParameters, SetParameters
from rclpy.parameter import (
    Parameter,
    get_parameter_value,
    parameter_dict_from_yaml_file,
    parameter_value_to_python,
)
from ros_harness import LATCHED, client, description, running
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from urdf_texts import pendulum

from dynamics_ros import Robot

pytestmark = pytest.mark.ros

DOMAIN = 75
CONFIG = Path(__file__).parents[3] / 'config' / 'dynamics_ros.yaml'
ARM = Robot.from_urdf(description())
NAMES = list(ARM.joint_names)
FILE = ('robot_description_arguments', 'robot_description_file')
AT_START = (
    *('autostart', 'calibration_file', 'gravity_source.', 'joint_state_topic', 'moveit_services'),
    'wrist_sensor.',
    *FILE,
)
OF_RCLPY = ('use_sim_time', 'qos_overrides.', 'start_type_description_service')


@pytest.fixture(scope='module')
def ros():
    with client(DOMAIN) as one:
        yield one


@pytest.fixture(scope='module')
def composed(ros):
    ros.publish('/robot_description', String(data=description()), LATCHED)
    with running('dynamics_ros', DOMAIN, {'thresholds.contact': [5.0, float('inf'), *[6.0] * 5]}):
        ros.wait_for_status('contact_node', 'waiting for shoulder_yaw')
        yield


def typed(ros, node: str, text: str, name: str):
    """What `ros2 param set NODE NAME TEXT` does."""
    one = ParameterMessage(name=name, value=get_parameter_value(text))
    request = SetParameters.Request(parameters=[one])
    return ros.call(SetParameters, f'/{node}/set_parameters', request).results[0]


def dump(ros, node: str) -> dict:
    """What `ros2 param dump NODE` writes."""
    listed = ros.call(ListParameters, f'/{node}/list_parameters').result.names
    request = GetParameters.Request(names=sorted(listed))
    values = ros.call(GetParameters, f'/{node}/get_parameters', request).values
    found: dict = {}
    for name, value in zip(request.names, values, strict=True):
        *groups, last = name.split('.')
        inside = found
        for group in groups:
            inside = inside.setdefault(group, {})
        inside[last] = parameter_value_to_python(value)
    return found


def load(ros, node: str, file: Path) -> dict[str, str]:
    """What `ros2 param load NODE FILE` does; reasons by the names of what is refused."""
    parameters = list(parameter_dict_from_yaml_file(str(file), True, [node]).values())
    request = SetParameters.Request(parameters=parameters)
    results = ros.call(SetParameters, f'/{node}/set_parameters', request).results
    return {
        one.name: result.reason
        for one, result in zip(parameters, results, strict=True)
        if not result.successful
    }


@pytest.mark.parametrize('node', ['contact_node', 'kinematics_node', 'dynamics_node'])
def test_what_is_dumped_is_loaded_and_changes_nothing(ros, composed, node, tmp_path):
    before = dump(ros, node)
    file = tmp_path / 'dump.yaml'
    file.write_text(yaml.dump({f'/{node}': {'ros__parameters': before}}))
    refused = load(ros, node, file)
    # Fixed at start: rclpy refuses these whatever their value is, as of every node.
    for name, reason in refused.items():
        assert 'read-only' in reason, (name, reason)
        assert name.startswith((*AT_START, *OF_RCLPY)), name
    assert dump(ros, node) == before


@pytest.mark.parametrize('node', ['contact_node', 'kinematics_node', 'dynamics_node'])
def test_the_file_of_all_parameters_is_loaded(ros, composed, node, tmp_path):
    sections = yaml.safe_load(CONFIG.read_text())
    # The robot's belong to dynamics_node in this process.
    robot = sections['/**']['ros__parameters'] if node == 'dynamics_node' else {}
    own = robot | sections[f'/**/{node}']['ros__parameters']
    for name in AT_START:
        own.pop(name.rstrip('.'), None)
    file = tmp_path / 'all.yaml'
    file.write_text(yaml.dump({f'/{node}': {'ros__parameters': own}}))
    assert load(ros, node, file) == {}


@pytest.mark.parametrize(
    ('node', 'name', 'text', 'value'),
    [
        ('dynamics_node', 'state_timeout', '4', 4.0),
        ('kinematics_node', 'inverse_kinematics.position_tolerance', '1e-06', 1e-6),
        ('contact_node', 'observer.gain', '50', [50.0]),
        ('contact_node', 'wrench.reference_points', '[0, 0, 0.1]', [0.0, 0.0, 0.1]),
        ('contact_node', 'wrench.reference_points', '[]', []),
        ('contact_node', 'thresholds.contact', '[inf, 1e+01, 2, 2, 2, 2, 2]', None),
        ('kinematics_node', 'frames', '[tool0]', ['tool0']),
        ('kinematics_node', 'frames', 'tool0', ['tool0']),
        ('kinematics_node', 'frames', '[]', []),
        ('dynamics_node', 'command_joints', '[]', []),
    ],
)
def test_a_value_is_taken_in_the_type_of_its_parameter(ros, composed, node, name, text, value):
    result = typed(ros, node, text, name)
    assert result.successful, result.reason
    expected = [float('inf'), 10.0, 2.0, 2.0, 2.0, 2.0, 2.0] if value is None else value
    stored = ros.get_parameter(node, name)
    assert stored == expected
    kind = type(expected[0]) if isinstance(expected, list) and expected else type(expected)
    assert type(stored[0] if isinstance(stored, list) and stored else stored) is kind


@pytest.mark.parametrize(
    ('name', 'text', 'words'),
    [
        ('state_timeout', 'soon', 'type'),
        ('state_timeout', 'nan', 'state_timeout'),
        ('state_timeout', 'true', 'type'),
        ('gravity', '[0, 0, down]', 'type'),
        ('gravity', '[0, 0]', 'length'),
        ('gravity', '[]', 'length'),
        ('gravity', '[true, true, true]', 'type'),
        ('gravity', '[1000.0, 0.0, 0.0]', '30'),
        ('gravity', '[25.0, 25.0, 0.0]', 'up to 30 m/s^2'),
        ('frame_prefix', '3', 'type'),
        ('frame_prefix', '/left/', "no '/' at its start, which tf2 refuses: 'left/'"),
    ],
)
def test_a_value_that_means_nothing_is_refused(ros, composed, name, text, words):
    before = ros.get_parameter('dynamics_node', name)
    result = typed(ros, 'dynamics_node', text, name)
    assert not result.successful
    assert words in result.reason
    assert ros.get_parameter('dynamics_node', name) == before


def test_ranges_of_lists_are_described(ros, composed):
    gain, contact, rate = ros.describe_parameters(
        'contact_node', ['observer.gain', 'thresholds.contact', 'markers.rate']
    )
    assert gain.additional_constraints == 'each at least 0.01'
    assert contact.additional_constraints == 'each at least 0 or inf'
    assert rate.additional_constraints == ''
    assert rate.floating_point_range[0].from_value == 0.0


@pytest.mark.parametrize('order', [('names', 'positions'), ('positions', 'names')])
def test_locked_joints_are_set_one_after_the_other(ros, composed, order):
    torques = ros.listen(JointState, '/dynamics_node/gravity_torques')
    texts = {'names': '[elbow_pitch]', 'positions': '[0.7]'}
    first, second = (f'locked_joints.{part}' for part in order)
    q, zero = [0.1 * i for i in range(7)], [0.0] * 7

    assert typed(ros, 'dynamics_node', texts[order[0]], first).successful
    # The robot stays what it was, and diagnostics say what is missing.
    ros.wait_for(lambda: 'locked_joints' in ros.values('dynamics_node').get('refused change', ''))
    assert ros.exchange(ros.joint_state(NAMES, q, zero, zero), torques).name == NAMES
    # Another change of the robot is made meanwhile.
    assert typed(ros, 'dynamics_node', '[0, 0, -1.62]', 'gravity').successful
    assert typed(ros, 'dynamics_node', 'python', 'backend').successful

    assert typed(ros, 'dynamics_node', texts[order[1]], second).successful
    locked = Robot.from_urdf(
        description(), locked_joints={'elbow_pitch': 0.7}, gravity=(0.0, 0.0, -1.62)
    )
    left = list(locked.joint_names)

    def answered():
        ros.publish_joint_state(ros.joint_state(NAMES, q, zero, zero))
        return torques[-1].name == left

    ros.wait_for(answered)
    values = [q[NAMES.index(name)] for name in left]
    assert_allclose(torques[-1].effort, locked.gravity(values), atol=1e-12)
    assert 'refused change' not in ros.wait_for_report('dynamics_node')

    for name in (second, first):
        assert typed(ros, 'dynamics_node', '[]', name).successful
    for name, text in (('gravity', '[0, 0, -9.81]'), ('backend', 'auto')):
        assert typed(ros, 'dynamics_node', text, name).successful
    ros.wait_for(
        lambda: torques[-1].name == NAMES,
        meanwhile=lambda: ros.publish_joint_state(ros.joint_state(NAMES, q, zero, zero)),
    )


def test_the_parameter_robot_description_wins_over_the_topic(ros):
    given, told = pendulum('given', 'given_rod'), pendulum('told', 'told_rod')
    topic = '/wins/robot_description'
    ros.publish(topic, String(data=told), LATCHED)
    arguments = {'robot_description': given}
    with running('dynamics_node', DOMAIN, arguments, namespace='/wins') as process:
        ros.wait_for(lambda: 'another robot than the parameter' in process.printed)
        ros.wait_for(lambda: ros.status('wins/dynamics_node').hardware_id == 'given')
        assert "robot 'told'" not in process.printed
        assert '1 degree of freedom' in process.printed
        # Without a parameter the topic tells; what it told before is known.
        assert ros.set_parameter('wins/dynamics_node', 'robot_description', '').successful
        ros.wait_for(lambda: ros.status('wins/dynamics_node').hardware_id == 'told')
        assert ros.set_parameter('wins/dynamics_node', 'robot_description', given).successful
        ros.wait_for(lambda: ros.status('wins/dynamics_node').hardware_id == 'given')


def test_the_parameters_of_a_sent_list_are_typed_each_by_its_own(ros, composed):
    asked = [
        Parameter('state_timeout', value=3).to_parameter_msg(),
        Parameter('joint_timeout', value=2).to_parameter_msg(),
        Parameter('nose', value=2).to_parameter_msg(),
    ]
    request = SetParameters.Request(parameters=asked)
    results = ros.call(SetParameters, '/dynamics_node/set_parameters', request).results
    assert [result.successful for result in results] == [True, True, False]
    assert ros.get_parameter('dynamics_node', 'state_timeout') == 3.0
