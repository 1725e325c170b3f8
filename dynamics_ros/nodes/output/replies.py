"""Outputs that follow from a state by kernels alone, which write into the messages themselves."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

from dynamics_ros.kernels import Program, Step
from dynamics_ros.nodes.wire.forms import Form

from .outputs import LOOK_PERIOD, Output, cap


class Answer(NamedTuple):
    """How one message comes about.

    Attributes:
        form: the message.
        steps: what computes its numbers.
    """

    form: Form
    steps: tuple[Step, ...]


class Reply(NamedTuple):
    """An output and what it says.

    Attributes:
        output: the publisher.
        rate: most messages a second, its own and that of the node; see ``outputs.cap``.
        answer: makes the message for names that are in force.
    """

    output: Output
    rate: Callable[[], tuple[float, float]]
    answer: Callable[[], Answer]


class Plan(NamedTuple):
    """What is computed together, and what is sent then."""

    program: Program
    sent: tuple[tuple[Output, Form], ...]


NOTHING = Plan(Program(()), ())


class Replies:
    """Answers states; who listens is looked at now and then, and only that is computed."""

    def __init__(self, replies: Sequence[Reply]) -> None:
        self._replies = replies
        self._look_at = 0.0
        self._names: Hashable = None
        self._wanted: list[Reply] = []
        self._always: Plan | None = None
        self._capped: list[tuple[Reply, Plan]] = []

    def send(self, now: float, stamp: bytes, names: Hashable) -> None:
        """Compute and publish what is due.

        Args:
            now: of the steady clock [s].
            stamp: of the messages, packed as ``cdr.STAMP``.
            names: of frames, as the messages have them; with others, messages are made anew.

        Raises:
            DynamicsRosError: a kernel refuses the state.
        """
        if now >= self._look_at or names is not self._names:
            self._look(now, names)
        if self._always is not None:
            _run(self._always, stamp)
        if self._capped:
            self.send_seldom(now, stamp)

    def renew(self) -> None:
        """Plan anew with the next state: rates may be others."""
        self._look_at = 0.0

    def plan(self, now: float, names: Hashable) -> Plan | None:
        """What every state is answered with; None where ``send_seldom`` would not do for others."""
        self._look(now, names)
        for reply, _ in self._capped:
            if reply.output.wants_more_than_looks(now, cap(*reply.rate())):
                return None
        return self._always or NOTHING

    def due_at(self, now: float) -> float:
        """When the next message is due that is not published for every state [s]."""
        return min((reply.output.due_at(now) for reply, _ in self._capped), default=math.inf)

    def catch_up(self, now: float, stamp: bytes, states: int) -> None:
        """``send_seldom`` after so many states."""
        self.pass_over(states - 1)
        self.send_seldom(now, stamp)

    def pass_over(self, states: int) -> None:
        """Count states that nothing was published of but what every state is answered with."""
        for reply, _ in self._capped:
            reply.output.skip(states)

    def send_seldom(self, now: float, stamp: bytes) -> None:
        """Compute and publish what is due of that which is not published for every state."""
        for reply, plan in self._capped:
            if reply.output.due(now, *reply.rate()):
                _run(plan, stamp)

    def _look(self, now: float, names: Hashable) -> None:
        """Plan anew if others listen, names are others, or a kernel has become quicker."""
        self._look_at = now + LOOK_PERIOD
        wanted = [reply for reply in self._replies if reply.output.listened_to(now)]
        capped = [reply for reply in wanted if cap(*reply.rate()) > 0.0]
        plans = [plan for _, plan in self._capped] + ([self._always] if self._always else [])
        if (
            names is self._names
            and wanted == self._wanted
            and capped == [reply for reply, _ in self._capped]
            and all(plan.program.final for plan in plans)
        ):
            return
        self._names, self._wanted = names, wanted
        together = [reply for reply in wanted if reply not in capped]
        self._always = _planned(together) if together else None
        self._capped = [(reply, _planned([reply])) for reply in capped]


def _planned(replies: Sequence[Reply]) -> Plan:
    answers = [reply.answer() for reply in replies]
    return Plan(
        Program([step for answer in answers for step in answer.steps]),
        tuple((reply.output, answer.form) for reply, answer in zip(replies, answers, strict=True)),
    )


def _run(plan: Plan, stamp: bytes) -> None:
    if not plan.program.run():
        plan.program.explain()
    for output, form in plan.sent:
        output.send(form, stamp)
