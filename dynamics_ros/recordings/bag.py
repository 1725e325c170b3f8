# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Recordings in rosbag2 files (sqlite3 or mcap), through rosbags, and ROS 1 bags to read."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from dynamics_ros.errors import DynamicsRosError

from .ros1 import JointStateConverter
from .ros1_bag import Connection, Ros1Bag, is_ros1

try:
    from rosbags.rosbag2 import Reader, StoragePlugin, Writer, WriterError
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore
except ImportError as error:
    MISSING: str = f'recordings need the Python package rosbags (pip install rosbags): {error}'
else:
    MISSING = ''

OUR_MESSAGES = 'dynamics_ros_msgs'
JOINT_STATE = 'sensor_msgs/msg/JointState'
METADATA = 'metadata.yaml'
RECOVER = 'the file breaks off: mcap recover FILE -o NEW_FILE keeps the messages before that'
REINDEX = 'ros2 bag reindex FOLDER writes it'
VERSION: Final = 9
"""Of the metadata: what ROS 2 Jazzy and later write, and all later ones read."""


class RecordingError(DynamicsRosError):
    """A recording that cannot be read or written."""


def require_rosbags() -> None:
    """Refuse to go on without rosbags.

    Raises:
        RecordingError: it is not installed.
    """
    if MISSING:
        raise RecordingError(MISSING)


class Recording:
    """A rosbag2 or a bag of ROS 1 that is read; a context manager."""

    def __init__(self, path: Path) -> None:
        """Look at what is in it.

        Raises:
            RecordingError: there is none, or rosbags is missing.
        """
        require_rosbags()
        self._path = path
        self._stores: dict[str, Any] = {}
        if not path.exists():
            raise RecordingError(f'{path}: there is no such recording')
        if path.is_dir() and not (path / METADATA).is_file():
            files = any(one.suffix in ('.mcap', '.db3') for one in path.iterdir())
            cure = f'; {REINDEX}' if files else ''
            raise RecordingError(f'{path}: no recording of rosbag2, which has a {METADATA}{cure}')
        self._reader: Ros1Bag | Reader
        try:
            if path.is_file() and is_ros1(path):
                self._reader = Ros1Bag(path)
            else:
                self._reader = Reader(path)
                self._reader.open()
        except Exception as error:  # whatever rosbags stumbles over in a file that is none
            raise RecordingError(f'{path}: cannot be read: {_told(error)}') from error

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, *_: object) -> None:
        self._reader.close()

    @property
    def storage(self) -> str:
        """'mcap' or 'sqlite3'."""
        mcap = self._path.suffix == '.mcap' or any(self._path.glob('*.mcap'))
        return 'mcap' if mcap else 'sqlite3'

    def topics(self, kind: str) -> list[str]:
        """Names of the topics of a type, such as ``sensor_msgs/msg/JointState``."""
        return sorted({c.topic for c in self._reader.connections if c.msgtype == kind})

    def kinds(self) -> dict[str, str]:
        """Type of each topic, in the order of their names."""
        return dict(sorted((c.topic, c.msgtype) for c in self._reader.connections))

    def count(self, topics: list[str]) -> int:
        """How many messages there are on some topics."""
        return sum(c.msgcount for c in self._reader.connections if c.topic in topics)

    def messages(self, topics: list[str]) -> Iterator[tuple[str, int, bytes]]:
        """Topic, time of recording [ns] and bytes of each message, in the order of recording.

        The bytes are those of ROS 2, also of messages of ROS 1.

        Raises:
            RecordingError: the file ends in the middle, or is damaged.
        """
        if not isinstance(self._reader, Ros1Bag):
            for connection, time, data in self._raw(topics):
                yield connection.topic, time, data
            return
        joint_state = JointStateConverter()
        for connection, time, data in self._raw(topics):
            kind = connection.msgtype
            try:
                if kind == JOINT_STATE:
                    converted = joint_state(data)
                else:
                    converted = bytes(self._store(connection).ros1_to_cdr(data, kind))
            except Exception as error:
                raise self._damaged(error) from error
            yield connection.topic, time, converted

    def decoded(self, topics: list[str]) -> Iterator[tuple[str, int, Any]]:
        """The same with message objects of rosbags, whose fields are those of the message.

        Raises:
            RecordingError: the file ends in the middle, or is damaged.
        """
        ros1 = isinstance(self._reader, Ros1Bag)
        for connection, time, data in self._raw(topics):
            try:
                store = self._store(connection)
                read = store.deserialize_ros1 if ros1 else store.deserialize_cdr
                message = read(data, connection.msgtype)
            except Exception as error:  # whatever the decoder of rosbags stumbles over
                raise self._damaged(error) from error
            yield connection.topic, time, message

    def _store(self, connection: Any) -> Any:
        """Decoders of the messages of a connection: of ROS 1 as it was recorded, else of ROS 2.

        Raises:
            Exception: of rosbags, for a definition that cannot be read.
            RecordingError: the definition is not the one that the publisher had.
        """
        kind = connection.msgtype
        if kind not in self._stores:
            if isinstance(connection, Connection):
                store = get_typestore(Stores.EMPTY)
                store.register(get_types_from_msg(connection.definition, kind))
                if connection.digest not in (store.generate_msgdef(kind)[1], '*'):
                    raise RecordingError(f'{kind} is defined otherwise than its MD5 sum tells')
            else:
                store = get_typestore(Stores.ROS2_KILTED)
            self._stores[kind] = store
        return self._stores[kind]

    def _raw(self, topics: list[str]) -> Iterator[tuple[Any, int, bytes]]:
        wanted: list[Any] = [c for c in self._reader.connections if c.topic in topics]
        if not wanted:
            return
        try:
            yield from self._reader.messages(wanted)
        except Exception as error:  # of the file, of its compression, of its database
            raise self._damaged(error) from error

    def _damaged(self, error: Exception) -> RecordingError:
        return RecordingError(f'{self._path}: is damaged: {_told(error)}')


