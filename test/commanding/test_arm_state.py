# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""States of a commanded arm, as documented, and when a collision makes it react."""

from __future__ import annotations

import re
from pathlib import Path

from dynamics_ros.commanding.arm_state import BRAKED, LEAVING, ArmState, Event, after

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
