# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Plan of the outputs: for each robot state, the kernels to run and the messages to publish.

Each component declares groups. A group names an output, how its message is filled, which data of
the state it needs, and its maximum rate. A plan contains the groups of all components of a process.
For each state it selects the groups that are due, runs their kernels in one call and publishes
their messages together. The kernels work on fixed arrays, most of which are memory of the messages.

A plan is valid for one epoch. When a parameter, the robot, a frame name or the set of outputs
changes, ``RobotContext.begin_epoch`` discards the plan, and the next state builds a new one. The
plan checks for subscribers every ``CHECK_PERIOD``.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, NamedTuple, Protocol

from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.kernels import Copy, Program, Step
from dynamics_ros.wire.message_template import MessageTemplate

from .outputs import CHECK_PERIOD, Output

MAX_BATCHES = 64
"""Maximum number of batches that a plan caches, one for each combination of groups."""

MAX_RENEWALS = 3
"""Maximum number of times that the messages of a state are built again for changed variants."""

Need = int
"""Bit mask of the requirements of a group on the robot state: ``FRESH`` and ``VELOCITY``."""

NOTHING = 0

FRESH = 1
"""Requires that no joint and no base has been without new data for too long."""

VELOCITY = 2
"""Requires the velocity of every joint."""


class KernelMessage(NamedTuple):
    """Message template with the kernels and copies that write its numbers.

    Attributes:
        template: the message.
        steps: kernels and copies; a step that several messages share runs once for each state.
    """

    template: MessageTemplate
    steps: tuple[Step | Copy, ...]


Fill = Callable[[], MessageTemplate | None]
"""Fills a message for the current state; returns None if there is nothing to publish."""


class Group(NamedTuple):
    """One output of a component, and how its message is computed.

    Attributes:
        output: the publisher.
        rate: maximum rate [Hz]; 0: one message for every state.
        needs: requirements on the state.
        what: name of the published quantity, for diagnostics.
        build: builds the message and its kernels, once for each epoch and each value of
            ``variant``. It returns None while there is nothing to publish, and is then called
            again for the next state.
        fill: alternative to ``build`` for messages that kernels alone cannot fill: called for
            each state, returns the filled message, or None if there is nothing to publish.
        before: functions that write the inputs of the kernels for each state; groups may share
            them, and a shared function is called once.
        variant: returns the part of the message that is not numbers, such as flags and names,
            after the kernels have run; when it changes, the message is built again. Groups may
            share it.
    """

    output: Output
    rate: float
    needs: Need
    what: str
    build: Callable[[], KernelMessage | None] | None = None
    fill: Fill | None = None
    before: tuple[Callable[[], None], ...] = ()
    variant: Callable[[], Hashable] | None = None


class PublishingComponent(Protocol):
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

    def __init__(self, members: Sequence[tuple[PublishingComponent, Group]]) -> None:
        groups = [group for _, group in members]
        self._before = tuple({write: None for group in groups for write in group.before})
        self._variants = tuple({g.variant: None for g in groups if g.variant is not None})
        self._built_for = [variant() for variant in self._variants]
        # Keyed by identity, because steps contain arrays, which cannot be compared with ==.
        steps: dict[int, Step | Copy] = {}
        self._messages: list[tuple[Output, Callable[[], Any], Callable[[Any], None]]] = []
        self._stamps: list[memoryview] = []
        self._fills: list[tuple[PublishingComponent, Output, Fill]] = []
        self.final = True
        for component, group in members:
            output, fill = group.output, group.fill
            filled = None if group.build is None else group.build()
            if filled is not None:
                steps |= {id(step): step for step in filled.steps}
                template = filled.template
                self._messages.append((output, template.packed, output.publish_function(template)))
                self._stamps += template.stamps
            elif group.build is not None:
                self._fills.append((component, output, _retry_each_state(group.build)))
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

    def is_current(self) -> bool:
        """Whether flags and names in the messages still match the current state."""
        return [variant() for variant in self._variants] == self._built_for

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
                    messages.append((output, template.packed, output.publish_function(template)))
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


def _retry_each_state(build: Callable[[], KernelMessage | None]) -> Callable[[], None]:
    """Return a ``fill`` function that calls ``build`` for each state and publishes nothing.

    ``build`` thereby updates the reason why the group has no message yet.
    """

    def nothing() -> None:
        build()

    return nothing


