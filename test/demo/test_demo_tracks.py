# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the demonstration keeps of each topic: little, and readable while more of it comes."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy')

from dynamics_ros.demo import display
from dynamics_ros.demo.continuity import MAX_GAP, SETTLING, Continuity
from dynamics_ros.demo.tracks import Track, pose_error

LENGTH = 50


def filled(length=LENGTH, read=lambda message: message):
    track = Track(read, length)
    for stamp in range(1, length + 1):
        track.add(stamp, stamp)
    return track


def crowded():
    """A track whose oldest messages are dropped whenever one is read."""

    def read(message):
        for _ in range(LENGTH // 2):
            track.add(track.newest + 1, track.newest + 1)
        return message

    track = filled(read=read)
    return track


def test_a_full_track_keeps_the_newest():
    track = filled()
    track.add(LENGTH + 1, LENGTH + 1)
    assert track.stamps() == list(range(2, LENGTH + 2))
    assert (track.count, track.newest, track.latest) == (LENGTH + 1, LENGTH + 1, LENGTH + 1)
    assert track.get(1) is None


def test_without_a_message_there_is_no_latest():
    assert Track().latest is None


def test_messages_dropped_while_others_are_read_do_not_matter():
    every = list(range(1, LENGTH + 1))
    assert [stamp for stamp, _ in crowded().items()] == every
    assert [stamp for stamp, *_ in crowded().matched(filled())] == every
    assert [stamp for stamp, *_ in filled().matched(crowded())] == every
    assert crowded().latest == LENGTH


def test_of_many_matches_some_are_read_evenly_spread():
    reads = []
    track = filled(read=reads.append)
    assert [stamp for stamp, *_ in track.matched(filled(), most=10)] == list(range(1, 51, 5))
    assert len(reads) == 10


def test_readers_and_a_writer_at_full_speed():
    one, other = filled(), filled()
    stop = threading.Event()

    def write():
        stamp = LENGTH
        while not stop.is_set():
            stamp += 1
            one.add(stamp, stamp)
            other.add(stamp, stamp)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(300):
            for stamp, mine, theirs in one.matched(other):
                assert stamp == mine == theirs
            for stamp, value in one.items(one.newest - LENGTH // 2):
                assert stamp == value
            assert one.latest is not None
    finally:
        stop.set()
        writer.join()
    assert len(one.stamps()) == LENGTH


def test_small_angles_between_poses_are_not_lost():
    turned = np.eye(4)
    turned[:2, :2] = [[np.cos(1e-10), -np.sin(1e-10)], [np.sin(1e-10), np.cos(1e-10)]]
    assert pose_error(np.eye(4), turned) == pytest.approx((0.0, 1e-10), rel=1e-3)


def test_an_output_counts_once_nothing_was_missed_for_a_while():
    step = MAX_GAP // 2
    before = list(range(0, SETTLING, step))
    again = before[-1] + 3 * MAX_GAP
    after = list(range(again, again + 2 * SETTLING, step))
    continuity = Continuity(after + before)
    assert not any(continuity.settled(stamp) for stamp in before)
    assert [continuity.settled(stamp) for stamp in after] == [
        stamp - again >= SETTLING for stamp in after
    ]
    # Where nothing came nothing is known, nor before the first and after the last.
    assert not continuity.settled(again - MAX_GAP - 1)
    assert not continuity.settled(again - 1)  # within the gap, close to its end
    assert not continuity.settled(-1) and not continuity.settled(after[-1] + 1)
    assert not Continuity([]).settled(0)


def test_the_display_keeps_a_steady_rate_and_catches_nothing_up(monkeypatch, capsys):
    """Lines come once a second, also after a pause, and the status is made only then."""
    now = [100.0]
    monkeypatch.setattr(display.time, 'monotonic', lambda: now[0])
    client = SimpleNamespace(joint_states=SimpleNamespace(count=0, newest=1))
    shown = display.Display(SimpleNamespace(), client)
    monkeypatch.setattr(shown, '_status', lambda: 'all is well')

    def lines_until(end):
        while now[0] < end - 1e-9:
            shown.update()
            now[0] += 0.02
        return capsys.readouterr().out.splitlines()

    assert len(lines_until(105.0)) == 5
    now[0] = 109.0  # nothing could be shown for four seconds
    assert len(lines_until(112.0)) == 3
    shown.event('pushed')
    assert capsys.readouterr().out == '  12.0 s  pushed\n'
    assert len(lines_until(114.0)) == 2
