# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What follows from a joint state: the kernels that run, and the messages that they fill.

Each component declares groups: an output, how its message is filled, what that needs of a state,
and how often it is due. A plan holds the groups of all components of a process. Of each state it
finds the groups that are due, runs their kernels in one call, on arrays that stay, which are mostly
those within the messages, and then publishes all messages together.

A plan is of one epoch: once a parameter, the robot, a name of a frame, or what is offered changes,
``RobotContext.begin_epoch`` gives it up, and the next state makes another. Who listens is looked at
every ``LOOK_PERIOD``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.kernels import Copy, Program, Step
from dynamics_ros.wire.message_template import MessageTemplate

from .outputs import LOOK_PERIOD, Output

MAX_BATCHES = 64
"""Combinations of groups that are kept ready."""


Need = int
"""What a group needs of a state: ``NOTHING``, or some of the others, added."""

NOTHING = 0

FRESH = 1
"""No joint, and no base, that was last heard of too long ago."""

VELOCITY = 2
"""The velocity of every joint."""


class Filled(NamedTuple):
    """A message and the kernels that fill it.

    Attributes:
        template: the message.
        steps: write its numbers. One that several messages share runs once.
    """

    template: MessageTemplate
    steps: tuple[Step | Copy, ...]


class Group(NamedTuple):
    """One output of a component.

    Attributes:
        output: the publisher.
        rate: most messages a second; 0: one for every state.
        needs: of a state.
        what: is published, in words.
        kernels: makes the message and the kernels that fill it, once for each epoch and each value
            of ``contents``; None: there is nothing to publish yet, and it is asked again.
        fill: fills the message in for each state, where that is no matter of kernels alone; None:
            there is nothing to publish.
        before: write what the kernels read of each state; groups may share them.
        contents: what the message says of a state beside numbers, known once the kernels have run;
            groups may share it.
    """

    output: Output
    rate: float
    needs: Need
    what: str
    kernels: Callable[[], Filled | None] | None = None
    fill: Callable[[], MessageTemplate | None] | None = None
    before: tuple[Callable[[], None], ...] = ()
    contents: Callable[[], Hashable] | None = None


class Publishing(Protocol):
    """A component, as far as a plan knows it.

    Attributes:
        silence: why it publishes nothing of the state; '' when it may.
    """

    silence: str

    def groups(self) -> Sequence[Group]:
        """What it publishes, in the epoch that has begun."""

    def failed(self, error: Exception) -> None:
        """Be silent because of an error."""


class Batch:
    """Groups that are computed together, and leave together.

    Attributes:
        final: whether it would be no other if it was made anew, as it might once a kernel that is
            still being compiled is ready.
    """

    def __init__(self, members: Sequence[tuple[Publishing, Group]]) -> None:
        groups = [group for _, group in members]
        self._before = tuple({write: None for group in groups for write in group.before})
        self._contents = tuple({g.contents: None for g in groups if g.contents is not None})
        self._made_of = [contents() for contents in self._contents]
        # By what they are: arrays cannot be compared.
        steps: dict[int, Step | Copy] = {}
        self._messages: list[tuple[Output, Callable[[], Any], Callable[[Any], None]]] = []
        self._stamps: list[memoryview] = []
        self._fills: list[tuple[Publishing, Output, Callable[[], MessageTemplate | None]]] = []
        self.final = True
        for component, group in members:
            output, fill = group.output, group.fill
            filled = None if group.kernels is None else group.kernels()
            if filled is not None:
                steps |= {id(step): step for step in filled.steps}
                template = filled.template
                self._messages.append((output, template.packed, output.publishes(template)))
                self._stamps += template.stamps
            elif group.kernels is not None:
                self._fills.append((component, output, _asked_again(group.kernels)))
                self.final = False
            elif fill is not None:
                self._fills.append((component, output, fill))
        self._program = Program([*steps.values()])
        self.final = self.final and self._program.final

    def compute(self) -> bool:
        """Compute all but what is filled in; whether every kernel accepted its numbers.

        Raises:
            Exception: of what is done before kernels run.
        """
        for write in self._before:
            write()
        return self._program.run()

    def explain(self) -> None:
        """Compute, and say what is wrong with the numbers.

        Raises:
            Exception: what a kernel does not accept, or of what is done before kernels run.
        """
        for write in self._before:
            write()
        self._program.explain()

    def fits(self) -> bool:
        """Whether the messages are still those for what is to be said beside numbers."""
        return [contents() for contents in self._contents] == self._made_of

    def publish(self, stamp: bytes) -> None:
        """Fill in what kernels do not, and publish all.

        Raises:
            Exception: of the first publisher that failed, after all have been tried.
        """
        messages = self._messages
        if self._fills:
            messages = messages.copy()
            for component, output, fill in self._fills:
                try:
                    template = fill()
                except Exception as error:
                    component.failed(error)
                    continue
                if template is not None:
                    messages.append((output, template.packed, output.publishes(template)))
                    for place in template.stamps:
                        place[:] = stamp
        for place in self._stamps:
            place[:] = stamp
        failure: Exception | None = None
        for output, packed, publish in messages:
            output.published += 1
            try:
                publish(packed())
            except Exception as error:
                failure = failure or error
        if failure is not None:
            raise failure


