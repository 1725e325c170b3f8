"""Requests and responses of a service as bytes, as a raw subscription has its messages.

rclpy has no raw services, and making a request of some twenty objects out of the middleware's
structure takes longer than all of its dynamics. But which object becomes of a structure, and which
structure of an object, rclpy leaves to functions that it finds at the class of the message
(rosidl_generator_py puts them there). The classes made here have the middleware itself write the
structure into bytes, or read it from bytes: ``rmw_serialize`` and ``rmw_deserialize`` of rmw.h.
"""

from __future__ import annotations

import ctypes
import threading
from functools import lru_cache
from typing import Any

from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.serialization import deserialize_message, serialize_message

FROM_OBJECT, TO_OBJECT, TYPE_SUPPORT = '_CONVERT_FROM_PY', '_CONVERT_TO_PY', '_TYPE_SUPPORT'
NAMES = '_CREATE_ROS_MESSAGE', '_DESTROY_ROS_MESSAGE', FROM_OBJECT, TO_OBJECT, TYPE_SUPPORT
"""What rclpy looks for at the class of a message's class."""

ROOM = 4096
"""Bytes for a request at first."""

MOST_ROOM = 1 << 20
"""More than that is given back at once."""

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

    def renew_room(self) -> None:
        """Have room for no more than a usual request."""
        if self.room.buffer:
            self._give_back(self.room_at)
        if self._make_room(self.room_at, ROOM, ctypes.addressof(self._allocator)):
            raise UnknownMessageClassError('the middleware has no memory')


@lru_cache(maxsize=1)
def _middleware() -> _Middleware:
    return _Middleware()


def _taken_as_bytes(of: type, middleware: _Middleware) -> type:
    serialize, room, room_at = middleware.serialize, middleware.room, middleware.room_at
    kind, lock, copied = _type_support(of), middleware.lock, middleware.copied

    def to_object(structure: int) -> bytes | None:
        try:
            with lock:
                if serialize(structure, kind, room_at):
                    middleware.forget_error()
                    return None
                data = copied(room.buffer, room.length)
                if room.capacity > MOST_ROOM:
                    middleware.renew_room()
            return data
        except Exception:
            return None  # to rclpy, as if no request had been there; it does not expect errors

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
    api, capsule = ctypes.pythonapi, getattr(type(of), TYPE_SUPPORT, None)
    api.PyCapsule_GetName.argtypes = (ctypes.py_object,)
    api.PyCapsule_GetName.restype = ctypes.c_char_p
    api.PyCapsule_GetPointer.argtypes = ctypes.py_object, ctypes.c_char_p
    api.PyCapsule_GetPointer.restype = ctypes.c_void_p
    if capsule is None:
        raise UnknownMessageClassError(f'{of.__name__} lacks {TYPE_SUPPORT}')
    address: int = api.PyCapsule_GetPointer(capsule, api.PyCapsule_GetName(capsule))
    return address
