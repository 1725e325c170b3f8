# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Markers of contacts: where arrows begin and end, and what goes away."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy')

from arm import description
from visualization_msgs.msg import Marker

from dynamics_ros import Robot
from dynamics_ros.estimation import ContactState
from dynamics_ros.wire.markers import contact_markers

pytestmark = pytest.mark.ros

ROBOT = Robot.from_urdf(description())
LINK = 'forearm_link'
STATE = SimpleNamespace(q=ROBOT.random_configuration(3), time=5 * 10**9 + 7)
FORCE, POINT = np.array([0.0, 3.0, -4.0]), np.array([0.1, 0.0, 0.02])


def drawn(place: SimpleNamespace | None, state=ContactState.CONTACT, link=LINK) -> list[Marker]:
    """What is shown of one wrench and a place, in the order of the message."""
    estimate = SimpleNamespace(
        expressed_in='tool0', reference_point=POINT, wrench=np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    )
    external = SimpleNamespace(report=SimpleNamespace(state=state, link=link))
    args = ROBOT, STATE, external, [estimate], place, 'world', 0.01
    return list(contact_markers(*args).markers)


def touched(known: bool, frame: str = LINK) -> SimpleNamespace:
    """A place on the link."""
    return SimpleNamespace(link=LINK, point_frame=frame, point=POINT, force=FORCE, known=known)


def ends(marker: Marker) -> np.ndarray:
    """(2, 3)."""
    return np.array([(p.x, p.y, p.z) for p in marker.points])


def test_the_force_at_a_point_that_is_known_ends_at_the_surface():
    *_, force = drawn(touched(known=True))
    pose = ROBOT.forward_kinematics(STATE.q, LINK)
    R, point = pose[:3, :3], pose[:3, :3] @ POINT + pose[:3, 3]
    assert (force.ns, force.action) == ('contact_force', Marker.ADD)
    assert ends(force) == pytest.approx(np.array([point - 0.01 * R @ FORCE, point]))


@pytest.mark.parametrize('place', [touched(known=False), touched(known=True, frame='')])
def test_what_is_not_known_is_taken_away(place):
    *_, force = drawn(place)
    assert force.action == Marker.DELETE
