# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters are declared once, described, checked, and the files of config/ stay true to them."""

from __future__ import annotations

import dataclasses
import math
import re
import time
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import yaml

pytest.importorskip('rclpy')

import rclpy
from node_parameters import SECTIONS
from rclpy.node import Node
from rclpy.parameter import Parameter
from ros_harness import client, description, running

from dynamics_ros.calibration.outputs import parameters_text
from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.nodes.parameters import PERIOD, ParameterSet, descriptor
from dynamics_ros.nodes.reporting import RateLimit
from dynamics_ros.parameters.contact import ContactParameters
from dynamics_ros.parameters.impedance import ImpedanceParameters
from dynamics_ros.parameters.robot import RobotParameters
from dynamics_ros.parameters.servo import ServoParameters
from dynamics_ros.parameters.simulator import SimulatorParameters
from dynamics_ros.settings import NUMBERS, declared, parameter
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


@pytest.mark.parametrize('section', SECTIONS)
def test_every_time_is_a_number_of_nanoseconds(section):
    for item in declared(SECTIONS[section]):
        if item.type is float and item.constraint.unit == 's':
            assert item.constraint.maximum * 1e9 < 2**63, item.name


@dataclasses.dataclass(frozen=True)
class Example:
    rate: float = parameter(1.0, 'a rate', minimum=0.0, maximum=10.0)
    weights: tuple[float, ...] = parameter((1.0,), 'weights', sizes=(1, 3), may_be_infinite=True)
    mode: str = parameter('fast', 'a mode', choices=('fast', 'slow'))
    on: bool = parameter(False, 'a switch')
    count: int = parameter(3, 'a number', minimum=1, maximum=10)


@pytest.mark.parametrize(
    ('name', 'value'),
    [
        ('rate', 'fast'),
        ('rate', True),
        ('rate', -1.0),
        ('rate', 10.5),
        ('rate', math.nan),
        ('rate', math.inf),
        ('weights', [1.0, 2.0]),
        ('weights', ['a']),
        ('weights', [math.nan]),
        ('mode', 'quick'),
        ('mode', 1),
        ('on', 1),
        ('count', 0),
        ('count', 11),
        ('count', 2.5),
        ('count', True),
        ('count', '2'),
        ('weights', '[1, two]'),
        ('weights', [True]),
    ],
)
def test_values_that_a_parameter_cannot_take_are_refused_by_name(name, value):
    item = {item.name: item for item in declared(Example)}[name]
    with pytest.raises(InvalidArgumentError, match=f'^{name}: '):
        item.checked(value)


def test_whole_numbers_single_values_and_nothing_are_understood():
    items = {item.name: item for item in declared(Example)}
    assert items['rate'].checked(3) == 3.0
    assert items['weights'].checked(2) == (2.0,)
    assert items['weights'].checked([math.inf, 1, 2]) == (math.inf, 1.0, 2.0)
    assert items['weights'].checked(None) == (1.0,)
    assert items['weights'].checked('[1e-05, 2, inf]') == (1e-05, 2.0, math.inf)
    assert items['rate'].checked('1e-05') == 1e-05
    assert items['count'].checked(4) == 4
    assert type(items['count'].checked(4.0)) is int


def test_what_ros_has_no_range_for_is_described_in_words():
    items = {item.name: item for item in declared(Example)}
    count = descriptor(items['count'], False).integer_range[0]
    assert (count.from_value, count.to_value) == (1, 10)
    assert descriptor(items['rate'], False).floating_point_range[0].to_value == 10.0
    assert descriptor(items['weights'], False).additional_constraints == 'length 1 or 3'


def test_a_calibration_is_one_file_whose_values_come_after_those_that_are_given(tmp_path):
    file = tmp_path / 'calibrated.yaml'
    known = {'effort.noise': [0.2, math.inf], 'effort.scale': [3.0]}
    file.write_text(parameters_text(known, ['a', 'b']))

    @contextmanager
    def node_of(path):
        arguments = ['--ros-args', '-p', f'calibration_file:={path}', '-p', 'effort.scale:=[2.0]']
        rclpy.init(args=arguments, domain_id=DOMAIN)
        try:
            node = Node('contact_node')
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
    other.write_text('/**/x: {ros__parameters: {effort: {noize: [1.0]}}}')
    with node_of(other) as one, pytest.raises(InvalidArgumentError) as error:
        one.use_file('calibration_file', 'calibrate_robot')
    problem = f"{other}: no parameter 'effort.noize'; was 'effort.noise' meant?"
    assert str(error.value) == f'calibration_file: {problem}; expected a file of calibrate_robot'
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


def test_a_rate_limit_keeps_the_mean_rate_and_does_not_burst_after_a_pause():
    limit = RateLimit()
    # 1000 a second come in for two seconds, then a pause, then again.
    times = [0.001 * i for i in range(2000)] + [10.0 + 0.001 * i for i in range(1000)]
    passed = [time for time in times if limit.passes(time, 30.0)]
    assert 89 <= len(passed) <= 92
    gaps = [b - a for a, b in pairwise(passed)]
    assert min(gaps) > 0.03


@pytest.mark.ros
def test_changes_in_quick_succession_reach_listeners_together():
    """Each call may rebuild a robot, for which joint states would wait."""
    with client(DOMAIN) as one:
        parameters = ParameterSet(one.node, Example)
        calls = []

        def listen(names):
            calls.append((time.monotonic(), names, parameters.values.rate))

        parameters.add_listener(listen)
        start = time.monotonic()
        for rate in np.linspace(2.0, 9.0, 100).tolist():
            assert one.node.set_parameters([Parameter('rate', value=rate)])[0].successful
            assert parameters.values.rate == rate
            assert calls  # a single change is applied at once
        assert one.node.set_parameters([Parameter('mode', value='slow')])[0].successful
        one.wait_for(lambda: calls[-1][2] == 9.0 and 'mode' in calls[-1][1])
        assert len(calls) <= 2 + (time.monotonic() - start) / PERIOD
        assert all(after - before >= PERIOD for (before, *_), (after, *_) in pairwise(calls))


def test_changes_that_wait_reach_listeners_before_a_request_that_came_later():
    with client(DOMAIN) as one:
        parameters = ParameterSet(one.node, Example)
        rates = []
        parameters.add_listener(lambda names: rates.append(parameters.values.rate))
        for rate in (2.0, 3.0):
            assert one.node.set_parameters([Parameter('rate', value=rate)])[0].successful
        assert rates == [2.0]
        parameters.settle()
        parameters.settle()
        end = time.monotonic() + 2.0 * PERIOD
        one.wait_for(lambda: time.monotonic() > end)
        assert rates == [2.0, 3.0]


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
            ('backend', 'fortran', 'fortran'),
            ('gravity', [1.0], 'length'),
            ('observer.gain', 'high', 'type'),
            ('observer.gian', [25.0], "'observer.gian'; was 'observer.gain' meant?"),
        ):
            result = ros.set_parameter('contact_node', name, value)
            assert not result.successful
            assert words in result.reason
        assert process.alive
