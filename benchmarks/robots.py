# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Robots of the benchmarks: URDF files of the PyPI package example-robot-data."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from dynamics_ros.demo.known_robots import robots_folder

NAMED = {
    'panda': 'panda_description/urdf/panda.urdf',
    'ur5': 'ur_description/urdf/ur5_robot.urdf',
    'ur10': 'ur_description/urdf/ur10_robot.urdf',
    'xarm7': 'xarm_description/urdf/xarm7.urdf',
    'kinova': 'kinova_description/robots/kinova.urdf',
    'baxter': 'baxter_description/urdf/baxter.urdf',
    'tiago': 'tiago_description/robots/tiago.urdf',
    'z1': 'z1_description/urdf/z1.urdf',
    'pr2': 'pr2_description/urdf/pr2.urdf',
    'anymal': 'anymal_b_simple_description/robots/anymal.urdf',
    'talos_reduced': 'talos_data/robots/talos_reduced.urdf',
}


@dataclass(frozen=True)
class Subject:
    """A robot whose dynamics are measured.

    Attributes:
        name: a name of `NAMED`.
        root: 'fixed' or 'floating'.
        frame: frame of forward kinematics and Jacobian: a hand or a foot.
        locked: joints that are fixed at zero.
    """

    name: str
    root: str
    frame: str
    locked: tuple[str, ...] = ()


SUBJECTS = (
    Subject('xarm7', 'fixed', 'link_eef'),
    Subject('panda', 'fixed', 'panda_link8', ('panda_finger_joint1', 'panda_finger_joint2')),
    Subject('ur5', 'fixed', 'tool0'),
    Subject('talos_reduced', 'floating', 'gripper_left_base_link'),
    Subject('anymal', 'floating', 'LF_FOOT'),
)


@dataclass(frozen=True)
class Arm:
    """A serial chain whose inverse kinematics are measured.

    Attributes:
        name: name in the tables.
        file: a name of `NAMED`.
        base, tip: first and last link of the chain.
    """

    name: str
    file: str
    base: str
    tip: str


ARMS = (
    Arm('panda', 'panda', 'panda_link0', 'panda_link8'),
    Arm('ur5', 'ur5', 'base_link', 'ee_link'),
    Arm('ur10', 'ur10', 'base_link', 'ee_link'),
    Arm('xarm7', 'xarm7', 'link_base', 'link_eef'),
    Arm('kinova', 'kinova', 'j2s6s200_link_base', 'j2s6s200_end_effector'),
    Arm('baxter left', 'baxter', 'left_arm_mount', 'left_gripper_base_link'),
    Arm('tiago', 'tiago', 'torso_lift_link', 'arm_tool_link'),
    Arm('pr2 right', 'pr2', 'torso_lift_link', 'r_gripper_palm_link'),
)


def urdf_path(name: str) -> Path:
    """Path of the URDF file of a named robot."""
    return robots_folder() / NAMED[name]


def all_urdfs() -> list[Path]:
    """Paths of all URDF files of the collection."""
    return sorted(robots_folder().rglob('*.urdf'))
