# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Writer and reader of YAML for ROS.

rcl guesses the type of a text that is not quoted: ``y``, ``n``, ``on``, ``1e5`` and ``0x1f`` are no
texts for it, but for PyYAML they are. Therefore the writer quotes every text, and the reader
guesses as rcl does.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import re
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from .files import read_file, write_files

_SWITCHES = {
    **dict.fromkeys(
        ('y', 'Y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON'), True
    ),
    **dict.fromkeys(('n', 'N', 'no', 'No', 'NO', 'false', 'False', 'FALSE'), False),
    **dict.fromkeys(('off', 'Off', 'OFF'), False),
}
_INFINITE = re.compile(r'[+-]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)')

_TEXT, _PLAIN = 'tag:yaml.org,2002:str', '!plain'

_libc = ctypes.CDLL(None, use_errno=True)
_libc.strtoll.restype, _libc.strtod.restype = ctypes.c_longlong, ctypes.c_double


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True  # rcl reads no aliases

    def represent_mapping(self, *arguments: Any, **options: Any) -> yaml.MappingNode:
        mapping = super().represent_mapping(*arguments, **options)
        for key, _ in mapping.value:
            key.style = None  # names of nodes and parameters are always texts
        return mapping


_Dumper.add_representer(str, lambda dumper, text: dumper.represent_scalar(_TEXT, text, style='"'))
# rcl takes numbers that are closer to 0 than the normal ones for texts.
_Dumper.add_representer(
    float, lambda dumper, x: dumper.represent_float(x if not abs(x) < sys.float_info.min else 0.0)
)


class _Loader(yaml.SafeLoader):
    def resolve(self, kind: Any, value: Any, implicit: Any) -> Any:
        plain = kind is yaml.ScalarNode and implicit[0]
        return _PLAIN if plain else super().resolve(kind, value, implicit)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        for key, _ in node.value:
            key.tag = _TEXT if key.tag == _PLAIN else key.tag
        return super().construct_mapping(node, deep)


_Loader.add_constructor(_PLAIN, lambda _, node: plain_value(node.value))


def yaml_text(content: Any, **options: Any) -> str:
    """Return YAML text of mappings, lists, texts and numbers; ``options`` are those of PyYAML."""
    return yaml.dump(content, Dumper=_Dumper, sort_keys=False, **options)


def temporary_yaml(content: Any) -> str:
    """Write a YAML file that is deleted when this process ends; return its path."""
    handle, path = tempfile.mkstemp('.yaml', 'dynamics_ros_')
    os.close(handle)
    write_files({Path(path): yaml_text(content)})
    atexit.register(_remove, path)
    return path


def _remove(path: str) -> None:
    with suppress(FileNotFoundError):
        os.remove(path)


def read_yaml(path: str | os.PathLike[str]) -> Any:
    """Return the content of a YAML file with the types that rcl gives it.

    Raises:
        OSError, UnicodeDecodeError, YAMLError: the file cannot be read; see ``yaml_problem``.
    """
    return yaml.load(read_file(path).decode(), _Loader)


def plain_value(text: str) -> Any:
    """Return the value that a scalar without quotes has for rcl; None for an empty one."""
    if not text or text in _SWITCHES:
        return _SWITCHES.get(text)
    integer = _converted(_libc.strtoll, text, 0)
    if integer is not None:
        return integer
    number = _converted(_libc.strtod, text.replace('.', '') if _INFINITE.fullmatch(text) else text)
    return text if number is None else number


def _converted(convert: Any, text: str, *base: int) -> Any:
    """Return the number of a whole text by a function of C, as rcl does; None if it has none."""
    buffer, end = ctypes.create_string_buffer(text.encode()), ctypes.c_void_p()
    ctypes.set_errno(0)
    number = convert(buffer, ctypes.byref(end), *base)
    whole = end.value == ctypes.addressof(buffer) + len(buffer) - 1
    return number if whole and ctypes.get_errno() == 0 else None


def yaml_problem(error: Exception) -> str:
    """Returns the line and the reason of an error of PyYAML, or of the file, in one line."""
    mark, problem = getattr(error, 'problem_mark', None), getattr(error, 'problem', None)
    if mark is None or problem is None:
        return ' '.join(str(getattr(error, 'strerror', None) or error).split())
    cure = '; indent with spaces, YAML allows no tabs' if "'\\t'" in problem else ''
    return f'line {mark.line + 1}: {problem}{cure}'
