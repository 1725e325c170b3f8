# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters are declared once, described, checked, and the files of config/ stay true to them."""

from __future__ import annotations

import math
import re
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

pytest.importorskip('rclpy')


import rclpy
from node_parameters import SECTIONS
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.srv import GetParameters, ListParameters, SetParameters
from rclpy.parameter import (
    get_parameter_value,
    parameter_dict_from_yaml_file,
    parameter_value_to_python,
)
from ros_harness import LATCHED, client, description, running
from std_msgs.msg import String
from urdf_texts import pendulum

from dynamics_ros.calibration.outputs import parameters_text
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.nodes.guarded_node import GuardedNode
from dynamics_ros.nodes.parameters import ParameterSet
from dynamics_ros.parameters.contact import ContactParameters
from dynamics_ros.parameters.impedance import ImpedanceParameters
from dynamics_ros.parameters.robot import REMOVED, RobotParameters
from dynamics_ros.parameters.servo import ServoParameters
from dynamics_ros.parameters.simulator import SimulatorParameters
from dynamics_ros.settings import NUMBERS, declared
from dynamics_ros.wire.conversions import topic_names

DOMAIN = 51
CONFIG = Path(__file__).parents[3] / 'config'


def flat(tree: dict, prefix: str = '') -> dict:
    """A nested section of a parameter file as names with dots."""
    values = {}
    for key, value in tree.items():
        if isinstance(value, dict):
            values |= flat(value, f'{prefix}{key}.')
        else:
            values[f'{prefix}{key}'] = value
    return values


def of_file(name: str) -> dict[str, dict]:
    sections = yaml.safe_load((CONFIG / name).read_text())
    return {key: flat(section['ros__parameters']) for key, section in sections.items()}


@pytest.mark.parametrize('section', SECTIONS)
def test_the_file_of_all_parameters_has_them_all_at_their_defaults(section):
    values = of_file('dynamics_ros.yaml')[section]
    defaults = {item.name: item.default for item in declared(SECTIONS[section])}
    # The description comes from the launch file or the topic.
    defaults.pop('robot_description', None)
    assert set(values) == set(defaults)
    for name, default in defaults.items():
        expected = list(default) if isinstance(default, tuple) else default
        assert values[name] == expected, name


@pytest.mark.parametrize('path', sorted(CONFIG.glob('*.yaml')), ids=lambda path: path.name)
def test_every_file_sets_only_parameters_that_exist_to_values_that_are_allowed(path):
    for section, values in of_file(path.name).items():
        known = {item.name: item for item in declared(SECTIONS[section])}
        for name, value in values.items():
            known[name].checked(value)


@pytest.mark.parametrize('section', SECTIONS)
def test_every_parameter_says_what_it_is(section):
    for item in declared(SECTIONS[section]):
        assert len(item.constraint.description) > 3, item.name
        assert item.checked(item.default) == item.default
        if item.type is float and item.constraint.unit == 's':  # a number of nanoseconds
            assert item.constraint.maximum * 1e9 < 2**63, item.name


@pytest.mark.parametrize(
    'kind', [ServoParameters, ImpedanceParameters, SimulatorParameters, RobotParameters]
)
def test_every_number_that_moves_a_robot_has_a_range(kind):
    for item in declared(kind):
        if item.type not in (float, int, NUMBERS):
            continue
        rule, size = item.constraint, max(item.constraint.sizes or (1,))
        assert max(abs(rule.minimum), abs(rule.maximum)) < 1e10, item.name
        beyond = [math.nan, -math.inf, rule.minimum - 1e3, 2.0 * rule.maximum + 1e3]
        for value in beyond + ([] if rule.may_be_infinite else [math.inf]):
            with pytest.raises(InvalidArgumentError, match=re.escape(item.name)):
                item.checked((value,) * size if item.type == NUMBERS else value)


def test_a_calibration_is_one_file_whose_values_come_after_those_that_are_given(tmp_path):
    file = tmp_path / 'calibrated.yaml'
    known = {'effort.noise': [0.2, math.inf], 'effort.scale': [3.0]}
    file.write_text(parameters_text(known, ['a', 'b']))

    @contextmanager
    def node_of(path):
        arguments = ['--ros-args', '-p', f'calibration_file:={path}', '-p', 'effort.scale:=[2.0]']
        rclpy.init(args=arguments, domain_id=DOMAIN)
        try:
            node = GuardedNode('contact_node')
            yield ParameterSet(node, ContactParameters)
            node.destroy_node()
        finally:
            rclpy.shutdown()

    with node_of(file) as one:
        one.use_file('calibration_file', 'calibrate_robot')
        assert one.values.effort.noise == (0.2, math.inf)
        assert one.values.effort.scale == (2.0,)
        assert one.values.effort.offset == (0.0,)
    other = tmp_path / 'other.yaml'
    texts = 'a: [', 'just text', '/**/x: {ros__parameters: {effort: {colour: [1.0]}}}'
    for text in (*texts, '/**/x: {ros__parameters: {effort: {noise: [-1.0]}}}'):
        other.write_text(text)
        with node_of(other) as one, pytest.raises(InvalidArgumentError):
            one.use_file('calibration_file', 'calibrate_robot')
    for group, key, advice in (
        ('effort', 'noize', "was 'effort.noise' meant?"),
        ('observer', 'kind', f'use {REMOVED["observer.kind"]}'),
    ):
        other.write_text(f'/**/x: {{ros__parameters: {{{group}: {{{key}: static}}}}}}')
        with node_of(other) as one, pytest.raises(InvalidArgumentError) as error:
            one.use_file('calibration_file', 'calibrate_robot')
        problem = f"{other}: no parameter '{group}.{key}'; {advice}"
        assert (
            str(error.value) == f'calibration_file: {problem}; expected a file of calibrate_robot'
        )
    with node_of(tmp_path / 'none.yaml') as one, pytest.raises(InvalidArgumentError) as error:
        one.use_file('calibration_file', 'calibrate_robot')
    assert str(error.value).endswith('expected a file of calibrate_robot')