def _told(error: Exception) -> str:
    told = str(error) or repr(error)
    # A recorder that was killed leaves an MCAP file without its last bytes.
    return f'{told.rstrip(".")}; {RECOVER}' if 'end magic' in told else told


@contextmanager
def completed(path: Path, *, replace: bool = False) -> Iterator[Path]:
    """Where to write a recording that is to be there whole, or not at all.

    Args:
        path: folder that it takes in the end.
        replace: whether what is there gives way; else that is an error.

    Raises:
        RecordingError: there is something already, or it cannot be written there.
    """
    if path.exists() and not replace:
        raise RecordingError(f'{path}: cannot be written: it is there already')
    hidden = path.parent / f'.{path.name}.{os.getpid()}'
    try:
        hidden.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RecordingError(f'{path}: cannot be written: {error}') from error
    try:
        # Files of a rosbag2 are called after its folder.
        yield hidden / path.name
        if path.exists():
            shutil.rmtree(path)
        (hidden / path.name).replace(path)
    finally:
        shutil.rmtree(hidden, ignore_errors=True)


class RecordingWriter:
    """A rosbag2 that is written; a context manager."""

    def __init__(self, path: Path, storage: str) -> None:
        """Begin a new recording.

        Args:
            path: of a folder that is not there yet.
            storage: 'mcap' or 'sqlite3'.

        Raises:
            RecordingError: it is there already, or rosbags is missing.
        """
        require_rosbags()
        # Who only reads needs no ROS.
        from ament_index_python.packages import get_package_share_directory
        from rclpy.serialization import serialize_message

        plugin = StoragePlugin.MCAP if storage == 'mcap' else StoragePlugin.SQLITE3
        try:
            self._writer = Writer(path, version=VERSION, storage_plugin=plugin)
            self._writer.open()
        except (WriterError, OSError) as error:
            raise RecordingError(f'{path}: cannot be written: {error}') from error
        self._serialize = serialize_message
        self._store = get_typestore(Stores.ROS2_KILTED)
        for file in sorted(Path(get_package_share_directory(OUR_MESSAGES), 'msg').glob('*.msg')):
            name = f'{OUR_MESSAGES}/msg/{file.stem}'
            self._store.register(get_types_from_msg(file.read_text(), name))
        self._connections: dict[str, Any] = {}

    def __enter__(self) -> RecordingWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self._writer.close()

    def write(self, topic: str, kind: type, time: int, message: Any) -> None:
        """Add a message (an object or its bytes) of a class, recorded at a time [ns]."""
        connection = self._connections.get(topic)
        if connection is None:
            package, part = kind.__module__.split('.')[:2]
            name = f'{package}/{part}/{kind.__name__}'
            connection = self._writer.add_connection(topic, name, typestore=self._store)
            self._connections[topic] = connection
        raw = isinstance(message, bytes | bytearray | memoryview)
        self._writer.write(connection, time, bytes(message) if raw else self._serialize(message))
