# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""A robot of five hundred joints: what can be computed is, the rest is refused with a reason."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip('rclpy')

from ros_harness import client, running
from sensor_msgs.msg import JointState
from urdf_texts import massive_link

from dynamics_ros_msgs.msg import Result
from dynamics_ros_msgs.srv import ComputeDynamicsTerms, ComputeForwardDynamics

DOMAIN = 49
COUNT = 500


def chain(count: int) -> str:
    """URDF of so many links, one behind another."""
    parts = ['<robot name="chain"><link name="l0"/>']
    for i in range(1, count + 1):
        parts.append(massive_link(f'l{i}'))
        parts.append(
            f'<joint name="j{i}" type="continuous"><parent link="l{i - 1}"/><child link="l{i}"/>'
            '<origin xyz="0.1 0 0"/><axis xyz="0 1 0"/></joint>'
        )
    return ''.join([*parts, '</robot>'])


@pytest.mark.ros
@pytest.mark.slow
def test_gravity_goes_on_and_what_is_too_large_is_refused_with_a_reason():
    names = [f'j{i}' for i in range(1, COUNT + 1)]
    with (
        client(DOMAIN) as ros,
        running('dynamics_ros', DOMAIN, {'robot_description': chain(COUNT)}) as node,
    ):
        torques = ros.listen(JointState, '/dynamics_node/gravity_torques')
        message = ros.joint_state(names, np.zeros(COUNT), np.zeros(COUNT), np.zeros(COUNT))
        ros.wait_for(lambda: torques, meanwhile=lambda: ros.publish_joint_state(message))
        # At rest along x, each joint carries what is behind it.
        distances = 0.1 * np.arange(COUNT) + 0.1
        assert abs(torques[-1].effort[0]) == pytest.approx(9.81 * distances.sum(), rel=1e-9)
        told = ros.wait_for_status('contact_node', 'silent: robot_description: 500 joints').message
        assert 'poses, gravity and inverse dynamics go on' in told
        for kind, name in (
            (ComputeDynamicsTerms, 'compute_dynamics_terms'),
            (ComputeForwardDynamics, 'compute_forward_dynamics'),
        ):
            result = ros.call(kind, f'/dynamics_node/{name}', kind.Request(state=message)).result
            assert result.code == Result.INVALID_ARGUMENT, result.message
            assert '500 joints' in result.message
        status = Path(f'/proc/{node.pid}/status').read_text()
        peak = next(line for line in status.splitlines() if line.startswith('VmHWM'))
        assert int(peak.split()[1]) < 600 * 1024, peak
