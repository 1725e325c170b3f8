# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""URDF of an arm of two joints with shapes, whose friction can be chosen."""

from __future__ import annotations


def two_joint_arm(viscous: float = 0.0, coulomb: float = 0.0) -> str:
    """The text."""

    def link(name: str, mass: float) -> str:
        return (
            f'<link name="{name}"><inertial><origin xyz="0 0 0.2"/><mass value="{mass}"/>'
            '<inertia ixx="0.02" ixy="0" ixz="0" iyy="0.02" iyz="0" izz="0.005"/></inertial>'
            '<collision><origin xyz="0 0 0.2"/><geometry><box size="0.05 0.05 0.3"/></geometry>'
            '</collision></link>'
        )

    def joint(name: str, parent: str, child: str, z: float) -> str:
        return (
            f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>'
            f'<origin xyz="0 0 {z}"/><axis xyz="0 1 0"/>'
            '<limit lower="-1.5" upper="1.5" velocity="2" effort="80"/>'
            f'<dynamics damping="{viscous}" friction="{coulomb}"/></joint>'
        )

    return (
        '<robot name="two"><link name="base"><collision><geometry><box size="0.2 0.2 0.1"/>'
        f'</geometry></collision></link>{link("upper", 3.0)}{link("lower", 2.0)}'
        f'{joint("shoulder", "base", "upper", 0.1)}{joint("elbow", "upper", "lower", 0.4)}</robot>'
    )
