# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Reading of rosbag2 bags (sqlite3 or mcap) and ROS 1 bags, and writing of rosbag2 bags.

Bags are accessed through the Python package rosbags. What it decompresses is bounded here, through
names inside some of its modules: without a bound, a chunk of a few kilobytes could fill the memory.
In a version of rosbags without these names, nothing is bounded.
"""

from __future__ import annotations

import sqlite3
import struct
from bz2 import BZ2Decompressor
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from dynamics_ros.errors import DynamicsRosError, printable

try:
    from rosbags.rosbag1 import Reader as Ros1Reader
    from rosbags.rosbag1 import ReaderError as Ros1ReaderError
    from rosbags.rosbag2 import Reader, StoragePlugin, Writer, WriterError
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore
except ImportError as error:
    MISSING: str = f'recordings need the Python package rosbags (pip install rosbags): {error}'
else:
    MISSING = ''

OUR_MESSAGES = 'dynamics_ros_msgs'
JOINT_STATE, HEADER = 'sensor_msgs/msg/JointState', 'std_msgs/msg/Header'
METADATA = 'metadata.yaml'
RECOVER = 'the file breaks off: mcap recover FILE -o NEW_FILE keeps the messages before that'
REINDEX = 'ros2 bag reindex FOLDER writes it'
ROS1_REINDEX = 'rosbag reindex FILE recovers what is readable'
LENGTH = struct.Struct('<I')
ROS1_MAGIC, ROS1_VERSION = b'#ROSBAG V', b'#ROSBAG V2.0\n'
VERSION: Final = 9
"""Version of the metadata, as written by ROS 2 Jazzy and later and read by all later versions."""


MAXIMUM_CHUNK = 256_000_000
"""Size limit of a chunk or message when decompressed [bytes]; recorders write 1 to 10 MB."""


class RecordingError(DynamicsRosError):
    """Raised for a recording that cannot be read or written."""


class TooLargeChunkError(DynamicsRosError):
    """Raised for a chunk that would decompress to more than ``MAXIMUM_CHUNK``."""


def bound_decompression() -> None:
    """Replaces the functions of rosbags that decompress a chunk or a message at once."""
    from lz4.frame import LZ4FrameDecompressor  # installed together with rosbags

    for name in ('rosbag1.reader', 'rosbag2.storage_mcap', 'rosbag2.reader'):
        module: Any = import_module(f'rosbags.{name}')
        zstd: Any = getattr(module, 'zstd', None)
        if hasattr(zstd, 'ZstdDecompressor'):
            bounded = partial(decompressed, zstd.ZstdDecompressor)
            module.zstd = SimpleNamespace(**{**vars(zstd), 'decompress': bounded})
        if callable(getattr(module, 'lz4_decompress', None)):
            module.lz4_decompress = partial(decompressed, LZ4FrameDecompressor)
        of_ros1 = getattr(module, 'decompressors', {})
        for compression, kind in (('bz2', BZ2Decompressor), ('lz4', LZ4FrameDecompressor)):
            if compression in of_ros1:
                of_ros1[compression] = partial(decompressed, kind)


def decompressed(kind: Any, data: bytes) -> bytes:
    """Returns the content of all frames of some bytes.

    Args:
        kind: class of the decompressor, as of bz2.
        data: compressed bytes.

    Raises:
        TooLargeChunkError: the content is too large.
        EOFError: the last frame breaks off.
    """
    parts: list[bytes] = []
    count = 0
    while data:
        decompressor = kind()
        while not decompressor.eof:
            part = decompressor.decompress(data, MAXIMUM_CHUNK + 1 - count)
            data, count = b'', count + len(part)
            if count > MAXIMUM_CHUNK:
                raise TooLargeChunkError(
                    f'a chunk is larger than {MAXIMUM_CHUNK // 1_000_000} MB when decompressed; '
                    'mcap compress --chunk-size 4000000, or rosbag compress for ROS 1, writes '
                    'smaller ones'
                )
            if not part and not decompressor.eof:
                raise EOFError('compressed data break off')
            parts.append(part)
        data = decompressor.unused_data or b''
    return b''.join(parts)


if not MISSING:
    bound_decompression()


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
        self._stores: dict[str, tuple[Any, Any]] = {}
        self._layouts: dict[int, JointStateLayout] = {}
        self._ros1 = False
        if not path.exists():
            raise RecordingError(f'{path}: there is no such recording')
        if not path.is_dir() and not path.is_file():
            raise RecordingError(f'{path}: is a pipe or device; save its content as a file')
        if path.is_dir() and not (path / METADATA).is_file():
            files = any(file.suffix in ('.mcap', '.db3') for file in path.iterdir())
            cure = f'; {REINDEX}' if files else ''
            raise RecordingError(f'{path}: not a rosbag2 folder: it has no {METADATA}{cure}')
        try:
            self._ros1 = path.is_file() and is_ros1(path)
            self._reader: Any = Ros1Reader(path) if self._ros1 else Reader(path)
            self._reader.open()
        except Exception as error:  # rosbags raises various errors for files that are no bags
            raise RecordingError(f'{path}: cannot be read: {self._text(error)}') from error

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
        for connection, time, data in self._raw(topics):
            if self._ros1:
                try:
                    data = self._converted(connection, data)
                except Exception as error:
                    raise self._damaged_error(error) from error
            yield connection.topic, time, data

    def decoded(self, topics: list[str]) -> Iterator[tuple[str, int, Any]]:
        """Yields topic, time of recording [ns] and message in recorded order.

        The messages are objects of rosbags with the fields of their message types.

        Raises:
            RecordingError: the file is truncated or damaged.
        """
        for connection, time, data in self._raw(topics):
            try:
                store, _ = self._type_stores(connection)
                read = store.deserialize_ros1 if self._ros1 else store.deserialize_cdr
                message = read(data, connection.msgtype)
            except Exception as error:  # rosbags raises various errors for invalid messages
                raise self._damaged_error(error) from error
            yield connection.topic, time, message

    def _converted(self, connection: Any, data: bytes) -> bytes:
        """Returns a message of ROS 1 as serialized by ROS 2."""
        kind = connection.msgtype
        layout = self._layouts.get(connection.id)
        converted = layout.converted(data) if layout is not None else None
        if converted is None:
            _, store = self._type_stores(connection)
            converted = bytes(store.ros1_to_cdr(data, kind))
            # A definition with other fields has no such layout.
            with suppress(struct.error):
                if kind == JOINT_STATE:
                    self._layouts[connection.id] = JointStateLayout(data, converted)
        return converted

    def _type_stores(self, connection: Any) -> tuple[Any, Any]:
        """Returns the type stores of a connection: of the recorded messages, and of ROS 2.

        For ROS 1 both have the recorded types; the second one without the sequence number of the
        header, which ROS 2 does not have.

        Raises:
            Exception: from rosbags, for a definition that cannot be parsed.
            RecordingError: the definition does not match its MD5 sum.
        """
        kind = connection.msgtype
        if kind not in self._stores:
            store = ros2 = get_typestore(Stores.ROS2_KILTED)
            if self._ros1:
                store = get_typestore(Stores.EMPTY)
                types = get_types_from_msg(connection.msgdef.data, kind)
                store.register(types)
                if connection.digest not in (store.generate_msgdef(kind)[1], '*'):
                    raise RecordingError(f'the definition of {kind} does not match its MD5 sum')
                if HEADER in types:
                    types[HEADER] = ros2.fielddefs[HEADER]
                ros2 = get_typestore(Stores.EMPTY)
                ros2.register(types)
            self._stores[kind] = store, ros2
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
        return RecordingError(f'{self._path}: is damaged: {self._text(error)}')

    def _text(self, error: Exception) -> str:
        """Returns what an error of rosbags says, as one line with the cure."""
        text = str(error).rstrip('.') or type(error).__name__
        # A recorder that was killed leaves an MCAP file without its last bytes.
        if 'end magic' in text:
            return f'{text}; {RECOVER}'
        if not self._ros1 or isinstance(error, DynamicsRosError) or getattr(error, 'errno', None):
            return str(error) or repr(error)
        if not isinstance(error, Ros1ReaderError):
            # Of values that do not fit together, such as a KeyError with a number alone.
            text = f'a record is inconsistent ({type(error).__name__}: {text})'
        cure = '' if 'not supported' in text else f'; {ROS1_REINDEX}'
        return printable(text) + cure


class JointStateLayout:
    """Converts joint states like a given one, which takes an eighth of the time of rosbags.

    Joint states with the same names and array lengths differ in sequence number, stamp and numbers.
    """

    def __init__(self, ros1: bytes, ros2: bytes) -> None:
        """Compares a message of ROS 1 with the same message as serialized by ROS 2."""
        # Positions behind the stamps; ROS 2 aligns from the end of the encapsulation on.
        body, source, target = ros2[4:], 12, 8

        def skip(count: int, ending: int = 0, align: int = 4) -> int:
            nonlocal source, target
            target += -target % 4 + 4
            target += (-target % align if count else 0) + count + ending
            source += 4 + count
            return source - count

        def length() -> int:
            return int(LENGTH.unpack_from(ros1, source)[0])

        skip(length(), ending=1)
        names = length()
        skip(0)
        for _ in range(names):
            skip(length(), ending=1)
        form, self._leads, written = '<4x8s', [ros2[:4]], 8
        read = 12
        for _ in range(3):
            count = 8 * length()
            begin = skip(count, align=8)
            form += f'{begin - read}s{count}s'
            self._leads.append(body[written : target - count])
            read, written = source, target
        self._form = struct.Struct(form)
        self._fixed = self._form.unpack(ros1)[1::2]
        if self.converted(ros1) != ros2:
            self._fixed = ()

    def converted(self, data: bytes) -> bytes | None:
        """Returns the converted message; None if its layout is different."""
        if len(data) != self._form.size:
            return None
        parts = self._form.unpack(data)
        if parts[1::2] != self._fixed:
            return None
        return b''.join(chain.from_iterable(zip(self._leads, parts[::2], strict=True)))


def is_ros1(path: Path) -> bool:
    """Whether a file is a ROS 1 bag in format 2.0.

    Raises:
        RecordingError: it has the extension or another format of such a bag.
        OSError: the file cannot be read.
    """
    with path.open('rb') as file:
        start = file.read(len(ROS1_VERSION))
    if start != ROS1_VERSION and (path.suffix == '.bag' or start.startswith(ROS1_MAGIC)):
        raise RecordingError(
            f'begins with {start!r}, not with {ROS1_VERSION!r} as a ROS 1 bag in format 2.0'
        )
    return start == ROS1_VERSION


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

    def __exit__(self, *raised: Any) -> None:
        with self._explained():
            self._writer.__exit__(*raised)

    def write(self, topic: str, kind: type, time: int, message: Any) -> None:
        """Writes a message (object or bytes) of type ``kind``, recorded at ``time`` [ns].

        Raises:
            RecordingError: the disk is full, or the file cannot be written for another reason.
        """
        connection = self._connections.get(topic)
        if connection is None:
            package, part = kind.__module__.split('.')[:2]
            name = f'{package}/{part}/{kind.__name__}'
            connection = self._writer.add_connection(topic, name, typestore=self._store)
            self._connections[topic] = connection
        raw = isinstance(message, bytes | bytearray | memoryview)
        data = bytes(message) if raw else self._serialize(message)
        with self._explained():
            self._writer.write(connection, time, data)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (OSError, sqlite3.Error) as error:
            problem = getattr(error, 'strerror', None) or error
            raise RecordingError(f'{self._writer.path}: cannot be written: {problem}') from error
