"""The short way from the bytes of a joint state to those of what follows from it.

A joint state is mostly like the one before it: the same joints, a millisecond later, nothing else
has changed. Then it is known beforehand what there is to compute and to whom it goes. All kernels
run in one call, on arrays that stay, and write into the messages. Whatever is not like that takes
the ordinary way, which decides everything anew, and so does one message in a while: who listens,
how often, and what is drawn is decided there. Both ways run the same kernels.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..kernels import Program, Step
from .cdr import ENCAPSULATION, STAMP, STAMP_END, Layout
from .conversions import NANOSECONDS
from .forms import Form
from .outputs import Output
from .state import StateBuffer


class Share(NamedTuple):
    """What one part does about a joint state on the short way.

    Attributes:
        steps: what is computed, from ``StateBuffer.q``, ``v`` and ``effort``.
        sent: what is sent then.
        begin: whether a state of that time [ns] may take the short way; None: it may.
        accept: the same once it has been computed; until then nothing has changed.
        finish: takes the results over.
    """

    steps: tuple[Step, ...]
    sent: tuple[tuple[Output, Form], ...]
    begin: Callable[[int], bool] | None = None
    accept: Callable[[int], bool] | None = None
    finish: Callable[[int], None] | None = None


def same(a: tuple[object, ...], b: tuple[object, ...]) -> bool:
    """Whether these are the same objects."""
    return len(a) == len(b) and all(map(operator.is_, a, b))


class ShortWay:
    """The short way for joint states of one layout."""

    def __init__(
        self, layout: Layout, buffer: StateBuffer, shares: Sequence[Share], program: Program
    ) -> None:
        """Prepare it.

        Args:
            layout: of the joint states, which ``buffer`` says may be taken so.
            buffer: takes the numbers.
            shares: what each part does.
            program: of the steps of all.
        """
        self._layout = layout
        self._buffer = buffer
        self._run = program.run
        self._begin = [share.begin for share in shares if share.begin]
        self._accept = [share.accept for share in shares if share.accept]
        self._finish = [share.finish for share in shares if share.finish]
        self._sent = [
            (output, output.publish_function(form), form.message)
            for share in shares
            for output, form in share.sent
        ]

    def take(self, data: bytes) -> bool:
        """Answer a joint state; False, and nothing has changed, where that is not for this way.

        Raises:
            Exception: of the publishers, after all have been tried.
        """
        if not self._layout.is_like(data):
            return False
        stamp = data[ENCAPSULATION:STAMP_END]
        seconds, nanoseconds = STAMP.unpack(stamp)
        time = seconds * NANOSECONDS + nanoseconds
        for begin in self._begin:
            if not begin(time):
                return False
        numbers = self._buffer.write(self._layout.block(data))
        # The square is finite only if all numbers are.
        if not math.isfinite(numbers.dot(numbers)) or not self._run():
            return False
        for accept in self._accept:
            if not accept(time):
                return False
        self._buffer.written = seconds, nanoseconds
        for finish in self._finish:
            finish(time)
        failure: Exception | None = None
        for output, publish, message in self._sent:
            try:
                publish(message(stamp))
            except Exception as error:
                failure = failure or error
            output.published += 1
        if failure is not None:
            raise failure
        return True
