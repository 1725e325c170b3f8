# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The planar arm of the lecture notes: joints about y, links along z, as URDF text."""

from __future__ import annotations

from collections.abc import Sequence


def planar_arm(lengths: Sequence[float], base_height: float = 0.0) -> str:
    """URDF of an arm in the x-z plane ([RD] example 2.8.5); angles are zero when it points up.

    The base is 1 kg, the links are thin rods of 1 kg a metre with the frames link_1, link_2, ...;
    the end is ``tip``.

    Args:
        lengths: of the links [m].
        base_height: height of the first joint, l_0 [m].
    """
    parts = [
        '<link name="base"><inertial><mass value="1"/>'
        '<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    ]
    for i, length in enumerate(lengths, 1):
        thick = 1e-3 * length
        across = length**3 / 12.0
        parts.append(
            f'<link name="link_{i}"><inertial><origin xyz="0 0 {length / 2}"/>'
            f'<mass value="{length}"/><inertia ixx="{across}" iyy="{across}" izz="{thick}" '
            f'ixy="0" ixz="0" iyz="0"/></inertial></link>'
        )
        parent = f'link_{i - 1}' if i > 1 else 'base'
        height = lengths[i - 2] if i > 1 else base_height
        parts.append(
            f'<joint name="joint_{i}" type="continuous"><parent link="{parent}"/>'
            f'<child link="link_{i}"/><origin xyz="0 0 {height}"/><axis xyz="0 1 0"/></joint>'
        )
    parts.append(
        '<link name="tip"/><joint name="tip_joint" type="fixed">'
        f'<parent link="link_{len(lengths)}"/><child link="tip"/>'
        f'<origin xyz="0 0 {lengths[-1]}"/></joint>'
    )
    return f'<robot name="planar_arm">{"".join(parts)}</robot>'
