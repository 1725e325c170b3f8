# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Analysis of one bag in one pass, with bounded memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache, reduce
from pathlib import Path
from typing import Any

import numpy as np

from dynamics_ros.errors import DynamicsRosError
from dynamics_ros.files import completed
from dynamics_ros.identification.joint_states.joint_matching import match_joints, standing_still
from dynamics_ros.parameters.contact import ContactParameters
from dynamics_ros.parameters.robot import RobotParameters
from dynamics_ros.reasons import Counts
from dynamics_ros.recordings.bag import (
    JOINT_STATE,
    Recording,
    RecordingError,
    RecordingWriter,
)
from dynamics_ros.recordings.estimates import EstimateWriter, copied
from dynamics_ros.recordings.settings import EstimationSettings
from dynamics_ros.recordings.states import (
    BATCH,
    ODOMETRY,
    PAYLOAD,
    EstimatedBlock,
    EstimatedStates,
    EstimatorFactory,
    Estimators,
    Topics,
    batches,
    busiest_joint_states,
    recorded_description,
    recorded_joints,
    topic_of,
)
from dynamics_ros.settings import NUMBERS, declared, replaced

from .bags import WRITTEN, Bag, folder_name
from .contacts import ContactEvents, Event, PayloadWatch
from .residuals import BLOCK, Block, JointResiduals, ResidualSums
from .tables import EVENTS, SIGNALS, SUMMARY, SignalFile, place, write_rows
from .timing import ClockReport, ClockWatch

OK, FAILED = 'ok', 'failed'

UNEXPLAINED = 60.0
"""Share of unexplained efforts above which the model is of another robot or the efforts are no
torques [%]."""

MAX_PROBLEM_LENGTH = 160
"""Maximum length of the message about unreadable shapes [characters]."""

NO_COMPLETE_STATE = 'no joint state contains all joints of the robot'


@dataclass(frozen=True)
class Task:
    """Settings of a run, the same for all bags.

    Attributes:
        output: folder of the results.
        description: URDF of all robots; '' uses the description in each bag.
        settings: settings of the estimators.
        topic: topic of the joint states; None selects the one with most messages.
        free_motion: nothing has touched the robots, so that all detected contacts are false.
        signals: whether to write one row per sample.
        bags: storage of bags with inputs and estimates, 'mcap' or 'sqlite3'; '' writes none.
    """

    output: Path
    description: str = ''
    settings: EstimationSettings = field(default_factory=EstimationSettings)
    topic: str | None = None
    free_motion: bool = False
    signals: bool = False
    bags: str = ''


def analyze(task: Task, bag: Bag) -> dict[str, Any]:
    """Analyzes a bag, writes its rows and returns its summary.

    If reading or writing fails, the summary has the status 'failed' and a reason.
    """
    try:
        summary, events = _analyzed(task, bag)
        write_rows(task.output, EVENTS, bag, [_row_of(event) for event in events])
    except Exception as error:  # one bad bag must not stop the run
        expected = isinstance(error, DynamicsRosError | OSError | ValueError | ArithmeticError)
        summary = failed(bag, (expected and str(error)) or repr(error))
        with suppress(OSError):
            # Remove results of an earlier run.
            for table in (EVENTS, SIGNALS):
                place(task.output, table, bag).unlink(missing_ok=True)
    try:
        write_rows(task.output, SUMMARY, bag, [summary])
    except OSError as error:
        summary = failed(bag, str(error))
    return {'robot': bag.robot, 'bag': bag.name, **summary}


def failed(bag: Bag, reason: str) -> dict[str, Any]:
    """Returns the summary of a bag that could not be analyzed."""
    return {'path': str(bag.path), 'status': FAILED, 'reason': reason}


