# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""When a collision makes an arm react, and when it is only to be acknowledged."""

from __future__ import annotations

import numpy as np
import pytest

from dynamics_ros.commanding.arm_state import Collisions
from dynamics_ros.control import ReactionSettings

SETTINGS = ReactionSettings('retract')


class Detector:
    """Tells of a collision until it is acknowledged."""

    collided, external_torques, detection_problem = True, None, ''

    def acknowledge(self):
        self.collided = False


class Arm:
    """Stands still."""

    pose = np.eye(4)

    def stay(self):
        pass


@pytest.fixture
def collisions():
    one = Collisions()
    one.detector = Detector()
    return one


def test_a_collision_is_reacted_to_once(collisions):
    collisions.notice(SETTINGS, Arm(), False)
    reflex = collisions.reflex
    assert reflex is not None
    collisions.notice(SETTINGS, Arm(), False)
    assert collisions.reflex is reflex


@pytest.mark.parametrize('begun_anew', [False, True])
def test_a_collision_of_before_the_arm_was_moved_begins_no_reflex(collisions, begun_anew):
    collisions.notice(SETTINGS, Arm(), True)
    if begun_anew:
        collisions.begin_anew()
    collisions.notice(SETTINGS, Arm(), False)
    assert collisions.reflex is None
    assert collisions.strategy == 'retract'


def test_a_reflex_is_not_gone_on_with_but_stays_to_be_acknowledged(collisions):
    collisions.notice(SETTINGS, Arm(), False)
    collisions.begin_anew()
    assert collisions.reflex is None
    assert collisions.acknowledge() == 'the collision is over (retract)'
    assert not collisions.detector.collided
    assert collisions.acknowledge() == 'there was no collision'
