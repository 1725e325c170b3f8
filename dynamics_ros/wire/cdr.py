# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Layout of serialized messages, derived by walking a message object; to read and to write.

Messages arrive a thousand times a second and more, and creating or serializing a message object
costs several times as much as its numbers. The layout is Common Data Representation (OMG DDS-XTypes
1.3, 7.4: XCDR version 1, plain), in the byte order of this machine: every number is aligned to its
own size, counted from the end of the four bytes of encapsulation; a string is its length, which
includes the closing zero, and its bytes; a sequence is its length and its elements. Messages of
another encapsulation are left to the middleware.

Readers of joint states and odometry take their numbers in place.
"""

from __future__ import annotations

import logging
import math
import re
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from itertools import pairwise
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np
from nav_msgs.msg import Odometry
from numpy.typing import NDArray
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState

from dynamics_ros.errors import DynamicsRosError
from dynamics_ros.estimation.samples.reports import (
    NANOSECONDS,
    JointValues,
    OdometryValues,
    PoseValues,
)
from dynamics_ros.kernels import Kernel
from dynamics_ros.kernels.program import Copy, Program, Step
from dynamics_ros.wire.conversions import Array, message_type

_log = logging.getLogger('dynamics_ros.nodes')

Values = TypeVar('Values')

ENCAPSULATION = 4
"""Size of the encapsulation in front of the body [bytes]; alignment is counted from its end."""

NATIVE = struct.pack('>H', struct.pack('=H', 1)[0])
"""First bytes of a message in plain XCDR version 1, in the byte order of this machine."""

STAMP = struct.Struct('=iI')
"""Seconds and nanoseconds of a stamp, in the byte order of this machine."""

MAX_SURPLUS = 32
"""Maximum surplus after the last field [bytes]; middleware reserves 8 for an empty sequence."""

MAX_LAYOUTS = 8
"""Number of cached layouts; each publisher of a topic usually has one."""

CODES = {
    **{'boolean': '?', 'octet': 'c', 'char': 'B', 'float': 'f', 'double': 'd'},
    **{'int8': 'b', 'int16': 'h', 'int32': 'i', 'int64': 'q'},
    **{'uint8': 'B', 'uint16': 'H', 'uint32': 'I', 'uint64': 'Q'},
}
"""Code of each type of numbers, as of ``struct`` and NumPy."""


class MalformedMessageError(DynamicsRosError):
    """Serialized bytes are not a valid message of the expected type."""


class LayoutError(DynamicsRosError):
    """The layout of a message is not known, or it has no such numbers."""


def packed_stamp(stamp: int) -> bytes:
    """Pack a stamp [ns] as ``STAMP``."""
    return STAMP.pack(*divmod(stamp, NANOSECONDS))


def stamp_of(data: bytes) -> int:
    """Return the stamp [ns] of a serialized message that begins with a header.

    Raises:
        MalformedMessageError: the message is too short.
    """
    if len(data) < ENCAPSULATION + STAMP.size:
        raise MalformedMessageError(f'{len(data)} bytes')
    # The lowest bit of the encapsulation is the byte order.
    seconds, nanoseconds = struct.unpack_from('<iI' if data[1] & 1 else '>iI', data, ENCAPSULATION)
    return int(seconds * NANOSECONDS + nanoseconds)


class Field(NamedTuple):
    """Numbers of one field of a message.

    Attributes:
        path: names of the field and of the messages around it, such as ``pose.position.x``.
        code: type of the numbers, one of ``CODES``.
        offset: offset in the serialized message [bytes].
        data: the numbers of the message that was walked.
    """

    path: str
    code: str
    offset: int
    data: bytes

    @property
    def end(self) -> int:
        """Offset after the field [bytes]."""
        return self.offset + len(self.data)


class Layout:
    """Positions of the numbers in serialized messages with certain strings and lengths.

    Attributes:
        fields: the numbers, in order.
        size: size of the message without surplus [bytes].
        constant_offsets: offsets of the bytes that are equal in all messages of the layout: those
            of strings and lengths, without numbers and padding.
    """

    def __init__(self, data: bytes, message: Any) -> None:
        """Derive the layout of a serialized message.

        Args:
            data: the message.
            message: the same message as an object.

        Raises:
            LayoutError: the layout is not the expected one, or a field has another type.
            MalformedMessageError: there are too many bytes.
        """
        if data[:2] != NATIVE:
            raise LayoutError(f'encapsulation {data[:2].hex()}')
        self.fields: list[Field] = []
        self._constants = [(0, data[:ENCAPSULATION])]
        self.size, self._length = ENCAPSULATION, len(data)
        self._walk(message, '')
        parts = [*self._constants, *((field.offset, field.data) for field in self.fields)]
        if any(data[offset : offset + len(part)] != part for offset, part in parts):
            raise LayoutError(f'{type(message).__name__}: fields stand elsewhere')
        if self._length - self.size > MAX_SURPLUS:
            raise MalformedMessageError(f'{self._length - self.size} bytes too many')
        mask, known = bytearray(self.size), bytearray(self.size)
        for offset, data in self._constants:
            mask[offset : offset + len(data)] = b'\xff' * len(data)
            known[offset : offset + len(data)] = data
        self.constant_offsets = np.frombuffer(mask, np.uint8).nonzero()[0]
        self._head = max(offset + len(data) for offset, data in self._constants)
        self._mask = int.from_bytes(mask[: self._head], 'little')
        self._known = int.from_bytes(known[: self._head], 'little')

    def matches(self, data: bytes) -> bool:
        """Return whether a message has the same layout: its size, strings and lengths are equal."""
        # Padding is not compared: middleware leaves it uninitialized.
        return len(data) == self._length and (
            int.from_bytes(data[: self._head], 'little') & self._mask == self._known
        )

    def numbers(self, path: str) -> list[Field]:
        """Return the fields of a path, '' for all, which are consecutive and of one type.

        Raises:
            LayoutError: the path has no numbers, or something stands between them.
        """
        size = len(path)
        fields = [
            field
            for field in self.fields
            if field.path.startswith(path) and (not path or field.path[size : size + 1] in '.')
        ]
        if not fields:
            raise LayoutError(f'there is no number in {path!r}')
        for one, other in pairwise(fields):
            if one.end != other.offset or one.code != other.code:
                raise LayoutError(f'something stands between the numbers of {path!r}')
        return fields

    def doubles(self, path: str) -> slice:
        """Return where a field of float64 stands in the body, seen as an array of float64."""
        fields = self.numbers(path)
        return slice((fields[0].offset - ENCAPSULATION) // 8, (fields[-1].end - ENCAPSULATION) // 8)

    def _walk(self, message: Any, path: str) -> None:
        for name, kind in type(message).get_fields_and_field_types().items():
            value, inside = getattr(message, name), f'{path}{name}'
            element, is_array, is_sequence = _parsed(kind)
            if is_sequence:
                self._constant(struct.pack('=I', len(value)), 4)
            code = CODES.get(element)
            if code is not None:
                values = value if is_array else (value,)
                data = struct.pack(f'={len(values)}{code}', *values)
                if data:
                    self._align(struct.calcsize(f'={code}'))
                self.fields.append(Field(inside, code, self.size, data))
                self.size += len(data)
                continue
            for i, item in enumerate(value if is_array else (value,)):
                if isinstance(item, str):
                    text = item.encode() + b'\0'
                    self._constant(struct.pack('=I', len(text)), 4)
                    self._constant(text, 1)
                elif '/' in element:
                    self._walk(item, f'{inside}.{i}.' if is_array else f'{inside}.')
                else:
                    raise LayoutError(f'fields of type {kind}')

    def _constant(self, data: bytes, alignment: int) -> None:
        self._align(alignment)
        self._constants.append((self.size, data))
        self.size += len(data)

    def _align(self, size: int) -> None:
        self.size += -(self.size - ENCAPSULATION) % size


@lru_cache(maxsize=256)
def _parsed(kind: str) -> tuple[str, bool, bool]:
    """Return the type of the elements of a field, and whether it is an array and a sequence."""
    sequence = re.fullmatch(r'sequence<(.+?)(?:, \d+)?>', kind)
    array = sequence or re.fullmatch(r'(.+)\[\d+\]', kind)
    return array[1] if array else kind, array is not None, sequence is not None


class MessageReader(Generic[Values]):
    """Reader of serialized messages of one type, which caches the layouts of recent messages.

    A message of an unknown layout is deserialized by the middleware, and its layout derived. One of
    another encapsulation is serialized again each time.
    """

    def __init__(
        self, kind: Any, from_layout: Callable[[Layout, Any], Callable[[bytes], Values]]
    ) -> None:
        """Start without layouts.

        Args:
            kind: type of the messages.
            from_layout: returns a function that reads the values of messages of a layout, given the
                layout and the first message.
        """
        self._kind, self._from_layout = kind, from_layout
        self._known: list[tuple[Layout, Callable[[bytes], Values]]] = []

    def read(self, data: bytes) -> Values:
        """Read a message.

        Raises:
            MalformedMessageError: the bytes are not a message of the type.
        """
        for layout, read in self._known:
            if layout.matches(data):
                return read(data)
        message = deserialized(data, self._kind)
        try:
            layout = Layout(data, message)
        except LayoutError as reason:
            name = self._kind.__name__
            warn_once(f'{name} is read as message objects, which is slower: {reason}')
            data = serialize_message(message)
            try:
                return self._from_layout(Layout(data, message), message)(data)
            except LayoutError as problem:
                raise MalformedMessageError(f'{name}: {problem}') from problem
        read = self._from_layout(layout, message)
        self._known = [(layout, read), *self._known[: MAX_LAYOUTS - 1]]
        return read(data)


def deserialized(data: bytes, kind: Any, most: float = math.inf) -> Any:
    """Deserialize a message of type ``kind`` with the middleware.

    Raises:
        MalformedMessageError: the bytes are not a message of that type, or more than ``most``.
    """
    if len(data) > most:
        raise MalformedMessageError(f'message: {len(data)} bytes; expected up to {most}')
    try:
        return deserialize_message(data, kind)
    except Exception as error:  # rclpy documents no type of this error
        raise MalformedMessageError(f'encapsulation {data[:2].hex()}: {error}') from None


@lru_cache(maxsize=64)
def warn_once(text: str) -> None:
    """Log a warning unless it was logged before."""
    _log.warning(text)


DYNAMIC_TOPIC = 'dynamic_joint_states'
"""Topic of ros2_control with messages control_msgs/DynamicJointState."""

QUANTITIES = ('position', 'velocity', 'effort')

MAX_NAMES = 4096
"""Maximum number of names in a joint state; a robot has some dozens."""


class JointStateReader(MessageReader[JointValues]):
    """Reader of joint states.

    Attributes:
        kind: type of the messages: sensor_msgs/JointState or control_msgs/DynamicJointState.
    """

    def __init__(self, topic: str = 'joint_states') -> None:
        """Select the type of the messages by their topic.

        Args:
            topic: ``joint_states``, or ``dynamic_joint_states`` of ros2_control.

        Raises:
            InvalidArgumentError: control_msgs is needed and not installed.
        """
        self.kind = JointState
        if topic == DYNAMIC_TOPIC:
            name, otherwise = 'control_msgs/msg/DynamicJointState', "'joint_states' without it"
            self.kind = message_type(name, 'joint_state_topic', otherwise)
        super().__init__(self.kind, self._columns)

    def _columns(self, layout: Layout, message: Any) -> Columns:
        columns = Columns(layout, message)
        for _, other in self._known:
            if isinstance(other, Columns) and other.names == columns.names:
                # Share the tuple, so that users of the names can compare by identity.
                columns.names = other.names
        return columns

    def read_all(self, messages: Sequence[bytes]) -> JointValues | None:
        """Read several joint states, one row each; return None if their layouts differ.

        Args:
            messages: at least one message.

        Raises:
            MalformedMessageError: the first message is not a joint state.
        """
        self.read(messages[0])
        known = [(layout, read) for layout, read in self._known if layout.matches(messages[0])]
        size = len(messages[0])
        if not known or any(len(message) != size for message in messages):
            return None
        layout, columns = known[0]
        rows = np.frombuffer(b''.join(messages), np.uint8).reshape(-1, size)
        constants = rows[:, layout.constant_offsets]
        if not (constants == constants[0]).all():
            return None
        assert isinstance(columns, Columns)
        return columns.rows(rows)


class Columns:
    """Reads joint states of one layout.

    Attributes:
        names: names of the joints.
    """

    def __init__(self, layout: Layout, message: Any) -> None:
        """Find the numbers of each joint.

        Args:
            layout: the layout.
            message: its first message.
        """
        self._count = (layout.size - ENCAPSULATION) // 8
        self._missing: NDArray[np.bool_] | None = None
        self._block: slice | NDArray[np.intp] | None = None
        if isinstance(message, JointState):
            if len(message.name) > MAX_NAMES:
                problem = f'{len(message.name)} names; at most {MAX_NAMES} are read'
                raise MalformedMessageError(problem)
            self.names = tuple(message.name)
            self._parts = tuple(map(layout.doubles, QUANTITIES))
            count = len(self.names)
            if count and all(part.stop - part.start == count for part in self._parts):
                # The length of the next array, with padding, takes as many bytes as one number.
                self._block = slice(self._parts[0].start, self._parts[2].stop)
            return
        states = message.interface_values
        if len(message.joint_names) != len(states) or any(
            len(one.interface_names) != len(one.values) for one in states
        ):
            raise MalformedMessageError('not as many values as names')
        joints: list[tuple[str, dict[str, float]]] = []
        for i, (name, one) in enumerate(zip(message.joint_names, states, strict=True)):
            if 'position' in one.interface_names:
                place = layout.doubles(f'interface_values.{i}.values')
                places = range(place.start, place.stop)
                joints.append((name, dict(zip(one.interface_names, places, strict=True))))
        self.names = tuple(name for name, _ in joints)
        columns = np.array([[x.get(one, np.nan) for _, x in joints] for one in QUANTITIES])
        self._parts = (slice(0, 0),) * 3
        if self.names:
            block = np.pad(columns, ((0, 0), (0, 1)), mode='edge').ravel()[:-1]
            missing = np.isnan(block)
            self._missing = missing if missing.any() else None
            self._block = np.nan_to_num(block).astype(np.intp)

    def __call__(self, data: bytes) -> JointValues:
        """Read a message; the arrays of the result may share memory with it."""
        numbers = np.frombuffer(data, np.float64, self._count, ENCAPSULATION)
        seconds, nanoseconds = STAMP.unpack_from(data, ENCAPSULATION)
        return self._values(seconds, nanoseconds, numbers)

    def rows(self, rows: NDArray[np.uint8]) -> JointValues:
        """Read several messages (n, size); the arrays of the result have one row for each."""
        seconds, nanoseconds = (
            rows[:, begin : begin + 4].copy().view(kind)[:, 0].astype(np.int64)
            for begin, kind in ((ENCAPSULATION, np.int32), (ENCAPSULATION + 4, np.uint32))
        )
        shape = len(rows), self._count
        numbers: Array = np.ndarray(shape, np.float64, rows, ENCAPSULATION, (rows.shape[1], 8))
        return self._values(seconds, nanoseconds, numbers)

    def _values(self, seconds: Any, nanoseconds: Any, numbers: Array) -> JointValues:
        names = self.names
        if self._block is None:
            return JointValues(
                seconds, nanoseconds, names, *(numbers[..., part] for part in self._parts)
            )
        block = numbers[..., self._block]
        if self._missing is not None:
            block[..., self._missing] = np.nan
        size = len(names)
        return JointValues(
            *(seconds, nanoseconds, names),
            *(block[..., :size], block[..., size + 1 : -size - 1], block[..., -size:]),
            block,
        )


def _odometry(layout: Layout, message: Odometry) -> Callable[[bytes], OdometryValues]:
    pose, twist = layout.numbers('pose.pose'), layout.numbers('twist.twist')
    before, between = pose[0].offset - ENCAPSULATION - STAMP.size, twist[0].offset - pose[-1].end
    numbers = struct.Struct(f'={ENCAPSULATION}xiI{before}x7d{between}x6d')
    frames = message.header.frame_id, message.child_frame_id

    def read(data: bytes) -> OdometryValues:
        seconds, nanoseconds, x, y, z, a, b, c, d, *values = numbers.unpack_from(data)
        where = PoseValues((x, y, z), (a, b, c, d))
        return OdometryValues(seconds, nanoseconds, *frames, where, tuple(values))

    return read


OdometryReader = partial(MessageReader[OdometryValues], Odometry, _odometry)
"""Reader of odometry; because of its covariances, message objects would cost most of all."""


# --- writing -------------------------------------------------------------------------------------


class Template:
    """Message in which only stamps and some numbers change; strings and lengths are constant.

    Attributes:
        numbers: array (n) of each changing field, in the order of the paths: float64, or uint8 for
            bool and enums; values written there are in the next message.
        stamps: memory of the stamp of each header, to be written as packed by ``cdr.STAMP``.
        packed: returns the serialized message with the current stamps and numbers.
    """

    def __init__(self, prototype: Any, paths: Sequence[str]) -> None:
        """Serialize a message once, and locate its numbers.

        Args:
            prototype: message with the constant lengths and strings.
            paths: changing fields, such as ``pose`` or ``transforms.0.transform``: numbers of one
                type that follow each other, or a message of these.

        Raises:
            LayoutError: a path has no numbers, they do not follow each other, or the middleware
                serializes messages in another way.
        """
        data = serialize_message(prototype)
        layout = Layout(data, prototype)
        fields = [layout.numbers(path) for path in paths]
        # Padded so that the body is aligned to 8 bytes, as float64 arrays have to be.
        buffer = bytearray(8 - ENCAPSULATION) + bytearray(layout.size)
        whole = memoryview(buffer)[8 - ENCAPSULATION :]
        whole[:] = data[: layout.size]
        places = [
            # Bools are written as numbers.
            (np.dtype(one[0].code.replace('?', 'B')), one[0].offset, one[-1].end)
            for one in fields
        ]
        self.numbers = tuple(
            np.frombuffer(whole, kind, (end - begin) // kind.itemsize, begin)
            for kind, begin, end in places
        )
        stamped = [
            field for field in layout.fields if f'.{field.path}'.endswith('.header.stamp.sec')
        ]
        self.stamps = [whole[field.offset : field.offset + STAMP.size] for field in stamped]
        self.packed = whole.tobytes

    def message(self, stamp: bytes) -> bytes:
        """Return the serialized message with a packed stamp and the current numbers."""
        for place in self.stamps:
            place[:] = stamp
        return self.packed()


class Evaluate(NamedTuple):
    """Evaluation of a kernel that writes fields of a message.

    Attributes:
        kernel: the kernel.
        inputs: array of each argument, read in each run.
    """

    kernel: Kernel
    inputs: tuple[Array, ...]


Source = Evaluate | Array | Sequence[Array]
"""Source of a field: a kernel, an array, or arrays whose numbers follow each other."""

Fields = Mapping[Any, Source]
"""Source of each changing field, by its path, or by those of the outputs of a kernel as a tuple."""


class Message:
    """Content of an output: a message with constant names, and the sources of its numbers."""

    def __init__(
        self, prototype: Callable[[], Any], fields: Fields, after: Sequence[Step] = ()
    ) -> None:
        """Declare the content.

        Args:
            prototype: returns a message with the names and lengths; called at the first use.
            fields: source of each changing field.
            after: kernels that compute arrays among the sources; those that several messages share
                run once for each state.
        """
        self._prototype, self._fields, self._after = prototype, fields, after

    @cached_property
    def made(self) -> tuple[Template, list[Step | Copy]]:
        """Template, and the kernels and copies that fill it.

        Raises:
            LayoutError: a field is not in the message.
        """
        targets = [(path,) if isinstance(path, str) else path for path in self._fields]
        template = Template(self._prototype(), [path for paths in targets for path in paths])
        numbers = iter(template.numbers)
        steps: list[Step | Copy] = [*self._after]
        for paths, source in zip(targets, self._fields.values(), strict=True):
            outputs = tuple(next(numbers) for _ in paths)
            if isinstance(source, Evaluate):
                steps.append(Step(*source, outputs))
            else:
                steps += _copies(source, *outputs)
        return template, steps


class Filling(Program):
    """Program that fills several messages: their kernels and copies, each once.

    Attributes:
        templates: the messages, filled after ``fill``.
    """

    def __init__(self, messages: Sequence[Message]) -> None:
        made = [message.made for message in messages]
        self.templates = [template for template, _ in made]
        # Keyed by identity, because steps contain arrays, which cannot be compared with ==.
        super().__init__([*{id(x): x for _, steps in made for x in steps}.values()])

    def fill(self) -> None:
        """Fill the messages.

        Raises:
            Exception: the error of the first kernel that refuses its numbers.
        """
        if not self.run():
            self.explain()


def entries(array: Array, indices: slice | NDArray[np.intp]) -> Source:
    """Return selected entries of an array (n) as a source."""
    if isinstance(indices, slice):
        return array[indices]
    return [array[i : i + 1] for i in indices.tolist()]


def _copies(source: Array | Sequence[Array], target: Array) -> Iterator[Copy]:
    arrays = [source] if isinstance(source, np.ndarray) else source
    count = sum(array.size for array in arrays)
    if count != target.size:
        raise LayoutError(f'{count} numbers for a field of {target.size}')
    begin = 0
    for array in arrays:
        yield Copy(array, target[begin : begin + array.size])
        begin += array.size