def _analyzed(task: Task, bag: Bag) -> tuple[dict[str, Any], list[Event]]:
    with ExitStack() as stack:
        recording = stack.enter_context(Recording(bag.path))
        joint_states = (
            busiest_joint_states(recording)
            if task.topic is None
            else topic_of(recording, JOINT_STATE, task.topic)
        )
        text = task.description or recorded_description(recording, joint_states)
        factory, names, assumed = _matched(
            text, task.settings, recorded_joints(recording, joint_states)
        )
        first = factory.make(task.settings.carried)
        payloads = [topic for topic in recording.topics(PAYLOAD) if recording.count([topic])]
        topics = Topics(
            joint_states,
            topic_of(recording, ODOMETRY, None) if factory.base_moves else None,
            payloads[0] if len(payloads) == 1 else None,
        )
        # No user resets a collision in a recording.
        states = EstimatedStates(factory, first, topics, names, latches=False)
        clock = ClockWatch(joint_states)
        analysis = Analysis(states, factory.base_moves)
        messages = recording.messages(topics.all())
        # Writing bags needs the state of the estimators after each message.
        read = batches(messages, joint_states, max_size=1 if task.bags else BATCH)
        writer = None
        if task.bags:
            path = task.output / WRITTEN / folder_name(bag.robot) / bag.name
            partial = stack.enter_context(completed(path))
            writer = stack.enter_context(RecordingWriter(partial, task.bags))
            read = copied(read, topics, text, writer)
        estimates = states.blocks(clock.watched(read))
        if writer is not None:
            estimates = _written(estimates, EstimateWriter(first, factory.root_link, writer))
        signals = None
        if task.signals:
            signals = stack.enter_context(SignalFile(place(task.output, SIGNALS, bag)))
        for block in analysis.blocks(estimates):
            if signals is not None:
                signals.add(block)
    summary, events = analysis.result(bag, factory.robot.name, clock.report, task.free_motion)
    if factory.geometry_problem and summary['contacts']:
        first_problem = factory.geometry_problem.partition(': not found')[0][:MAX_PROBLEM_LENGTH]
        assumed.append(f'contacts on links without shapes are not located: {first_problem}')
    summary['findings'] = assumed + summary['findings']
    return summary, events


def _matched(
    text: str, settings: EstimationSettings, recorded: Sequence[str]
) -> tuple[EstimatorFactory, dict[str, str], list[str]]:
    """Returns estimators for the recorded joints, their names by recorded names, and assumptions.

    Raises:
        DynamicsRosError: the recording is of another robot.
    """
    factory = _factory(text, settings.robot, settings.contact)
    own = factory.robot.joint_names
    columns, sentence = match_joints(recorded, own)
    names = {recorded[column]: name for name, column in columns.items()}
    assumed = [sentence] if sentence else []
    absent = [name for name in own if name not in columns]
    if absent:
        places, sentence = standing_still(factory.robot, absent)
        assumed.append(sentence)
        locked = settings.robot.locked_joints
        locked = replace(
            locked,
            names=(*locked.names, *places),
            positions=(*locked.positions, *places.values()),
        )
        contact = settings.contact
        for one in declared(type(contact)):
            values: Any = reduce(getattr, one.path, contact)
            if one.type == NUMBERS and not one.constraint.sizes and len(values) == len(own) > 1:
                rest = tuple(x for x, name in zip(values, own, strict=True) if name in columns)
                contact = replaced(contact, one.path, rest)
        factory = _factory(text, replace(settings.robot, locked_joints=locked), contact)
    return factory, {old: new for old, new in names.items() if old != new}, assumed


@lru_cache(maxsize=4)
def _factory(text: str, robot: RobotParameters, contact: ContactParameters) -> EstimatorFactory:
    """Returns the estimator factory, cached because bags often share a robot.

    Compiling takes longer than processing a short bag.
    """
    return EstimatorFactory(text, robot, contact)


def _written(blocks: Iterator[EstimatedBlock], output: EstimateWriter) -> Iterator[EstimatedBlock]:
    for block in blocks:
        for estimate in block.rows():
            output.write(estimate, block.estimators)
        yield block


