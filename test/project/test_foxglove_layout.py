# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""config/foxglove_layout.json: each panel has a place, and its topics and fields exist."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip('rclpy')

from geometry_msgs.msg import WrenchStamped
from sensor_msgs.msg import JointState

from dynamics_ros_msgs.msg import ContactState

LAYOUT = json.loads(
    (Path(__file__).parents[2] / 'config' / 'foxglove_layout.json').read_text(encoding='utf-8')
)
KINDS = {
    '/contact_node/tool0/wrench': WrenchStamped,
    '/contact_node/external_torques': JointState,
    '/contact_node/contact_state': ContactState,
}
"""Message types of the topics in docs/interfaces.md."""


def places(node):
    """Panels of the tree of splits; each split has a direction and two parts."""
    if isinstance(node, str):
        return [node]
    assert set(node) == {'direction', 'splitPercentage', 'first', 'second'}
    assert node['direction'] in ('row', 'column') and 0 < node['splitPercentage'] < 100
    return places(node['first']) + places(node['second'])


def test_each_panel_has_one_place():
    assert sorted(places(LAYOUT['layout'])) == sorted(LAYOUT['configById'])


def test_paths_name_topics_and_fields_that_exist():
    paths = [
        path['value'] for panel in LAYOUT['configById'].values() for path in panel.get('paths', ())
    ]
    assert {path.partition('.')[0] for path in paths} == set(KINDS)
    for path in paths:
        topic, *fields = path.removesuffix('[:]').split('.')
        value = KINDS[topic]()
        for field in fields:
            value = getattr(value, field)
