"""Requests and responses of a service as bytes, as a raw subscription has its messages.

rclpy has no raw services, and making a request of some twenty objects out of the middleware's
structure takes longer than all of its dynamics. But which object becomes of a structure, and which
structure of an object, rclpy leaves to functions that it finds at the class of the message
(rosidl_generator_py puts them there). The classes made here have the middleware itself write the
structure into bytes, or read it from bytes: ``rmw_serialize`` and ``rmw_deserialize`` of rmw.h.
"""

from __future__ import annotations

import ctypes
import logging
import sys
import threading
from functools import lru_cache
from typing import Any

from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.serialization import deserialize_message, serialize_message

from dynamics_ros.errors import InvalidArgumentError

from .fallbacks import Fallback, forced

FROM_OBJECT, TO_OBJECT, TYPE_SUPPORT = '_CONVERT_FROM_PY', '_CONVERT_TO_PY', '_TYPE_SUPPORT'
NAMES = '_CREATE_ROS_MESSAGE', '_DESTROY_ROS_MESSAGE', FROM_OBJECT, TO_OBJECT, TYPE_SUPPORT
"""What rclpy looks for at the class of a message's class."""

ROOM = 4096
"""Bytes for a request at first."""

MOST_ROOM = 1 << 20
"""More than that is given back at once."""

MOST_BYTES = 1 << 20
"""Of a request about joints and frames: no robot has that many."""

COUNT = slice(4, 8)
"""Of the entries of a sequence that a message begins with; in front is the encapsulation."""

_log = logging.getLogger('dynamics_ros.nodes')

# rclpy holds the interpreter's lock when it calls these.
_FromObject = ctypes.PYFUNCTYPE(ctypes.c_bool, ctypes.py_object, ctypes.c_void_p)
_ToObject = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p)


class UnknownMessageClassError(Exception):
    """Messages are not made as they are known here."""


class ServiceBytes:
    """Stands for a service type: its requests are bytes, and its responses may be.

    Attributes:
        Request: what to take a request as; that gives bytes.
        Response: class of a response in bytes, its ``data``. Those of the service type count as
            instances of it.
    """

    def __init__(self, kind: Any) -> None:
        """Of a service type.

        Raises:
            UnknownMessageClassError: this rclpy, or its middleware, does it in another way.
        """
        request, response = kind.Request(), kind.Response()
        asked, answered = serialize_message(request), serialize_message(response)
        try:
            middleware = _middleware()
        except (OSError, AttributeError) as error:
            raise UnknownMessageClassError(str(error)) from None
        self.Request = _taken_as_bytes(kind.Request, middleware)
        self.Response = _sent_as_bytes(kind.Response, middleware)
        try:
            taken = deserialize_message(deserialize_message(asked, self.Request), kind.Request)
            sent = deserialize_message(serialize_message(self.Response(answered)), kind.Response)
        except Exception as error:
            raise UnknownMessageClassError(str(error)) from None
        if taken != request or sent != response:
            raise UnknownMessageClassError(f'{kind.__name__} comes back as another one')


class RefusedRequest:
    """Stands for a request that is too large to be made objects of.

    Attributes:
        error: what there is to answer.
    """

    def __init__(self, given: int, most: int, what: str) -> None:
        """Of a request with so many bytes or entries."""
        self.error = InvalidArgumentError('request', f'{given} {what}', f'at most {most}')


class BoundedService:
    """Stands for a service type: requests that are too large are taken as a ``RefusedRequest``.

    Making the objects of a large request keeps joint states waiting for seconds.

    Attributes:
        Request: what to take a request as.
        Response: that of the service type.
    """

    def __init__(self, kind: Any, most_bytes: int, most_entries: int | None) -> None:
        """Of a service type; see ``bounded``.

        Raises:
            UnknownMessageClassError: this rclpy, or its middleware, does it in another way.
        """
        request = kind.Request()
        asked = serialize_message(request)
        try:
            middleware = _middleware()
        except (OSError, AttributeError) as error:
            raise UnknownMessageClassError(str(error)) from None
        self.Request = _taken_if_small(kind.Request, middleware, most_bytes, most_entries)
        self.Response = kind.Response
        try:
            taken = deserialize_message(asked, self.Request)
        except Exception as error:
            raise UnknownMessageClassError(str(error)) from None
        if taken != request:
            raise UnknownMessageClassError(f'{kind.__name__} comes back as another one')


def bounded(kind: Any, most_bytes: int, most_entries: int | None = None) -> Any:
    """What to take the requests of a service as, so that none is too large; itself if need be.

    Args:
        kind: service type.
        most_bytes: of a request as it is sent.
        most_entries: of the sequence that a request begins with; None: it need not begin with one.
    """
    try:
        return BoundedService(kind, most_bytes, most_entries)
    except UnknownMessageClassError as reason:
        _log.warning('requests of any size are read: %s', reason)
        return kind


class _Allocator(ctypes.Structure):
    """``rcutils_allocator_t``."""

    _fields_ = tuple(
        (name, ctypes.c_void_p)
        for name in ('allocate', 'deallocate', 'reallocate', 'zero_allocate', 'state')
    )


class _Serialized(ctypes.Structure):
    """``rmw_serialized_message_t``."""

    _fields_ = (
        ('buffer', ctypes.c_void_p),
        ('length', ctypes.c_size_t),
        ('capacity', ctypes.c_size_t),
        ('allocator', _Allocator),
    )


class _Given(ctypes.Structure):
    """The same of bytes that stay where they are."""

    _fields_ = (('buffer', ctypes.c_char_p), *_Serialized._fields_[1:])


