# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Plan of the outputs: for each robot state, the kernels to run and the messages to publish.

Each component declares groups. A group names an output, how its message is filled, which data of
the state it needs, and its maximum rate. A plan contains the groups of all components of a process.
For each state it selects the groups that are due, runs their kernels in one call and publishes
their messages together. The kernels work on fixed arrays, most of which are memory of the messages.

A plan is valid for one epoch. When a parameter, the robot, a frame name or the set of outputs
changes, ``RobotContext.begin_epoch`` discards the plan, and the next state builds a new one. The
plan checks for subscribers every ``LOOK_PERIOD``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.kernels import Copy, Program, Step
from dynamics_ros.wire.message_template import MessageTemplate

from .outputs import LOOK_PERIOD, Output

MAX_BATCHES = 64
"""Maximum number of batches that a plan caches, one for each combination of groups."""


Need = int
"""Bit mask of the requirements of a group on the robot state: ``FRESH`` and ``VELOCITY``."""

NOTHING = 0

FRESH = 1
"""Requires that no joint and no base has been without new data for too long."""

VELOCITY = 2
"""Requires the velocity of every joint."""


class Filled(NamedTuple):
    """Message template with the kernels and copies that write its numbers.

    Attributes:
        template: the message.
        steps: kernels and copies; a step that several messages share runs once for each state.
    """

    template: MessageTemplate
    steps: tuple[Step | Copy, ...]


class Group(NamedTuple):
    """One output of a component, and how its message is computed.

    Attributes:
        output: the publisher.
        rate: maximum rate [Hz]; 0: one message for every state.
        needs: requirements on the state.
        what: name of the published quantity, for diagnostics.
        kernels: builds the message and its kernels, once for each epoch and each value of
            ``contents``. It returns None while there is nothing to publish, and is then called
            again for the next state.
        fill: alternative to ``kernels`` for messages that kernels alone cannot fill: called for
            each state, returns the filled message, or None if there is nothing to publish.
        before: functions that write the inputs of the kernels for each state; groups may share
            them, and a shared function is called once.
        contents: returns the part of the message that is not numbers, such as flags and names,
            after the kernels have run; when it changes, the message is built again. Groups may
            share it.
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
    """Interface of a component to a plan.

    Attributes:
        silence: why the component publishes nothing for the current state; '' if it may publish.
    """

    silence: str

    def groups(self) -> Sequence[Group]:
        """Return the outputs of the component for the current epoch."""

    def failed(self, error: Exception) -> None:
        """Set ``silence`` because of an error."""


class Batch:
    """Groups whose kernels run in one program and whose messages are published together.

    Attributes:
        final: whether building the batch again would give the same batch; False while a kernel is
            still being compiled or a group has nothing to publish yet.
    """

    def __init__(self, members: Sequence[tuple[Publishing, Group]]) -> None:
        groups = [group for _, group in members]
        self._before = tuple({write: None for group in groups for write in group.before})
        self._contents = tuple({g.contents: None for g in groups if g.contents is not None})
        self._made_of = [contents() for contents in self._contents]
        # Keyed by identity, because steps contain arrays, which cannot be compared with ==.
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
        """Run the kernels; return whether every kernel accepted its numbers.

        Raises:
            Exception: the error of a function in ``Group.before``.
        """
        for write in self._before:
            write()
        return self._program.run()

    def explain(self) -> None:
        """Run the kernels one by one, so that the first refusal raises its error.

        Raises:
            Exception: the error of a kernel that refuses its numbers, or of a function in
                ``Group.before``.
        """
        for write in self._before:
            write()
        self._program.explain()

    def fits(self) -> bool:
        """Whether flags and names in the messages still match the current state."""
        return [contents() for contents in self._contents] == self._made_of

    def publish(self, stamp: bytes) -> None:
        """Fill the messages that have a ``fill`` function, and publish all messages.

        Args:
            stamp: stamp of the messages, packed as ``cdr.STAMP``.

        Raises:
            Exception: the error of the first publisher that failed, after all have been tried.
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
    """Return a ``fill`` function that calls ``kernels`` for each state and publishes nothing.

    ``kernels`` thereby updates the reason why the group has no message yet.
    """

    def nothing() -> None:
        kernels()

    return nothing


Members = tuple[int, ...]
"""Indices of groups in a plan."""


class Plan:
    """Groups of all components of a process, for one epoch, with a cache of their batches."""

    def __init__(self, components: Iterable[Publishing]) -> None:
        """Collect the groups of the components."""
        self._components = list(components)
        self._groups = [(one, group) for one in self._components for group in one.groups()]
        self._look_at = 0.0
        self._always: Members = ()
        self._limited: list[tuple[int, Output, float]] = []
        self._batches: dict[Members, Batch] = {}

    def answer(self, state: RobotState, now: float) -> list[Batch]:
        """Run the kernels of all groups that are due for a state.

        Args:
            state: the robot state; its numbers are already in the arrays that the kernels read.
            now: time of the steady clock [s].

        Returns:
            The batches to publish: one for all components, or one for each component after a
            kernel has refused its numbers.
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
        """Update which groups have subscribers; drop batches that can be built better now."""
        self._look_at = now + LOOK_PERIOD
        groups = [group for _, group in self._groups]
        wanted = [i for i, group in enumerate(groups) if group.output.listened_to(now)]
        self._always = tuple(i for i in wanted if groups[i].rate <= 0.0)
        limited = [i for i in wanted if groups[i].rate > 0.0]
        self._limited = [(i, groups[i].output, groups[i].rate) for i in limited]
        self._batches = {key: one for key, one in self._batches.items() if one.final}

    def _met(self, members: Iterable[int], lacking: Need) -> Members:
        """Return the groups whose requirements are met and whose components are not silent."""
        groups = self._groups
        return tuple(
            i for i in members if not (groups[i][0].silence or groups[i][1].needs & lacking)
        )

    def _tell(self, lacking: Need, state: RobotState) -> None:
        """Set ``silence`` of each component that has a group with an unmet requirement."""
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
        # A kernel refused the state. Compute each component separately, so that the others publish.
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
    """Return a message that lists the stale joints; '' if there are none."""
    if not state.stale:
        return ''
    return f'no news for longer than joint_timeout of: {", ".join(state.stale)}'


def _in_words(lacking: Need, what: str, state: RobotState) -> str:
    if lacking & FRESH:
        return stale_in_words(state)
    return f'no {what}: no velocity of {", ".join(state.velocity_missing)}'
