# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Commands on recordings that are ended by a signal clean up as after Ctrl-C."""

from __future__ import annotations

import os
import signal

import pytest

pytest.importorskip('rclpy')
pytest.importorskip('rosbags')

from dynamics_ros.files import completed
from dynamics_ros.recordings import command
from dynamics_ros.recordings.command import SIGNALS, interrupted_by_signals

pytestmark = pytest.mark.ros


@pytest.mark.parametrize('number', SIGNALS)
def test_a_signal_interrupts_and_its_handler_is_restored(number):
    def work():
        with interrupted_by_signals():
            os.kill(os.getpid(), number)
            signal.pause()

    before = signal.getsignal(number)
    with pytest.raises(KeyboardInterrupt):
        work()
    assert signal.getsignal(number) is before


@pytest.mark.parametrize('number', SIGNALS)
def test_an_estimation_that_is_ended_leaves_no_partial_recording(
    tmp_path, monkeypatch, capsys, number
):
    def ended(options):
        with completed(options.output) as partial:
            partial.mkdir()
            os.kill(os.getpid(), number)
            signal.pause()

    monkeypatch.setattr(command, 'estimate', ended)
    assert command.main(['bag', '--output', str(tmp_path / 'out')]) == command.INTERRUPTED
    assert list(tmp_path.iterdir()) == []
    assert 'interrupted; nothing is written' in capsys.readouterr().err