Members = tuple[int, ...]
"""Indices of groups in a plan."""


class Plan:
    """Groups of all components of a process, for one epoch, with a cache of their batches."""

    def __init__(self, components: Iterable[PublishingComponent]) -> None:
        """Collect the groups of the components."""
        self._components = list(components)
        self._groups = [(one, group) for one in self._components for group in one.groups()]
        self._next_update = 0.0
        self._unlimited: Members = ()
        self._limited: list[tuple[int, Output, float]] = []
        self._batches: dict[Members, Batch] = {}

    def compute(self, state: RobotState, now: float) -> list[Batch]:
        """Run the kernels of all groups that are due for a state.

        Args:
            state: the robot state; its numbers are already in the arrays that the kernels read.
            now: time of the steady clock [s].

        Returns:
            The batches to publish: one for all components, or one for each component after a
            kernel has refused its numbers.
        """
        if now >= self._next_update:
            self._update_subscribers(now)
        lacking = (FRESH if state.stale else 0) | (VELOCITY if state.velocity_missing else 0)
        due, limited = self._unlimited, self._limited
        silent = False
        for component in self._components:
            if component.silence:
                silent = True
        if lacking or silent:
            due = self._satisfied(due, lacking)
            met = self._satisfied([one[0] for one in limited], lacking)
            limited = [one for one in limited if one[0] in met]
            self._report_lacking(lacking, state)
        for i, output, rate in limited:
            if output.passes(now, rate):
                due = (*due, i)
        return self._compute(due)

    def _update_subscribers(self, now: float) -> None:
        """Update which groups have subscribers; drop batches that can be built better now."""
        self._next_update = now + CHECK_PERIOD
        groups = [group for _, group in self._groups]
        wanted = [i for i, group in enumerate(groups) if group.output.has_subscribers(now)]
        self._unlimited = tuple(i for i in wanted if groups[i].rate <= 0.0)
        limited = [i for i in wanted if groups[i].rate > 0.0]
        self._limited = [(i, groups[i].output, groups[i].rate) for i in limited]
        self._batches = {key: one for key, one in self._batches.items() if one.final}

    def _satisfied(self, members: Iterable[int], lacking: Need) -> Members:
        """Return the groups whose requirements are met and whose components are not silent."""
        groups = self._groups
        return tuple(
            i for i in members if not (groups[i][0].silence or groups[i][1].needs & lacking)
        )

    def _report_lacking(self, lacking: Need, state: RobotState) -> None:
        """Set ``silence`` of each component that has a group with an unmet requirement."""
        for component, group in self._groups:
            if not component.silence and group.needs & lacking:
                component.silence = _describe_lacking(group.needs & lacking, group.what, state)

    def _compute(self, due: Members) -> list[Batch]:
        batch = self._batches.get(due) or self._new_batch(due)
        try:
            accepted = batch.compute()
            renewed = 0
            # Building a message may itself change a variant, if it is the first of a kernel.
            while accepted and renewed < MAX_RENEWALS and not batch.is_current():
                batch = self._new_batch(due)
                accepted, renewed = batch.compute(), renewed + 1
        except Exception:
            accepted = False
        if accepted:
            return [batch]
        # A kernel refused the state. Compute each component separately, so that the others publish.
        components = list(dict.fromkeys(self._groups[i][0] for i in due))
        if len(components) > 1:
            each = [tuple(i for i in due if self._groups[i][0] is one) for one in components]
            return [batch for own in each for batch in self._compute(own)]
        try:
            batch.explain()
        except Exception as error:
            components[0].failed(error)
            return []
        return [batch]

    def _new_batch(self, due: Members) -> Batch:
        if len(self._batches) >= MAX_BATCHES:
            self._batches.clear()
        batch = self._batches[due] = Batch([self._groups[i] for i in due])
        return batch


def describe_stale(state: RobotState) -> str:
    """Return a message that lists the stale joints; '' if there are none."""
    if not state.stale:
        return ''
    return f'no news for longer than joint_timeout of: {", ".join(state.stale)}'


def _describe_lacking(lacking: Need, what: str, state: RobotState) -> str:
    if lacking & FRESH:
        return describe_stale(state)
    return f'no {what}: no velocity of {", ".join(state.velocity_missing)}'
