# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the demonstration keeps of each topic: little, and readable while more of it comes."""

from __future__ import annotations

import pytest

pytest.importorskip('rclpy')

from dynamics_ros.demo import client as clients
from dynamics_ros.demo.client import Track, matched

LENGTH = 50


@pytest.fixture(autouse=True)
def short(monkeypatch):
    monkeypatch.setattr(clients, 'LENGTH', LENGTH)


def filled(read=lambda message: message):
    track = Track(read)
    for stamp in range(1, LENGTH + 1):
        track.add(stamp, stamp)
    return track


def test_a_full_track_keeps_the_newest():
    track = filled()
    track.add(LENGTH + 1, LENGTH + 1)
    assert track.stamps() == list(range(2, LENGTH + 2))
    assert (track.count, track.newest, track.latest) == (LENGTH + 1, LENGTH + 1, LENGTH + 1)
    assert Track().latest is None


def test_messages_dropped_while_others_are_read_do_not_matter():
    def read(message):
        for _ in range(LENGTH // 2):
            crowded.add(crowded.newest + 1, crowded.newest + 1)
        return message

    crowded = filled(read)
    assert [stamp for stamp, *_ in matched(crowded, filled())] == list(range(1, LENGTH + 1))


def test_of_many_matches_some_are_read_evenly_spread():
    reads = []
    track = filled(reads.append)
    assert [stamp for stamp, *_ in matched(track, filled(), most=10)] == list(range(1, 51, 5))
    assert len(reads) == 10
