# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the launch files start, as data, for the tests of them."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import yaml
from geometry_msgs.msg import PoseStamped, WrenchStamped
from std_msgs.msg import String
from visualization_msgs.msg import MarkerArray

from dynamics_ros.launching import arguments, processes
from dynamics_ros.launching.settings import Settings

ROOT = Path(__file__).parents[1]
ARM = str(ROOT / 'urdf' / 'seven_joint_arm.urdf')
RVIZ_CONFIG = yaml.safe_load((ROOT / 'config' / 'dynamics.rviz').read_text())

MESSAGES = {
    '/robot_description': String,
    '/kinematics_node/markers': MarkerArray,
    '/contact_node/markers': MarkerArray,
    '/kinematics_node/tool0/pose': PoseStamped,
    '/contact_node/tool0/wrench': WrenchStamped,
}
"""The topics of the interface that RViz shows of the arm, and their types."""

TWO = ('left', 'right')
"""The robots of two_robots.launch.py."""


def settings(**values: str) -> Settings:
    """What the launch file of all nodes gets when these arguments are given."""
    return Settings({item.name: item.default for item in arguments.NODES} | values)


def demo(**values: str) -> list[processes.Step]:
    """What the demo starts."""
    taken = arguments.demo_arguments(str(processes.simulated_arm()))
    return list(processes.demo(Settings({item.name: item.default for item in taken} | values)))


def start(given: Settings) -> list[processes.Step]:
    """All that the launch file of all nodes starts."""
    parts = (processes.robot_state_publisher, processes.all_nodes, processes.rviz)
    return list(chain.from_iterable(part(given) for part in parts))


def is_ours(step: processes.Step) -> bool:
    return isinstance(step, processes.Process) and step.package == 'dynamics_ros'