def _asked_again(kernels: Callable[[], Filled | None]) -> Callable[[], None]:
    """Has a group say why there is nothing to publish yet."""

    def nothing() -> None:
        kernels()

    return nothing


Members = tuple[int, ...]
"""Places of groups in a plan."""


class Plan:
    """The groups of all components of a process, in one epoch."""

    def __init__(self, components: Iterable[Publishing]) -> None:
        """Ask the components what they publish."""
        self._components = list(components)
        self._groups = [(one, group) for one in self._components for group in one.groups()]
        self._look_at = 0.0
        self._always: Members = ()
        self._limited: list[tuple[int, Output, float]] = []
        self._batches: dict[Members, Batch] = {}

    def answer(self, state: RobotState, now: float) -> list[Batch]:
        """Compute what is due of a state.

        Args:
            state: whose numbers are in the arrays that the kernels read.
            now: of the steady clock [s].

        Returns:
            What is to be published.
        """
        if now >= self._look_at:
            self._look(now)
        lacking = (FRESH if state.stale else 0) | (VELOCITY if state.velocity_missing else 0)
        due, limited = self._always, self._limited
        silent = False
        for component in self._components:
            if component.silence:
                silent = True
        if lacking or silent:
            due = self._met(due, lacking)
            met = self._met([one[0] for one in limited], lacking)
            limited = [one for one in limited if one[0] in met]
            self._tell(lacking, state)
        for i, output, rate in limited:
            if output.passes(now, rate):
                due = (*due, i)
        return self._computed(due)

    def _look(self, now: float) -> None:
        """Look who listens, and for kernels that have become machine code."""
        self._look_at = now + LOOK_PERIOD
        groups = [group for _, group in self._groups]
        wanted = [i for i, group in enumerate(groups) if group.output.listened_to(now)]
        self._always = tuple(i for i in wanted if groups[i].rate <= 0.0)
        limited = [i for i in wanted if groups[i].rate > 0.0]
        self._limited = [(i, groups[i].output, groups[i].rate) for i in limited]
        self._batches = {key: one for key, one in self._batches.items() if one.final}

    def _met(self, members: Iterable[int], lacking: Need) -> Members:
        """Those of them whose needs are met, of components that are not silent."""
        groups = self._groups
        return tuple(
            i for i in members if not (groups[i][0].silence or groups[i][1].needs & lacking)
        )

    def _tell(self, lacking: Need, state: RobotState) -> None:
        """Have components say what their groups lack."""
        for component, group in self._groups:
            if not component.silence and group.needs & lacking:
                component.silence = _in_words(group.needs & lacking, group.what, state)

    def _computed(self, due: Members) -> list[Batch]:
        batch = self._batches.get(due) or self._made(due)
        try:
            accepted = batch.compute()
            if accepted and not batch.fits():
                batch = self._made(due)
                accepted = batch.compute()
        except Exception:
            accepted = False
        if accepted:
            return [batch]
        # A kernel refuses the state, which is no reason for other components to be silent.
        components = list(dict.fromkeys(self._groups[i][0] for i in due))
        if len(components) > 1:
            each = [tuple(i for i in due if self._groups[i][0] is one) for one in components]
            return [batch for own in each for batch in self._computed(own)]
        try:
            batch.explain()
        except Exception as error:
            components[0].failed(error)
            return []
        return [batch]

    def _made(self, due: Members) -> Batch:
        if len(self._batches) >= MAX_BATCHES:
            self._batches.clear()
        batch = self._batches[due] = Batch([self._groups[i] for i in due])
        return batch


def stale_in_words(state: RobotState) -> str:
    """Which joints have been silent for too long; '' when none has."""
    if not state.stale:
        return ''
    return f'no news for longer than joint_timeout of: {", ".join(state.stale)}'


def _in_words(lacking: Need, what: str, state: RobotState) -> str:
    if lacking & FRESH:
        return stale_in_words(state)
    return f'no {what}: no velocity of {", ".join(state.velocity_missing)}'