class _Middleware:
    """The functions of C behind it; errors are their return values."""

    def __init__(self) -> None:
        # A library finds what those have that it is linked with, whatever middleware it is.
        library = ctypes.PyDLL(rclpy_implementation.__file__)
        pointer = ctypes.c_void_p
        self.serialize, self.deserialize = library.rmw_serialize, library.rmw_deserialize
        for function in (self.serialize, self.deserialize):
            function.argtypes, function.restype = (pointer, pointer, pointer), ctypes.c_int
        self.copied = ctypes.pythonapi.PyBytes_FromStringAndSize
        self.copied.argtypes, self.copied.restype = (pointer, ctypes.c_ssize_t), ctypes.py_object
        self.forget_error = library.rcutils_reset_error
        self.forget_error.argtypes, self.forget_error.restype = (), None
        self._make_room = library.rcutils_uint8_array_init
        self._make_room.argtypes = pointer, ctypes.c_size_t, pointer
        self._give_back = library.rcutils_uint8_array_fini
        self._give_back.argtypes = (pointer,)
        default = library.rcutils_get_default_allocator
        default.argtypes, default.restype = (), _Allocator
        self._allocator = default()
        self.lock = threading.Lock()
        self.room = _Serialized()
        self.room_at = ctypes.addressof(self.room)
        self.renew_room()

    def bytes_of(self, structure: int, kind: int, most: int | None = None) -> tuple[bytes, int]:
        """A message as bytes, or the first of them, and how many there are.

        Raises:
            ValueError: the middleware cannot write it.
        """
        with self.lock:
            if self.serialize(structure, kind, self.room_at):
                self.forget_error()
                raise ValueError('the middleware cannot write it')
            room = self.room
            size = int(room.length)
            data = self.copied(room.buffer, size if most is None else min(size, most))
            if room.capacity > MOST_ROOM:
                self.renew_room()
        return data, size

    def renew_room(self) -> None:
        """Have room for no more than a usual request."""
        if self.room.buffer:
            self._give_back(self.room_at)
        if self._make_room(self.room_at, ROOM, ctypes.addressof(self._allocator)):
            raise UnknownMessageClassError('the middleware has no memory')


@lru_cache(maxsize=1)
def _middleware() -> _Middleware:
    if forced(Fallback.SERVICES):
        raise UnknownMessageClassError('fallback forced')
    return _Middleware()


def _taken_as_bytes(of: type, middleware: _Middleware) -> type:
    kind = _type_support(of)

    def to_object(structure: int) -> bytes | None:
        try:
            return middleware.bytes_of(structure, kind)[0]
        except Exception:
            return None  # to rclpy, as if no request had been there; it does not expect errors

    return _class_like(of, TO_OBJECT, _ToObject(to_object), {})


def _taken_if_small(
    of: type, middleware: _Middleware, most_bytes: int, most_entries: int | None
) -> type:
    kind = _type_support(of)
    whole: Any = _ToObject(_pointer(of, TO_OBJECT))

    def to_object(structure: int) -> Any:
        try:
            head, size = middleware.bytes_of(structure, kind, most=COUNT.stop)
            if size > most_bytes:
                return RefusedRequest(size, most_bytes, 'bytes')
            entries = int.from_bytes(head[COUNT], sys.byteorder)
            if most_entries is not None and entries > most_entries:
                return RefusedRequest(entries, most_entries, 'entries')
            return whole(structure)
        except Exception:
            return None  # as above

    return _class_like(of, TO_OBJECT, _ToObject(to_object), {})


def _sent_as_bytes(of: type, middleware: _Middleware) -> type:
    deserialize, lock, given = middleware.deserialize, middleware.lock, _Given()
    given_at, kind = ctypes.addressof(given), _type_support(of)

    def from_object(response: Any, structure: int) -> bool:
        data = response.data
        if type(data) is not bytes:
            return False
        with lock:
            given.buffer, given.length, given.capacity = data, len(data), len(data)
            failed = deserialize(given_at, kind, structure)
        if failed:
            middleware.forget_error()
        return not failed  # which rclpy raises

    def initialize(self: Any, data: bytes = b'') -> None:
        self.data = data

    body = {'__init__': initialize, '__slots__': ('data',)}
    return _class_like(of, FROM_OBJECT, _FromObject(from_object), body)


def _class_like(of: type, name: str, function: Any, body: dict[str, Any]) -> type:
    """A class that is to rclpy as a message's, but for one function."""
    known = type(of)
    given: dict[str, Any] = {one: getattr(known, one, None) for one in NAMES}
    if None in given.values():
        raise UnknownMessageClassError(f'{of.__name__} lacks one of {NAMES}')
    new = ctypes.pythonapi.PyCapsule_New
    new.argtypes, new.restype = (
        (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p),
        ctypes.py_object,
    )
    given[name] = new(ctypes.cast(function, ctypes.c_void_p), None, None)
    given['_function'] = function  # the capsule knows its address only
    given['__instancecheck__'] = lambda cls, one: type(one) in (cls, of)
    return type(f'Metaclass_{of.__name__}', (type,), given)(of.__name__, (), body)


def _type_support(of: type) -> int:
    """Where the middleware's description of a message is."""
    return _pointer(of, TYPE_SUPPORT)


def _pointer(of: type, name: str) -> int:
    """What is behind a capsule of rclpy's at the class of a message's class."""
    api, capsule = ctypes.pythonapi, getattr(type(of), name, None)
    api.PyCapsule_GetName.argtypes = (ctypes.py_object,)
    api.PyCapsule_GetName.restype = ctypes.c_char_p
    api.PyCapsule_GetPointer.argtypes = ctypes.py_object, ctypes.c_char_p
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    if capsule is None:
        raise UnknownMessageClassError(f'{of.__name__} lacks {name}')
    address: int = api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))
    return address
