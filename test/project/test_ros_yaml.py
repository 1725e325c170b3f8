# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""YAML is read with the types that rcl gives it, and what is written is read back by rcl."""

from __future__ import annotations

import math
from contextlib import contextmanager

import pytest

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.parameters.kinematics import KinematicsParameters
from dynamics_ros.ros_yaml import read_yaml, yaml_text
from dynamics_ros.settings import declared

NAMES = (
    *('x', 'y', 'z', 'n', 'N', 'Y', 'yes', 'No', 'on', 'oFF', 'Off', 'true', 'False', 'null', '~'),
    *('1', '-1', '+7', '010', '08', '0o17', '0x1f', '-0X1F', '0b1', '1_000', '9223372036854775808'),
    *('6e1', '1e5', '1E5', '1.', '.5', '+.5', '1.5e-3', '1e400', '1e-400', '0x1p3', '0x.8', '1e5x'),
    *(
        '.inf',
        '-.inf',
        '+.INF',
        'inf',
        'INF',
        '-Infinity',
        'nan',
        '.NaN',
        'NaN',
        'nan(1)',
        '.',
        '+',
    ),
    *('12:30', '2020-01-01', '=', '<<', '!!str 5', '!!str y', 'a b', 'é', 'left/'),
)


@contextmanager
def node_with(path):
    rclpy = pytest.importorskip('rclpy')
    from rclpy.node import Node

    context = rclpy.Context()
    rclpy.init(args=['--ros-args', '--params-file', str(path)], context=context)
    options = {'enable_rosout': False, 'start_parameter_services': False}
    node = Node(
        'node', context=context, automatically_declare_parameters_from_overrides=True, **options
    )
    try:
        yield node
    finally:
        node.destroy_node()
        context.shutdown()


@pytest.mark.ros
def test_values_without_quotes_are_those_of_rcl(tmp_path):
    path = tmp_path / 'parameters.yaml'
    lines = [f'    p{i}: {name}\n' for i, name in enumerate(NAMES)]
    path.write_text('node:\n  ros__parameters:\n' + ''.join(lines), 'utf-8')
    ours = read_yaml(path)['node']['ros__parameters']
    with node_with(path) as node:
        for i, name in enumerate(NAMES):
            theirs, own = node.get_parameter(f'p{i}').value, ours[f'p{i}']
            assert type(own) is type(theirs), name
            assert own == theirs or (math.isnan(own) and math.isnan(theirs)), name


@pytest.mark.ros
def test_what_is_written_is_what_rcl_reads(tmp_path):
    numbers = [0.0, -0.0, 1.0, 1e5, 1e-5, 1e22, math.inf, -math.inf, math.pi]
    same = ['y']
    values = {
        **{f'p{i}': name for i, name in enumerate(NAMES)},
        'names': list(NAMES),
        'numbers': numbers,
        'tiny': 5e-324,
        'counts': [1, -5, 2**62],
        'on': True,
        'text': 'a "quote", a \\ and a\nsecond line: # no comment ' + 200 * 'long ',
        'first': same,
        'second': same,
    }
    path, expected = tmp_path / 'parameters.yaml', values | {'tiny': 0.0}
    for options in ({}, {'default_flow_style': None}):
        path.write_text(yaml_text({'/**/node': {'ros__parameters': values}}, **options), 'utf-8')
        assert read_yaml(path)['/**/node']['ros__parameters'] == expected
        with node_with(path) as node:
            for name, value in expected.items():
                read = node.get_parameter(name).value
                assert (list(read) if isinstance(value, list) else read) == value, name


@pytest.mark.parametrize('value', [False, 1, 1e5, [True, False], [1.0]])
def test_a_name_that_is_no_text_is_to_be_quoted(value):
    (frames,) = (item for item in declared(KinematicsParameters) if item.name == 'frames')
    with pytest.raises(InvalidArgumentError, match='expected str; quote a name that YAML takes'):
        frames.checked(value)
