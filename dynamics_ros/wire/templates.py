# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Messages of outputs: serialized once; then stamps and numbers are written in place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from rclpy.serialization import serialize_message

from dynamics_ros.kernels import Kernel
from dynamics_ros.kernels.program import Copy, Program, Step
from dynamics_ros.wire.cdr import ENCAPSULATION, STAMP, Layout, LayoutError
from dynamics_ros.wire.conversions import Array


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
