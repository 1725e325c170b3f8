# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""States of a commanded arm, as documented, and when a collision makes it react."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from dynamics_ros.commanding.arm_state import BRAKED, LEAVING, ArmState, Collisions, Event, after
from dynamics_ros.control import ReactionSettings

TEXT = (Path(__file__).parents[2] / 'docs' / 'control.md').read_text()


def test_the_documented_transitions_are_those_of_the_code():
    section = TEXT.split('### States of the arm\n')[1].split('\n### ')[0]
    rows = re.findall(r'^\| (\w+) \| [^|]* \| ([^|]*) \|$', section, re.MULTILINE)
    written = {
        (ArmState[name.upper()], Event[event.upper()]): ArmState[following.upper()]
        for name, changes in rows[1:]
        for event, following in re.findall(r'(\w+): (\w+)', changes)
    }
    pairs = [(state, event) for state in ArmState for event in Event]
    made = {pair: after(*pair) for pair in pairs if after(*pair) is not pair[0]}
    assert written == made


def test_each_state_that_sends_torques_can_end_and_none_resumes_from_its_end():
    for state in set(ArmState) - {ArmState.OFF}:
        assert after(state, Event.END) in LEAVING
        assert after(state, Event.LEAVE) is ArmState.OFF
    for state in LEAVING:
        for event in set(Event) - {Event.LEAVE}:
            assert after(state, event) in LEAVING
    assert BRAKED > LEAVING


SETTINGS = ReactionSettings('float')


class Detector:
    """Tells of a collision until it is acknowledged."""

    collided, detection_problem = True, ''

    def acknowledge(self):
        self.collided = False


class Arm:
    """Stands still."""

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
    assert collisions.strategy == 'float'


def test_a_reflex_is_not_gone_on_with_but_stays_to_be_acknowledged(collisions):
    collisions.notice(SETTINGS, Arm(), False)
    collisions.begin_anew()
    assert collisions.reflex is None
    assert collisions.acknowledge() == 'the collision is over (float)'
    assert not collisions.detector.collided
    assert collisions.acknowledge() == 'there was no collision'
