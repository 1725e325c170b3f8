# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Kernels that can be exported, written as a name and options, separated by colons."""

from __future__ import annotations

from dynamics_ros.algorithms.quantity import (
    DEFAULT_REFERENCE,
    DEFINITIONS,
    REFERENCES,
    Definition,
    Key,
    Options,
    checked_indices,
    checked_rows,
)
from dynamics_ros.errors import InvalidArgumentError, closest
from dynamics_ros.model import Model


def catalogue() -> dict[str, Definition]:
    """Return what can be exported by name: methods of a robot, and control laws.

    Other quantities are parts of solvers and observers, whose state is in Python.
    """
    return {name: x for name, x in DEFINITIONS.items() if not x.internal or x.exported}


def usages() -> dict[str, str]:
    """Summary of each kernel, by its name with the syntax of its options."""
    return {name + x.options.value: x.summary for name, x in catalogue().items()}


def key_of(text: str, model: Model) -> Key:
    """Key of a kernel that is written as its name and options, separated by colons.

    Raises:
        InvalidArgumentError: the kernel does not exist, or its options are wrong.
        UnknownFrameError: a frame does not exist.
    """
    name, *options = text.split(':')
    known = catalogue()
    definition = known.get(name)
    if definition is None:
        close = [other + known[other].options.value for other in closest(name, known)]
        first = f'{", ".join(close)}, or another ' if close else ''
        raise InvalidArgumentError(
            'kernels',
            f'no kernel {name!r}',
            f'{first}one of {len(known)}, which `export_kernels --list` prints',
        )
    kind = definition.options
    if kind is Options.FRAME_AND_REFERENCE and len(options) == 1:
        options.append(DEFAULT_REFERENCE)
    count = {Options.NONE: 0, Options.FRAME: 1, Options.FRAME_AND_REFERENCE: 2}.get(kind)
    if kind in (Options.FRAME_AND_ROWS, Options.CONSTRAINTS) and not options:
        count = 1
    if count not in (None, len(options)):
        raise InvalidArgumentError('kernels', repr(text), name + kind.value)
    if kind is Options.PRESCRIBED:
        checked_indices(options, model.nv, 'kernels', repr(text))
    elif kind is Options.FRAME_AND_ROWS:
        rows = options[1:] or ['0']
        checked_rows(rows[0] if len(rows) == 1 else '', 'kernels', repr(text))
        model.frame(options[0])
    elif kind is not Options.CONSTRAINTS:
        for frame in options[:1] if definition.names_a_frame else options:
            model.frame(frame)
    if kind is Options.FRAME_AND_REFERENCE and options[1] not in REFERENCES:
        raise InvalidArgumentError('kernels', repr(text), f'a reference of {REFERENCES}')
    return name, *options