class Analysis:
    """Collects contacts, residuals and payload changes from the estimates of a bag."""

    def __init__(self, states: EstimatedStates, base_moves: bool) -> None:
        """Creates an analysis without samples.

        Args:
            states: source of the estimates.
            base_moves: whether the base moves; payload changes are not detected then.
        """
        self._states, first = states, states.estimators
        pipeline = first.pipeline
        self._contacts = ContactEvents(first)
        self._sums = ResidualSums(pipeline)
        self._joints = pipeline.joint_names
        self._indices = pipeline.joint_indices
        self._count = 0
        self._advice = Counts()
        self._payloads = None
        if not base_moves:
            gravity = np.array([*pipeline.robot.model.gravity], dtype=np.float64)
            self._payloads = PayloadWatch(pipeline.frames[0], gravity)

    def blocks(self, estimated: Iterable[EstimatedBlock]) -> Iterator[Block]:
        """Yields the samples in blocks of fixed size and analyzes them.

        Repeated estimates of a state, made while the next one is held as doubtful, are dropped.
        """
        parts: list[Block] = []
        estimators, last, size = self._states.estimators, None, 0
        for one in estimated:
            self._contacts.add(one.estimates, one.estimators)
            self._note_advice(one.estimators)
            part = Block.of(one.estimates)
            # While a state is held as doubtful, the previous estimate is repeated.
            again = np.diff(part.time, prepend=part.time[0] - 1 if last is None else last) == 0
            last = int(part.time[-1])
            if again.any():
                part = part.rows(~again)
            if size and one.estimators is not estimators:
                yield self._analyzed_block(Block.together(parts), estimators)
                parts, size = [], 0
            estimators = one.estimators
            parts.append(part)
            size += len(part)
            while size >= BLOCK:
                whole = Block.together(parts)
                yield self._analyzed_block(whole.rows(slice(BLOCK)), estimators)
                parts, size = [whole.rows(slice(BLOCK, None))], size - BLOCK
        if size:
            yield self._analyzed_block(Block.together(parts), estimators)

    def _analyzed_block(self, block: Block, estimators: Estimators) -> Block:
        self._count += len(block)
        self._sums.add(block, estimators.pipeline)
        if self._payloads is not None:
            self._payloads.add(block, estimators)
        return block

    def _note_advice(self, estimators: Estimators) -> None:
        report = estimators.pipeline.effort_check.report
        if report is not None and report.advice:
            self._advice.add(report.advice, 1)

    def result(
        self, bag: Bag, model: str, clock: ClockReport, free_motion: bool
    ) -> tuple[dict[str, Any], list[Event]]:
        """Returns the row of the summary table, and the events.

        Raises:
            RecordingError: no state could be estimated.
        """
        states = self._states
        if not self._count:
            missing = states.estimators.buffer.missing()
            missing_text = f'{NO_COMPLETE_STATE}: {", ".join(missing)} missing' if missing else ''
            silent = [reason for reason, _ in states.silent.items()]
            why = '; '.join(filter(None, [missing_text, *silent])) or 'too short'
            raise RecordingError(f'nothing can be estimated: {why}')
        residuals = self._sums.result()
        events = self._contacts.result(
            states.estimators, self._sums, residuals, (clock.end - clock.begin) * 1e-9
        )
        for event in events:
            event.false_contact |= free_motion
        contacts = list(events)
        if self._payloads is not None:
            events += self._payloads.result()
        percent = 100.0 * residuals.residual_rms / np.maximum(residuals.effort_rms, 1e-9)
        findings = self._findings(residuals)
        if _unexplained(residuals) > UNEXPLAINED:
            residuals = residuals.without_friction()
        joint = self._indices
        of_joints = {
            'effort_rms': residuals.effort_rms,
            'residual_rms': residuals.residual_rms,
            'residual_percent': percent,
            'moving': residuals.moving,
            'viscous': residuals.viscous,
            'coulomb': residuals.coulomb,
            'offset': residuals.unknowns[:, 2],
            'friction': residuals.friction,
            'friction_deviation': residuals.deviation,
            'friction_declared': residuals.declared,
        }
        summary = {
            'path': str(bag.path),
            'model': model,
            'status': OK,
            'reason': '',
            'begin': clock.begin,
            'end': clock.end,
            'duration': (clock.end - clock.begin) * 1e-9,
            'rate': clock.rate,
            'jitter': clock.jitter,
            'messages': states.messages,
            'refused': states.refused,
            'estimates': self._count,
            'gaps': clock.gaps,
            'longest_gap': clock.longest_gap,
            'clock_jumps': clock.jumps,
            'largest_clock_jump': clock.largest_jump,
            'late': clock.late,
            'findings': findings,
            'joints': list(self._joints),
            **{name: values[joint].tolist() for name, values in of_joints.items()},
            'contacts': len(contacts),
            'collisions': sum(event.kind == 'collision' for event in contacts),
            'false_contacts': sum(event.false_contact for event in contacts),
            'payload_changes': len(events) - len(contacts) + len(states.payloads),
            'contact_time': float(sum(event.duration for event in contacts)),
        }
        return summary, sorted(events, key=lambda event: event.begin)

    def _findings(self, residuals: JointResiduals) -> list[str]:
        """Returns sentences about the quality of the bag."""
        found = [advice for advice, _ in self._advice.items()]
        for why, count in self._states.silent.items():
            if count > 0.01 * self._states.messages + 100:
                found.append(f'{count} joint states without an estimate: {why}')
        if self._states.refused:
            found.append(self._states.refusals_told())
        left = _unexplained(residuals)
        if left > UNEXPLAINED:
            found.append(
                f'{left:.0f} % of the efforts are left unexplained: another robot, or efforts '
                'that are no torques; friction is not told'
            )
        return found


def _unexplained(residuals: JointResiduals) -> float:
    """Returns the share of the efforts of all joints that the model does not explain [%]."""
    size = float(np.linalg.norm(residuals.effort_rms))
    return 100.0 * float(np.linalg.norm(residuals.residual_rms)) / max(size, 1e-9)


def _row_of(event: Event) -> dict[str, Any]:
    return {**asdict(event), 'vector': list(event.vector)}
