# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Records the messages that the page receives as a rosbag2, and replays them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rclpy.serialization import deserialize_message

from dynamics_ros.page.scene import Scene
from dynamics_ros.recordings.bag import Recording, RecordingError, RecordingWriter

MAX_SECONDS = 600.0
"""Largest duration of a recording [s], after which it ends."""

NOTHING = 'none yet'
STORAGE = 'sqlite3'


class Tape:
    """Tab that records and replays messages; a replay is shown on the page but not published.

    Attributes:
        tab: the tab of the page.
    """

    def __init__(self, scene: Scene, tabs: Any, folder: Path, kinds: Mapping[str, type]) -> None:
        """Add the tab.

        Args:
            scene: scene of the page.
            tabs: tab group of the page.
            folder: folder of the recordings.
            kinds: message class of each displayed topic; other topics of a recording are ignored.
        """
        self._folder, self._kinds = folder, kinds
        self._writer: RecordingWriter | None = None
        self._path = folder
        self._reading: Recording | None = None
        self._messages: Iterator[tuple[str, int, bytes]] = iter(())
        self._next_message: tuple[str, int, bytes] | None = None
        self._began = 0.0
        self._first_stamp = 0
        with tabs.add_tab('Recording') as self.tab:
            self._record = scene.gui.add_button('Record')
            self._choice = scene.gui.add_dropdown('recording', self._recording_names())
            self._play = scene.gui.add_button('Play')
            self._status_text = scene.gui.add_markdown(f'Recordings are in `{folder}`.')
        self._record.on_click(lambda _: scene.later(self._record_or_stop))
        self._play.on_click(lambda _: scene.later(self._play_or_stop))

    @property
    def playing(self) -> bool:
        """Whether the page shows a recording instead of live messages."""
        return self._reading is not None

    def keep(self, topic: str, message: Any) -> None:
        """Write a message to the current recording, if there is one."""
        if self._writer is None:
            return
        if time.monotonic() > self._began + MAX_SECONDS:
            self._record_or_stop()
            return
        self._writer.write(topic, type(message), time.time_ns(), message)

    def due(self) -> Iterator[tuple[str, Any]]:
        """Topics and messages of the replayed recording that are due by now."""
        try:
            while self._next_message is not None:
                topic, recorded, data = self._next_message
                if recorded - self._first_stamp > 1e9 * (time.monotonic() - self._began):
                    return
                self._next_message = next(self._messages, None)
                yield topic, self._message(topic, data)
        except RecordingError as error:
            self._end_playing()
            self._status_text.content = f'**{error}**'
        if self._reading is not None:
            self._end_playing()

    def close(self) -> None:
        """Finish the current recording."""
        if self._writer is not None:
            self._record_or_stop()

    def _message(self, topic: str, data: bytes) -> Any:
        try:
            return deserialize_message(data, self._kinds[topic])
        except Exception as error:  # deserialisation raises errors of any type
            raise RecordingError(
                f'{self._choice.value}: {topic} has bytes that are no message'
            ) from error

    def _recording_names(self) -> tuple[str, ...]:
        folders = sorted(path.parent.name for path in self._folder.glob('*/metadata.yaml'))
        return tuple(folders) or (NOTHING,)

    def _record_or_stop(self) -> None:
        if self._writer is not None:
            self._writer.__exit__()
            self._writer = None
            self._record.label = 'Record'
            self._status_text.content = f'recorded `{self._path}`'
            self._choice.options = self._recording_names()
            self._choice.value = self._path.name
            return
        if self.playing:
            self._end_playing()
        self._path = self._folder / time.strftime('viewer_%Y%m%d_%H%M%S')
        try:
            self._writer = RecordingWriter(self._path, STORAGE)
        except RecordingError as error:
            self._status_text.content = f'**{error}**'
            return
        self._began = time.monotonic()
        self._record.label = 'Stop recording'
        self._status_text.content = f'recording into `{self._path}`'

    def _play_or_stop(self) -> None:
        if self.playing:
            self._end_playing()
            return
        if self._writer is not None:
            self._record_or_stop()
        name = self._choice.value
        try:
            self._reading = Recording(self._folder / name)
            self._messages = self._reading.messages(list(self._kinds))
            self._next_message = next(self._messages, None)
        except RecordingError as error:
            self._status_text.content = f'**{error}**'
            return
        self._began = time.monotonic()
        self._first_stamp = self._next_message[1] if self._next_message else 0
        self._play.label = 'Back to the robot'
        self._status_text.content = f'**playing** `{name}`: what comes now is not shown'

    def _end_playing(self) -> None:
        if self._reading is not None:
            self._reading.__exit__()
            self._reading = None
        self._next_message = None
        self._play.label = 'Play'
        self._status_text.content = 'the end: what comes is shown again'
