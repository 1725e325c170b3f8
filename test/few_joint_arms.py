# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Arms whose joints cannot move the tool in all six directions, as URDF text."""

from __future__ import annotations

LINK = (
    '<inertial><origin xyz="0.1 0.02 0.05"/><mass value="2"/>'
    '<inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0" ixz="0" iyz="0"/></inertial>'
)

AXES = {'x': '1 0 0', 'y': '0 1 0', 'z': '0 0 1'}
KINDS = {'P': 'prismatic', 'R': 'revolute'}

ARMS = {
    'gantry': (('Px 0 0 0', 'Py 0 0 0', 'Pz 0 0 0'), 3),
    'scara': (('Rz 0 0 0.3', 'Rz 0.4 0 0', 'Pz 0.3 0 0', 'Rz 0 0 -0.1'), 4),
    'planar 2R': (('Ry 0 0 0.3', 'Ry 0.4 0 0'), 2),
    'planar 4R': (('Ry 0 0 0.3', *['Ry 0.4 0 0'] * 3), 3),
    'five axes': (('Rz 0 0 0.3', 'Ry 0 0 0.1', 'Ry 0.4 0 0', 'Ry 0.3 0 0', 'Rx 0.1 0 0'), 5),
    'six axes': (
        ('Rz 0 0 0.3', 'Ry 0 0 0.1', 'Ry 0.4 0 0', 'Rx 0.3 0 0', 'Ry 0.1 0 0', 'Rx 0.1 0 0'),
        6,
    ),
}
"""Joints by kind, axis and origin, and in how many directions they move the tool."""


def few_joint_arm(name: str) -> str:
    """One of ``ARMS``."""
    joints = ARMS[name][0]
    parts = [f'<link name="link_0">{LINK}</link>']
    for i, text in enumerate(joints, 1):
        parts.append(
            f'<link name="link_{i}">{LINK}</link><joint name="joint_{i}" type="{KINDS[text[0]]}">'
            f'<parent link="link_{i - 1}"/><child link="link_{i}"/><origin xyz="{text[3:]}"/>'
            f'<axis xyz="{AXES[text[1]]}"/>'
            '<limit lower="-3" upper="3" effort="200" velocity="3"/></joint>'
        )
    parts.append(
        f'<link name="tool"/><joint name="tool" type="fixed"><parent link="link_{len(joints)}"/>'
        '<child link="tool"/><origin xyz="0.1 0 0"/></joint>'
    )
    return f'<robot name="arm">{"".join(parts)}</robot>'
