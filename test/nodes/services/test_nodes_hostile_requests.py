# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Requests whose fields nobody can mean: each gets a response that names what is wrong."""

from __future__ import annotations

import random
import re
from importlib import import_module

import pytest

pytest.importorskip('rclpy')

from patience import times
from ros_harness import client, description, running

from dynamics_ros import Robot
from dynamics_ros_msgs.msg import Result

pytestmark = [pytest.mark.ros, pytest.mark.slow]

DOMAIN = 221

ROBOT = Robot.from_urdf(description())
NODES = ('kinematics_node', 'dynamics_node', 'contact_node')

FLOATS = (0.0, 1.0, -1.0, 1e-320, 1e308, -1e308, float('nan'), float('inf'), -float('inf'))
TEXTS = ('', 'tool0', ROBOT.joint_names[0], 'nobody', 'a' * 10_000, '../..', '{}', '%s', 'ü', '\n')
LENGTHS = (0, 1, 6, 7, 8, 1000)
DURATION = 'builtin_interfaces/Duration'


def kind_of(name):
    """Class of a message or service, such as package/srv/Name or package/Name."""
    package, *_, kind = name.split('/')
    return getattr(import_module(f'{package}.{"srv" if "/srv/" in name else "msg"}'), kind)


def value_of(chance, kind):
    """A random value of a type of a field."""
    sequence = re.fullmatch(r'sequence<(.+?)(?:, \d+)?>', kind)
    if sequence:
        # Long ones of messages would only take time.
        lengths = LENGTHS if '/' not in sequence[1] else LENGTHS[:3]
        return [value_of(chance, sequence[1]) for _ in range(chance.choice(lengths))]
    array = re.fullmatch(r'(.+)\[(\d+)\]', kind)
    if array:
        return [value_of(chance, array[1]) for _ in range(int(array[2]))]
    if kind in ('double', 'float'):
        return chance.choice(FLOATS if kind == 'double' else FLOATS[:3] + FLOATS[6:])
    if kind == 'boolean':
        return chance.random() < 0.5
    if kind.startswith('string'):
        return chance.choice(TEXTS)
    integer = re.fullmatch(r'(u?)int(\d+)', kind)
    if integer:
        bits = int(integer[2])
        low, high = (0, 2**bits - 1) if integer[1] else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
        return chance.choice((0, 1, low, high))
    if kind == 'octet':
        return bytes([chance.randrange(256)])
    return message_of(chance, kind)


def message_of(chance, kind):
    """A message with random fields, of which some keep their defaults."""
    message = kind_of(kind)() if isinstance(kind, str) else kind()
    for name, field in message.get_fields_and_field_types().items():
        if chance.random() < 0.7:
            setattr(message, name, value_of(chance, field))
    if kind == DURATION:
        message.sec = chance.choice((-(2**31), -1, 0))  # a search may take as long as that
    return message


def test_hostile_fields_of_every_service_are_answered():
    chance = random.Random(1)
    parameters = {'robot_description': description(), 'frames': ['tool0']}
    with running('dynamics_ros', DOMAIN, parameters) as node, client(DOMAIN) as ros:
        ros.wait_for(lambda: set(NODES) <= set(ros.node.get_node_names()))
        ros.wait_for(lambda: 'is ready' in node.printed)
        found = {
            name: kind
            for one in NODES
            for name, (kind, *_) in ros.node.get_service_names_and_types_by_node(one, '/')
            if kind.startswith('dynamics_ros_msgs/srv/')
        }
        assert len(found) >= 9, found
        codes = set()
        for name, kind in sorted(found.items()):
            service = kind_of(kind)
            for _ in range(times(15, 300)):
                request = message_of(chance, service.Request)
                result = ros.call(service, name, request).result
                codes.add(result.code)
                assert result.code == Result.SUCCESS or result.message, request
                # An error that nobody expected.
                assert not re.match(r'\w+Error: ', result.message), (result.message, request)
        assert len(codes) > 2
        for one in NODES:
            values = ros.wait_for_report(one)
            assert not [key for key in values if key.startswith('unexpected errors')], values
        assert 'Traceback' not in node.printed