def test_frames_become_names_that_topics_may_have():
    assert topic_names(['tool0', 'left-hand', 'a/b.c', '3rd']) == {
        'tool0': 'tool0',
        'left-hand': 'left_hand',
        'a/b.c': 'a_b_c',
        '3rd': '_3rd',
    }


@pytest.mark.parametrize('frames', [['a-b', 'a_b'], ['a', 'a']])
def test_frames_that_would_share_a_topic_are_refused(frames):
    with pytest.raises(InvalidArgumentError, match='both publish'):
        topic_names(frames)


def test_a_node_describes_its_parameters_and_takes_the_files_of_config():
    arguments = {'robot_description': description()}
    arm = of_file('seven_joint_arm.yaml')['/**/contact_node']
    with (
        running('contact_node', DOMAIN, arguments | arm) as process,
        client(DOMAIN) as ros,
    ):
        names = ['observer.gain', 'state_timeout', 'effort.sampling', 'robot_description']
        gain, timeout, sampling, _ = ros.describe_parameters('contact_node', names)
        assert gain.description.endswith('[1/s]')
        assert timeout.floating_point_range[0].from_value == 0.0
        assert "'interval'" in sampling.additional_constraints
        assert ros.get_parameter('contact_node', 'effort.sampling') == 'interval'
        ros.wait_for_status('contact_node', 'waiting for shoulder_yaw')
        for name, value, words in (
            ('state_timeout', -1.0, 'state_timeout'),
            ('effort.sampling', 'fortran', 'fortran'),
            ('observer.kind', 'static', 'calibrate again'),
            ('observer.gain', 'high', 'type'),
            ('observer.gian', [25.0], "'observer.gian'; was 'observer.gain' meant?"),
        ):
            result = ros.set_parameter('contact_node', name, value)
            assert not result.successful
            assert words in result.reason
        assert process.alive


FILE = ('robot_description_arguments', 'robot_description_file')
AT_START = (
    *('autostart', 'calibration_file', 'joint_state_topic', 'moveit_services'),
    'wrist_sensor.',
    'base.imu_topic',
    'locked_joints.',
    'payload.',
    *('robot_description', 'root_joint', 'loops', 'passive_joints', 'gravity', 'backend'),
    'largest_payload',
    *('publish_tf', 'publish_base_tf', 'command_joints', 'frame_prefix'),
    *FILE,
)
OF_RCLPY = ('use_sim_time', 'qos_overrides.', 'start_type_description_service')


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
        assert 'is fixed at start; ' in reason, (name, reason)
        assert name.startswith((*AT_START, *OF_RCLPY)), name
    assert dump(ros, node) == before


@pytest.mark.parametrize(
    ('node', 'name', 'text', 'value'),
    [
        ('dynamics_node', 'state_timeout', '4', 4.0),
        ('kinematics_node', 'inverse_kinematics.timeout', '1e-02', 0.01),
        ('contact_node', 'observer.gain', '50', [50.0]),
        ('contact_node', 'wrench.reference_points', '[0, 0, 0.1]', [0.0, 0.0, 0.1]),
        ('contact_node', 'wrench.reference_points', '[]', []),
        ('contact_node', 'thresholds.contact', '[inf, 1e+01, 2, 2, 2, 2, 2]', None),
        ('kinematics_node', 'frames', '[tool0]', ['tool0']),
        ('kinematics_node', 'frames', 'tool0', ['tool0']),
        ('kinematics_node', 'frames', '[]', []),
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
        ('friction.viscous', '[0, 0, down]', 'type'),
        ('friction.viscous', '[true, true, true]', 'type'),
        (
            'gravity',
            '[0.0, 0.0, -1.62]',
            'fixed at start; use ~/set_gravity of dynamics_node, or start the node anew',
        ),
        ('payload.mass', '2.0', 'fixed at start; use ~/set_payload'),
        ('backend', 'python', 'backend is fixed at start; start the node anew'),
    ],
)
def test_a_value_that_means_nothing_is_refused(ros, composed, name, text, words):
    before = ros.get_parameter('dynamics_node', name)
    result = typed(ros, 'dynamics_node', text, name)
    assert not result.successful
    assert words in result.reason
    assert ros.get_parameter('dynamics_node', name) == before


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
