# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""States of a commanded arm, as documented, and when a collision makes it react."""

from __future__ import annotations

import re
from pathlib import Path

from dynamics_ros.commanding.arm_state import BRAKED, LEAVING, ArmState, after

TEXT = (Path(__file__).parents[2] / 'docs' / 'control.md').read_text()


def test_the_documented_transitions_are_those_of_the_code():
    section = TEXT.split('### States of the arm\n')[1].split('\n### ')[0]
    rows = re.findall(r'^\| (\w+) \| [^|]* \| ([^|]*)\|$', section, re.MULTILINE)
    written = {
        ArmState[name.upper()]: {ArmState[x.upper()] for x in re.findall(r'\w+', following)}
        for name, following in rows[1:]
    }
    made = {x: {y for y in ArmState if after(x, y) is not x} - {ArmState.OFF} for x in ArmState}
    assert written == made


def test_each_state_that_sends_torques_can_end_and_none_resumes_from_its_end():
    for state in set(ArmState) - {ArmState.OFF}:
        assert after(state, ArmState.ENDING) in LEAVING
        assert after(state, ArmState.OFF) is ArmState.OFF
    for state in LEAVING:
        for wanted in set(ArmState) - {ArmState.OFF}:
            assert after(state, wanted) in LEAVING
    assert BRAKED > LEAVING
