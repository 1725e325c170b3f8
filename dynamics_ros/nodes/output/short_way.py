"""The short way from the bytes of a joint state to those of what follows from it.

A joint state is mostly like the one before it: the same joints, a millisecond later, nothing else
has changed. Then it is known beforehand what there is to compute and to whom it goes. All kernels
run in one call, on arrays that stay, and write into the messages. Whatever is not like that takes
the ordinary way, which decides everything anew. Both ways run the same kernels.

Who listens, and how often, is looked at every ``LOOK_PERIOD``; what is published seldom comes then,
after the answer.
"""

from __future__ import annotations

import math
import operator
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from dynamics_ros.kernels import Program, Step
from dynamics_ros.nodes.input.state import StateBuffer
from dynamics_ros.nodes.wire.cdr import ENCAPSULATION, STAMP, STAMP_END, Layout
from dynamics_ros.nodes.wire.conversions import NANOSECONDS
from dynamics_ros.nodes.wire.forms import Form

from .outputs import LOOK_PERIOD, Output

if TYPE_CHECKING:
    from dynamics_ros.nodes.input.joint_state_input import JointStateInput
    from dynamics_ros.nodes.reporting.meter import Meter
    from dynamics_ros.nodes.reporting.results import FaultLog
    from dynamics_ros.nodes.robot.part import Part


class Share(NamedTuple):
    """What one part does about a joint state on the short way.

    Attributes:
        steps: what is computed, from ``StateBuffer.q``, ``v`` and ``effort``.
        sent: what is sent then.
        begin: whether a state of that time [ns] may take the short way; None: it may.
        accept: the same once it has been computed.
        finish: takes the results over.
        until: time of the steady clock [s] at which something else is due.
    """

    steps: tuple[Step, ...]
    sent: tuple[tuple[Output, Form], ...]
    begin: Callable[[int], bool] | None = None
    accept: Callable[[int], bool] | None = None
    finish: Callable[[int], None] | None = None
    until: float = math.inf


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
            program: of ``StateBuffer.order_step`` and the steps of all.
        """
        self._layout = layout
        self._buffer, self._timeline = buffer, buffer.timeline
        self._run = program.run
        self._moment = 0
        self._begin = [share.begin for share in shares if share.begin]
        self._accept = [share.accept for share in shares if share.accept]
        self._finish = [share.finish for share in shares if share.finish]
        self._sent = [
            (output, output.publish_function(form), form.message)
            for share in shares
            for output, form in share.sent
        ]

    def compute(self, data: bytes) -> bytes | None:
        """Compute what follows from a joint state; None where that is not for this way.

        What has been written by then, the ordinary way overwrites.

        Returns:
            The stamp, for ``publish``.
        """
        if not self._layout.is_like(data):
            return None
        stamp = data[ENCAPSULATION:STAMP_END]
        seconds, nanoseconds = STAMP.unpack(stamp)
        moment = seconds * NANOSECONDS + nanoseconds
        if moment < self._timeline.newest or nanoseconds >= NANOSECONDS:
            return None
        for begin in self._begin:
            if not begin(moment):
                return None
        self._layout.copy_numbers(data, self._buffer.received)
        if not self._run():  # which includes whether all numbers are finite
            return None
        for accept in self._accept:
            if not accept(moment):
                return None
        self._buffer.write(seconds, nanoseconds, moment)
        self._moment = moment
        return stamp

    def publish(self, stamp: bytes) -> None:
        """Publish what has been computed, and take it over.

        Raises:
            Exception: of the first publisher that failed, after all have been tried.
        """
        failure: Exception | None = None
        for output, publish, message in self._sent:
            try:
                publish(message(stamp))
            except Exception as error:
                failure = failure or error
            output.published += 1
        for finish in self._finish:
            finish(self._moment)
        if failure is not None:
            raise failure


class Junction:
    """Where joint states take the one way or the other."""

    def __init__(
        self,
        states: JointStateInput,
        parts: Sequence[Part],
        meter: Meter,
        catch_up: Callable[[int], None],
        faults: FaultLog,
    ) -> None:
        """Begin with the ordinary way.

        Args:
            states: what comes in.
            parts: who answers.
            meter: counts answers.
            catch_up: does now and then what the short way leaves undone, told of how many states.
            faults: where unforeseen errors go.
        """
        self._states, self._parts, self._meter = states, parts, meter
        self._catch_up, self._faults = catch_up, faults
        self._program: Program | None = None
        self._answered = 0

    def leave(self) -> None:
        """Have the next state go the ordinary way."""
        self._states.short_way = None
        for part in self._parts if self._answered else ():
            part.pass_over(self._answered)
        self._answered = 0

    def prepare(self, buffer: StateBuffer) -> None:
        """Open the short way to what comes next, unless something stands against it.

        For a while only: until it is looked anew who listens, or something is due that is published
        less often.

        Args:
            buffer: of the state that has just been answered.
        """
        self.leave()
        try:
            self._open(buffer)
        except Exception as error:
            self._faults.report('preparing the short way', error)

    def _open(self, buffer: StateBuffer) -> None:
        layout = self._states.layout
        if layout is None or not layout.is_block:
            return
        order = buffer.order_step(layout.names)
        if order is None or any(part.problem for part in self._parts):
            return
        now, shares = time.monotonic(), []
        for part in self._parts:
            share = part.share(now)
            if share is None:
                return
            shares.append(share)
        steps = (order, *(step for share in shares for step in share.steps))
        # Parts keep their steps; the order is made anew, but of the same kernel and arrays.
        known = self._program
        if known is None or not (
            known.final
            and same(steps[1:], known.steps[1:])
            and order.kernel is known.steps[0].kernel
            and order.outputs[0] is known.steps[0].outputs[0]
        ):
            known = self._program = Program(steps)
        way = ShortWay(layout, buffer, shares, known)
        until = min(now + LOOK_PERIOD, *(share.until for share in shares))
        # Of a state that comes much later nobody has looked whom it is for.
        self._states.short_way = partial(self._take, way, until, until + LOOK_PERIOD)

    def _take(self, way: ShortWay, until: float, over: float, data: bytes) -> bool:
        if time.monotonic() >= over:
            return False
        try:
            stamp = way.compute(data)
        except Exception as error:
            self._faults.report('computing the outputs', error)
            return False
        if stamp is None:
            return False
        try:
            way.publish(stamp)
        except Exception as error:
            self._faults.report('publishing', error)
        now = time.monotonic()
        self._meter.tick(now)
        self._answered += 1
        if now >= until:
            states, self._answered = self._answered, 0
            self._catch_up(states)
        return True
