"""Requests and responses of a service as bytes, as a raw subscription has its messages.

rclpy has no raw services, and making a request of some twenty objects out of the middleware's
structure takes longer than all of its dynamics. But which structure an object becomes, and which
object a structure, rclpy leaves to four functions that it finds at the class of the message
(rosidl_generator_py puts them there). The classes made here have the middleware write its structure
into bytes instead, or read it from bytes.
"""

from __future__ import annotations

import ctypes
from typing import Any

from rclpy.serialization import deserialize_message, serialize_message

CREATE, DESTROY = '_CREATE_ROS_MESSAGE', '_DESTROY_ROS_MESSAGE'
FROM_OBJECT, TO_OBJECT = '_CONVERT_FROM_PY', '_CONVERT_TO_PY'
TYPE_SUPPORT = '_TYPE_SUPPORT'

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]

# All are called by rclpy, which holds the interpreter's lock.
_Create = ctypes.PYFUNCTYPE(ctypes.c_void_p)
_Destroy = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)
_FromObject = ctypes.PYFUNCTYPE(ctypes.c_bool, ctypes.py_object, ctypes.c_void_p)
_ToObject = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p)


class UnknownMessageClassError(Exception):
    """The classes of messages are not made as they are known here."""


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
            UnknownMessageClassError: this rclpy does it in another way.
        """
        request, response = kind.Request(), kind.Response()
        asked, answered = serialize_message(request), serialize_message(response)
        self.Request = _taken_as_bytes(kind.Request)
        self.Response = _sent_as_bytes(kind.Response)
        try:
            sound = (
                deserialize_message(deserialize_message(asked, self.Request), kind.Request)
                == request
                and deserialize_message(serialize_message(self.Response(answered)), kind.Response)
                == response
            )
        except Exception as error:
            raise UnknownMessageClassError(str(error)) from None
        if not sound:
            raise UnknownMessageClassError(f'{kind.__name__} comes back as another one')


class _Place:
    """Where a structure is that the middleware has made or is about to send.

    Attributes:
        address: of the structure.
        kind: class of ``message``: where rclpy would make a new structure of it, it gets that one.
        message: for ``serialize_message``.
    """

    def __init__(self, of: type) -> None:
        self.address = 0
        self.kind = _class_like(
            of,
            {
                CREATE: _Create(lambda: self.address),
                DESTROY: _Destroy(lambda _: None),
                FROM_OBJECT: _FromObject(lambda _, __: True),
                TO_OBJECT: _ToObject(lambda _: None),
            },
        )
        self.message = self.kind()


def _taken_as_bytes(of: type) -> type:
    place = _Place(of)
    message = place.message

    def to_object(address: int) -> bytes | None:
        place.address = address
        try:
            return serialize_message(message)
        except Exception:
            return None  # to rclpy, as if no request had been there

    return _class_like(of, {TO_OBJECT: _ToObject(to_object)})


def _sent_as_bytes(of: type) -> type:
    place = _Place(of)
    kind = place.kind

    def from_object(response: Any, address: int) -> bool:
        place.address = address
        try:
            deserialize_message(response.data, kind)
        except Exception:
            return False  # which rclpy raises
        return True

    def initialize(self: Any, data: bytes = b'') -> None:
        self.data = data

    body = {'__init__': initialize, '__slots__': ('data',)}
    return _class_like(of, {FROM_OBJECT: _FromObject(from_object)}, body)


def _class_like(of: type, functions: dict[str, Any], body: dict[str, Any] | None = None) -> type:
    """A class that is to rclpy as a message's, but for some functions."""
    known = type(of)
    names = (CREATE, DESTROY, FROM_OBJECT, TO_OBJECT, TYPE_SUPPORT)
    given = {name: getattr(known, name, None) for name in names}
    if None in given.values():
        raise UnknownMessageClassError(f'{of.__name__} lacks one of {names}')
    given.update({name: _capsule(function) for name, function in functions.items()})
    # Capsules know addresses only.
    given['_functions'] = tuple(functions.values())
    given['__instancecheck__'] = lambda cls, one: type(one) in (cls, of)
    return type(f'Metaclass_{of.__name__}_bytes', (type,), given)(
        f'{of.__name__}_bytes', (), body or {}
    )


def _capsule(function: Any) -> Any:
    return _new_capsule(ctypes.cast(function, ctypes.c_void_p), None, None)
