# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The comparison of what a page says with what is printed tells them apart."""

from __future__ import annotations

import pytest
from documents import differs


@pytest.mark.parametrize(
    ('shown', 'printed'),
    [
        ('moved by 0.10 m\n', 'moved by 0.09 m\n'),
        ('a  1.20\nb', 'a 1.25\n b \n'),
        ('first\n...\nlast', 'first\n1\n2\nlast\n'),
        ('...\nlast', 'something\nlast'),
        ('first\n...', 'first\n'),
        ('took ... s', 'took 1.25 s'),
        ('2 bags', '2 bags'),
    ],
)
def test_the_same(shown, printed):
    assert differs(shown, printed) == ''


@pytest.mark.parametrize(
    ('shown', 'printed'),
    [
        ('moved by 0.10 m', 'moved by 0.20 m'),
        ('moved by 0.10 m', 'moved by -0.10 m'),
        ('2 bags', '3 bags'),
        ('one', 'one\ntwo'),
        ('one\ntwo', 'one'),
        ('first\n...\nlast', 'first\n1\n2'),
        ('first\n...', 'other'),
        ('took ... s', 'took 1.25 ms'),
        ('', 'something'),
    ],
)
def test_not_the_same(shown, printed):
    assert differs(shown, printed) != ''
