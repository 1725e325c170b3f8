"""Requests like the one before them, of which only stamps and numbers are others.

A program that asks a service asks again and again, for the same joints and frames. What it took to
understand the first request need not be done anew: the numbers of the next go from its bytes to the
kernel, and from there into the bytes of its response. The first, and whatever is not like it, takes
the ordinary way. Both run the same kernel.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from dynamics_ros.kernels import Kernel, Program, Step
from dynamics_ros.nodes.wire.cdr import ENCAPSULATION, STAMP_END, LayoutError, Template
from dynamics_ros.nodes.wire.conversions import Array

MOST_KNOWN = 4
"""Requests that are remembered, one a client."""


class Numbers(NamedTuple):
    """Numbers of a message.

    Attributes:
        field: where they are, as paths of a ``Template``.
        order: which of them, for each number of an array; None: all, one after the other.
    """

    field: str
    order: tuple[int, ...] | None = None


class Repeatable(NamedTuple):
    """How a request would be answered that differs in numbers only.

    Attributes:
        kernel: what is computed; it has one result.
        inputs: for each of its inputs the numbers of the request, or what it always is.
        result: the numbers of the response.
        valid: whether all else on which the answer depends is as it was.
    """

    kernel: Kernel
    inputs: tuple[Numbers | Array, ...]
    result: Numbers
    valid: Callable[[], bool]


class Repeats:
    """Answers requests that are like those before them."""

    def __init__(self) -> None:
        self._known: list[_Known] = []
        self._last = b''

    def answer(self, data: bytes) -> bytes | None:
        """The response to a request, both in bytes; None where it is for the ordinary way."""
        for known in self._known:
            if known.is_like(data):
                if known.valid():
                    return known.answer(data)
                self._known.remove(known)
                return None
        return None

    def forget(self) -> None:
        """Let go of all requests, and of the robot that they were about."""
        self._known, self._last = [], b''

    def learn(self, data: bytes, request: Any, response: Any, repeatable: Repeatable) -> None:
        """Be told of a request that has been answered with success.

        It is remembered if the one before was like it.

        Args:
            data: the request in bytes.
            request, response: as messages.
            repeatable: how others like it would be answered.
        """
        last, self._last = self._last, data
        if len(last) != len(data) or not repeatable.kernel.ready:
            return
        fields = [part.field for part in repeatable.inputs if isinstance(part, Numbers)]
        try:
            form = Template(request, fields)
            if form.take(last):
                known = _Known(form, Template(response, [repeatable.result.field]), repeatable)
                self._known = [known, *self._known[: MOST_KNOWN - 1]]
        except LayoutError:
            return  # which the middleware's layout stays


class _Known:
    """One request, and its response."""

    def __init__(self, request: Template, response: Template, repeatable: Repeatable) -> None:
        kernel, inputs, result, self.valid = repeatable
        self._request, self._response = request, response
        given = iter(request.numbers)
        moves: list[Callable[[], object]] = []
        arrays: list[Array] = []
        for part in inputs:
            if not isinstance(part, Numbers):
                arrays.append(part)
            elif part.order is None:
                arrays.append(next(given))
            else:
                arrays.append(np.empty(len(part.order)))
                moves.append(_taking(next(given), part.order, arrays[-1]))
        (place,) = response.numbers
        output = place if result.order is None else np.empty(kernel.trace.outputs[0].size)
        self._before, self._output = tuple(moves), output
        self._run = Program([Step(kernel, tuple(arrays), (output,))]).run
        self._after = () if result.order is None else (_taking(output, result.order, place),)

    def is_like(self, data: bytes) -> bool:
        """Whether a request is like it; its numbers are then where ``answer`` takes them from."""
        return self._request.take(data)

    def answer(self, data: bytes) -> bytes | None:
        """The response; None where a number is none that the kernel takes, or one of the result."""
        for move in self._before:
            move()
        if not self._run():
            return None
        # A length is finite only if all numbers are; where it overflows, the ordinary way decides.
        if not math.isfinite(math.hypot(*self._output.tolist())):
            return None
        for move in self._after:
            move()
        # A request begins with the state that it is about; its stamp is that of the response.
        return self._response.message(data[ENCAPSULATION:STAMP_END])


def _taking(source: Array, order: Sequence[int], into: Array) -> Callable[[], object]:
    # Indices are known to fit; checking them would go through an array in between.
    return partial(np.take, source, np.array(order, dtype=np.intp), out=into, mode='clip')
