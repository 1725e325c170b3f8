# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Arms whose joints cannot move the tool in all six directions, as URDF text."""

from __future__ import annotations

from collections.abc import Sequence

LINK = (
    '<inertial><origin xyz="0.1 0.02 0.05"/><mass value="2"/>'
    '<inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0" ixz="0" iyz="0"/></inertial>'
)

X, Y, Z = '1 0 0', '0 1 0', '0 0 1'

ARMS: dict[str, tuple[Sequence[tuple[str, str, str]], int]] = {
    'gantry': (
        [('prismatic', X, '0 0 0'), ('prismatic', Y, '0 0 0'), ('prismatic', Z, '0 0 0')],
        3,
    ),
    'scara': (
        [
            ('revolute', Z, '0 0 0.3'),
            ('revolute', Z, '0.4 0 0'),
            ('prismatic', Z, '0.3 0 0'),
            ('revolute', Z, '0 0 -0.1'),
        ],
        4,
    ),
    'planar 2R': ([('revolute', Y, '0 0 0.3'), ('revolute', Y, '0.4 0 0')], 2),
    'planar 4R': ([('revolute', Y, '0 0 0.3'), *[('revolute', Y, '0.4 0 0')] * 3], 3),
    'five axes': (
        [
            ('revolute', Z, '0 0 0.3'),
            ('revolute', Y, '0 0 0.1'),
            ('revolute', Y, '0.4 0 0'),
            ('revolute', Y, '0.3 0 0'),
            ('revolute', X, '0.1 0 0'),
        ],
        5,
    ),
    'six axes': (
        [
            ('revolute', Z, '0 0 0.3'),
            ('revolute', Y, '0 0 0.1'),
            ('revolute', Y, '0.4 0 0'),
            ('revolute', X, '0.3 0 0'),
            ('revolute', Y, '0.1 0 0'),
            ('revolute', X, '0.1 0 0'),
        ],
        6,
    ),
}
"""Joints as (type, axis, origin), and in how many directions they move the tool."""

STRETCHED = {'scara', 'planar 4R', 'five axes', 'six axes'}
"""Where all joints at zero lose a direction. Both joints of 2R move and turn the tip there, too."""


def few_joint_arm(name: str) -> str:
    """One of ``ARMS``."""
    joints = ARMS[name][0]
    parts = [f'<link name="link_0">{LINK}</link>']
    for i, (kind, axis, origin) in enumerate(joints, 1):
        parts.append(
            f'<link name="link_{i}">{LINK}</link><joint name="joint_{i}" type="{kind}">'
            f'<parent link="link_{i - 1}"/><child link="link_{i}"/><origin xyz="{origin}"/>'
            f'<axis xyz="{axis}"/>'
            '<limit lower="-3" upper="3" effort="200" velocity="3"/></joint>'
        )
    parts.append(
        f'<link name="tool"/><joint name="tool" type="fixed"><parent link="link_{len(joints)}"/>'
        '<child link="tool"/><origin xyz="0.1 0 0"/></joint>'
    )
    return f'<robot name="arm">{"".join(parts)}</robot>'
