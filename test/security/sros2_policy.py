# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""config/sros2_policy.xml: what an enclave may do, in the names of ROS and in those of DDS."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree as ET

POLICY = ET.parse(Path(__file__).parents[2] / 'config' / 'sros2_policy.xml').getroot()

NODES, ROBOT = '/dynamics_ros', '/dynamics_ros/robot'
LEADER, OPERATOR = '/dynamics_ros/leader', '/dynamics_ros/operator'

_ACTION_SERVICES = [f'{{}}/_action/{name}' for name in ('send_goal', 'cancel_goal', 'get_result')]
_ACTION_TOPICS = [f'rt{{}}/_action/{name}' for name in ('feedback', 'status')]
_GOALS = [f'rq{name}Request' for name in _ACTION_SERVICES]
_ENDS = [f'rr{name}Reply' for name in _ACTION_SERVICES]

_IN_DDS = {
    ('topics', 'publish'): {'publish': ['rt{}']},
    ('topics', 'subscribe'): {'subscribe': ['rt{}']},
    ('services', 'request'): {'publish': ['rq{}Request'], 'subscribe': ['rr{}Reply']},
    ('services', 'reply'): {'publish': ['rr{}Reply'], 'subscribe': ['rq{}Request']},
    ('actions', 'call'): {'publish': _GOALS, 'subscribe': _ENDS + _ACTION_TOPICS},
    ('actions', 'execute'): {'publish': _ENDS + _ACTION_TOPICS, 'subscribe': _GOALS},
}
"""What is published and subscribed to in DDS by who does something in ROS (REP 2004, ROS 2 design:
topic and service name mapping)."""

GRAPH = 'ros_discovery_info'
"""The topic by which every participant says which nodes it has."""


def allowed(enclave: str, kind: str, action: str) -> set[str]:
    """The full names, some with wildcards, that an enclave may use in one way."""
    names = set()
    for profile in POLICY.iterfind(f"enclaves/enclave[@path='{enclave}']/profiles/profile"):
        namespace, node = profile.attrib['ns'], profile.attrib['node']
        for rule in profile.iterfind(kind):
            if rule.get(action) == 'ALLOW':
                for entry in rule:
                    name = entry.text or ''
                    if name.startswith('~'):
                        name = namespace + node + name[1:]
                    names.add(name if name.startswith('/') else namespace + name)
    return names


def dds_topics(enclave: str) -> dict[str, list[str]]:
    """The topics of DDS, some with wildcards, that an enclave may publish and subscribe to."""
    found: dict[str, set[str]] = {'publish': {GRAPH}, 'subscribe': {GRAPH}}
    for (kind, action), ways in _IN_DDS.items():
        for way, forms in ways.items():
            found[way] |= {form.format(n) for form in forms for n in allowed(enclave, kind, action)}
    return {way: sorted(topics) for way, topics in found.items()}
