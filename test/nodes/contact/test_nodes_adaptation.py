# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""contact_node lets friction follow a drift."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip('rclpy')

from arm import ARM, NAMES, ROBOT, Q
from diagnostic_msgs.msg import DiagnosticArray
from ros_harness import served, shared

pytestmark = pytest.mark.ros

DOMAIN = 194
NODE = 'contact_node'
STEP = 0.05
"""s between stamps."""

TOLD = 3.0
"""Nm of dry friction that the node is told of; there is none."""


PARAMETERS = {
    'robot_description': ARM,
    'frames': ['tool0'],
    'friction.coulomb': [TOLD],
    'thresholds.contact': [10.0],
    'adaptation.share': 0.5,
}


ros = shared(served, NODE, DOMAIN, PARAMETERS)


class Mover:
    """Publishes an arm that swings to and fro, one state after another."""

    def __init__(self, ros) -> None:
        self.ros, self.time = ros, 0.0

    def __call__(self) -> None:
        self.time += STEP
        w = np.linspace(1.0, 2.0, len(NAMES))
        s, c = np.sin(w * self.time), np.cos(w * self.time)
        q, v, a = Q + 0.3 * s, 0.3 * w * c, -0.3 * w**2 * s
        effort = ROBOT.inverse_dynamics(q, v, a)
        self.ros.publish_joint_state(self.ros.joint_state(NAMES, q, v, effort, step=STEP))


def test_friction_changes_are_told_and_bounded(ros):
    diagnostics = ros.listen(DiagnosticArray, '/diagnostics')
    mover = Mover(ros)

    def learned():
        values = [v for m in diagnostics[-1:] for s in m.status for v in s.values]
        lines = [v.value for v in values if v.key.startswith('friction adaptation: ')]
        changes = [float(line.split()[0]) for line in lines]
        # Half of what is told is the most.
        assert min(changes, default=0.0) >= -0.5 * TOLD
        return len(changes) == len(NAMES) and max(changes) < -0.2

    ros.wait_for(learned, meanwhile=mover)
    # Friction begins anew once it is no longer adapted.
    assert ros.set_parameter(NODE, 'adaptation.share', 0.0).successful
    ros.wait_for(lambda: ros.values(NODE).get('friction adaptation', '').startswith('off'))
