"""The share of contact_node in the short way: see ``short_way``.

It goes on as long as the contact state, the place of the contact and what is observable stay as
they are; when one of them changes, the ordinary way says so.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dynamics_ros.estimation import ContactLocation
from dynamics_ros.kernels import Step, copy_of
from dynamics_ros.nodes.input.state import RobotState, StateBuffer
from dynamics_ros.nodes.output.outputs import Output
from dynamics_ros.nodes.output.short_way import Share
from dynamics_ros.nodes.wire.conversions import Array
from dynamics_ros.nodes.wire.forms import Form

from .messages import StateForms, filled_estimate, filled_torques, filled_wrench
from .pipeline import ContactPipeline, ExternalTorques


class Told(NamedTuple):
    """What the ordinary way said last, and how.

    Attributes:
        state, external: the state and what came of it.
        place: of the contact.
        known: whether its point may be relied on.
        root, axes, link: frame_ids of the root, of the wrench, of the link of the place.
    """

    state: RobotState
    external: ExternalTorques
    place: ContactLocation | None
    known: bool
    root: str
    axes: str
    link: str


class Listened(NamedTuple):
    """The outputs that somebody listens to; None in the place of the others."""

    torques: Output | None
    state: Output | None
    wrench: Output | None
    estimate: Output | None


class ContactShare:
    """What there is to do for a state that is like the one before it.

    Attributes:
        share: what the short way is told.
        over: whether something else is observable than what it was made for.
    """

    def __init__(
        self,
        pipeline: ContactPipeline,
        buffer: StateBuffer,
        told: Told,
        listened: Listened,
        place: Callable[[], ContactLocation | None],
    ) -> None:
        """Prepare it.

        Args:
            pipeline: one that ``is_plain``, of one contact frame.
            buffer: where the numbers of a state are.
            told: what stays as it is.
            listened: what is to be sent.
            place: the latest place of the contact.
        """
        self._pipeline, self._told, self._place = pipeline, told, place
        self._buffer, self._report = buffer, told.external.report
        self._samples = pipeline.plain_samples(buffer.q, buffer.v, buffer.effort)
        self._observer = pipeline.plain_step(buffer.q, buffer.v, buffer.effort)
        size = len(buffer.v)
        self._external = np.zeros(size)
        self._exceeded = np.zeros(size), np.zeros((2, size)), np.zeros(1)
        raw, external = self._observer.estimate, self._external
        tare = pipeline.tare_step
        self._steps = [self._samples.step, self._observer.step, tare(raw, external)]
        self._sent: list[tuple[Output, Form]] = []
        thresholds: tuple[Array, ...] = ()
        if listened.torques is not None:
            form = filled_torques(listened.torques.form, pipeline, told.external)
            self._steps.append(tare(raw, form.numbers[0]))
            self._sent.append((listened.torques, form))
        if listened.state is not None:
            form = StateForms().filled(
                listened.state.form,
                pipeline,
                told.external,
                told.place,
                told.known,
                told.root,
                told.link,
            )
            self._steps.append(tare(raw, form.numbers[0]))
            thresholds = form.numbers[1:3]
            self._sent.append((listened.state, form))
        self._steps += pipeline.detector.steps(external, buffer.v, self._exceeded, thresholds)
        self._flags, self._observable = np.zeros(0), b''
        if listened.wrench is not None or listened.estimate is not None:
            self._add_wrench(buffer, listened)
        self.over = False
        self.share = Share(
            tuple(self._steps), tuple(self._sent), self._begin, self._accept, self._finish
        )

    def _add_wrench(self, buffer: StateBuffer, listened: Listened) -> None:
        pipeline, told = self._pipeline, self._told
        (estimate,) = pipeline.wrenches(told.state, told.external.values)
        self._flags, self._observable = np.zeros(7), estimate.flags.tobytes()
        wrench, point, covariance = np.zeros(6), np.zeros(3), np.zeros(36)
        singular = np.zeros(len(estimate.singular_values))
        detailed = listened.estimate
        if detailed is not None:
            last = filled_estimate(detailed.form, pipeline, told.state, estimate, told.axes)
            wrench, point, covariance, singular, _ = last.numbers
        outputs = (wrench, point, covariance, self._flags, singular)
        self._steps.append(pipeline.wrench_step(buffer.q, self._external, outputs))
        if listened.wrench is not None:
            form = filled_wrench(listened.wrench.form, estimate, told.axes)
            self._steps.append(Step(copy_of(len(wrench)), (wrench,), form.numbers))
            self._sent.append((listened.wrench, form))
        if detailed is not None:
            self._sent.append((detailed, last))

    def _begin(self, time: int) -> bool:
        return self._samples.begin(time) and self._observer.begin(time)

    def _accept(self, time: int) -> bool:
        if self._samples.departs:
            return False
        # What is asked last takes the sample in; the ordinary way takes it in once more, which
        # makes no difference to the detector.
        self.over = self._flags.tobytes() != self._observable
        if self.over or self._place() is not self._told.place:
            return False
        added, above, excess = self._exceeded
        # A copy: what is computed of a state that is not taken then is written over it.
        report = self._pipeline.detector.take_computed(time, added.copy(), above, excess[0])
        return report is self._report

    def _finish(self, time: int) -> None:
        buffer = self._buffer
        self._pipeline.take_plain(time, self._observer.estimate, buffer.q, buffer.v, buffer.effort)
        self._samples.finish(time)
        self._observer.finish(time)

    def torques(self) -> ExternalTorques:
        """What came of the last state."""
        return ExternalTorques(self._external.copy(), self._report)
