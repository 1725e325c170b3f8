# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Reading of rosbag2 bags (sqlite3 or mcap) and ROS 1 bags, and writing of rosbag2 bags.

rosbag2 bags are accessed through the Python package rosbags.
"""

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
"""Version of the metadata, as written by ROS 2 Jazzy and later and read by all later versions."""


class RecordingError(DynamicsRosError):
    """Raised for a recording that cannot be read or written."""


def require_rosbags() -> None:
    """Checks that the package rosbags is installed.

    Raises:
        RecordingError: it is not installed.
    """
    if MISSING:
        raise RecordingError(MISSING)


class Recording:
    """A rosbag2 or ROS 1 bag open for reading; a context manager."""

    def __init__(self, path: Path) -> None:
        """Opens the recording and reads its index.

        Raises:
            RecordingError: the recording does not exist or cannot be read, or rosbags is missing.
        """
        require_rosbags()
        self._path = path
        self._stores: dict[str, Any] = {}
        if not path.exists():
            raise RecordingError(f'{path}: there is no such recording')
        if path.is_dir() and not (path / METADATA).is_file():
            files = any(file.suffix in ('.mcap', '.db3') for file in path.iterdir())
            cure = f'; {REINDEX}' if files else ''
            raise RecordingError(f'{path}: not a rosbag2 folder: it has no {METADATA}{cure}')
        self._reader: Ros1Bag | Reader
        try:
            if path.is_file() and is_ros1(path):
                self._reader = Ros1Bag(path)
            else:
                self._reader = Reader(path)
                self._reader.open()
        except Exception as error:  # rosbags raises various errors for files that are no bags
            raise RecordingError(f'{path}: cannot be read: {_text(error)}') from error

    def __enter__(self) -> Recording:
        return self

    def __exit__(self, *_: object) -> None:
        self._reader.close()

    @property
    def storage(self) -> str:
        """Storage format for a copy of the recording: 'mcap' or 'sqlite3'."""
        mcap = self._path.suffix == '.mcap' or any(self._path.glob('*.mcap'))
        return 'mcap' if mcap else 'sqlite3'

    def topics(self, kind: str) -> list[str]:
        """Returns the sorted names of topics of a type, such as ``sensor_msgs/msg/JointState``."""
        return sorted({c.topic for c in self._reader.connections if c.msgtype == kind})

    def kinds(self) -> dict[str, str]:
        """Returns the type of each topic, sorted by topic name."""
        return dict(sorted((c.topic, c.msgtype) for c in self._reader.connections))

    def count(self, topics: list[str]) -> int:
        """Returns the number of messages on some topics."""
        return sum(c.msgcount for c in self._reader.connections if c.topic in topics)

    def messages(self, topics: list[str]) -> Iterator[tuple[str, int, bytes]]:
        """Yields topic, time of recording [ns] and serialized bytes in recorded order.

        The bytes have the format of ROS 2; messages of ROS 1 are converted.

        Raises:
            RecordingError: the file is truncated or damaged.
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
                raise self._damaged_error(error) from error
            yield connection.topic, time, converted

    def decoded(self, topics: list[str]) -> Iterator[tuple[str, int, Any]]:
        """Yields topic, time of recording [ns] and message in recorded order.

        The messages are objects of rosbags with the fields of their message types.

        Raises:
            RecordingError: the file is truncated or damaged.
        """
        ros1 = isinstance(self._reader, Ros1Bag)
        for connection, time, data in self._raw(topics):
            try:
                store = self._store(connection)
                read = store.deserialize_ros1 if ros1 else store.deserialize_cdr
                message = read(data, connection.msgtype)
            except Exception as error:  # rosbags raises various errors for invalid messages
                raise self._damaged_error(error) from error
            yield connection.topic, time, message

    def _store(self, connection: Any) -> Any:
        """Returns the type store of a connection: for ROS 1 the recorded types, else ROS 2's.

        Raises:
            Exception: from rosbags, for a definition that cannot be parsed.
            RecordingError: the definition does not match its MD5 sum.
        """
        kind = connection.msgtype
        if kind not in self._stores:
            if isinstance(connection, Connection):
                store = get_typestore(Stores.EMPTY)
                store.register(get_types_from_msg(connection.definition, kind))
                if connection.digest not in (store.generate_msgdef(kind)[1], '*'):
                    raise RecordingError(f'the definition of {kind} does not match its MD5 sum')
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
        except Exception as error:  # errors of the file, its compression, or its database
            raise self._damaged_error(error) from error

    def _damaged_error(self, error: Exception) -> RecordingError:
        return RecordingError(f'{self._path}: is damaged: {_text(error)}')


def _text(error: Exception) -> str:
    text = str(error) or repr(error)
    # A recorder that was killed leaves an MCAP file without its last bytes.
    return f'{text.rstrip(".")}; {RECOVER}' if 'end magic' in text else text


@contextmanager
def completed(path: Path, *, replace: bool = False) -> Iterator[Path]:
    """Yields a temporary path for a recording, which is moved to ``path`` once it is complete.

    On an error nothing remains, and an existing recording is left unchanged.

    Args:
        path: final folder of the recording.
        replace: whether to replace an existing folder; otherwise that is an error.

    Raises:
        RecordingError: the folder already exists or cannot be written.
    """
    if path.exists() and not replace:
        raise RecordingError(f'{path}: cannot be written: it already exists')
    hidden = path.parent / f'.{path.name}.{os.getpid()}'
    try:
        hidden.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RecordingError(f'{path}: cannot be written: {error}') from error
    try:
        # rosbag2 names the files of a bag after its folder.
        yield hidden / path.name
        if path.exists():
            shutil.rmtree(path)
        (hidden / path.name).replace(path)
    finally:
        shutil.rmtree(hidden, ignore_errors=True)


class RecordingWriter:
    """A rosbag2 bag open for writing; a context manager."""

    def __init__(self, path: Path, storage: str) -> None:
        """Creates a new bag.

        Args:
            path: folder of the bag, which must not exist.
            storage: 'mcap' or 'sqlite3'.

        Raises:
            RecordingError: the folder already exists, or rosbags is missing.
        """
        require_rosbags()
        # Imported here so that reading works without ROS.
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
        """Writes a message (object or bytes) of type ``kind``, recorded at ``time`` [ns]."""
        connection = self._connections.get(topic)
        if connection is None:
            package, part = kind.__module__.split('.')[:2]
            name = f'{package}/{part}/{kind.__name__}'
            connection = self._writer.add_connection(topic, name, typestore=self._store)
            self._connections[topic] = connection
        raw = isinstance(message, bytes | bytearray | memoryview)
        self._writer.write(connection, time, bytes(message) if raw else self._serialize(message))
