# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Analysis of bags: of one in one pass with bounded memory, and of many on several processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    Executor,
    Future,
    ProcessPoolExecutor,
    as_completed,
    wait,
)
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache, reduce
from pathlib import Path
from typing import Any

import numpy as np

from dynamics_ros.errors import DynamicsRosError
from dynamics_ros.identification.joint_states.joint_matching import match_joints, standing_still
from dynamics_ros.parameters.contact import ContactParameters
from dynamics_ros.parameters.robot import RobotParameters
from dynamics_ros.reasons import Counts
from dynamics_ros.recordings.bag import JOINT_STATE, Recording, RecordingError
from dynamics_ros.recordings.command import interrupted_by_signals
from dynamics_ros.recordings.settings import EstimationSettings
from dynamics_ros.recordings.states import (
    ODOMETRY,
    PAYLOAD,
    EstimatedStates,
    EstimatorFactory,
    Topics,
    batches,
    busiest_joint_states,
    recorded_description,
    recorded_joints,
    topic_of,
)
from dynamics_ros.settings import NUMBERS, declared, replaced

from .contacts import ContactEvents
from .results import (
    EVENTS,
    SUMMARY,
    Bag,
    place,
    write_rows,
)
from .statistics import ClockWatch, JointResiduals, ResidualSums

OK, FAILED = 'ok', 'failed'

UNEXPLAINED = 60.0
"""Share of unexplained efforts above which the model is of another robot or the efforts are no
torques [%]."""

MAX_PROBLEM_LENGTH = 160
"""Maximum length of the message about unreadable shapes [characters]."""

NO_COMPLETE_STATE = 'no joint state contains all joints of the robot'

FRICTION = ('viscous', 'coulomb', 'friction', 'friction_deviation')
"""Columns that are unknown if too much of the efforts is unexplained."""


@dataclass(frozen=True)
class Task:
    """Settings of a run, the same for all bags.

    Attributes:
        output: folder of the results.
        description: URDF of all robots; '' uses the description in each bag.
        settings: settings of the estimators.
        topic: topic of the joint states; None selects the one with most messages.
        free_motion: nothing has touched the robots, so that all detected contacts are false.
    """

    output: Path
    description: str = ''
    settings: EstimationSettings = field(default_factory=EstimationSettings)
    topic: str | None = None
    free_motion: bool = False


Analyze = Callable[[Task, Bag], dict[str, Any]]


def analyze(task: Task, bag: Bag) -> dict[str, Any]:
    """Analyzes a bag, writes its rows and returns its summary.

    If reading or writing fails, the summary has the status 'failed' and a reason.
    """
    try:
        summary, events = _analyzed(task, bag)
        write_rows(task.output, EVENTS, bag, events)
    except Exception as error:  # one bad bag must not stop the run
        expected = isinstance(error, DynamicsRosError | OSError | ValueError | ArithmeticError)
        summary = _failed(bag, (expected and str(error)) or repr(error))
        with suppress(OSError):
            # Remove events of an earlier run.
            place(task.output, EVENTS, bag).unlink(missing_ok=True)
    try:
        write_rows(task.output, SUMMARY, bag, [summary])
    except OSError as error:
        summary = _failed(bag, str(error))
    return {'robot': bag.robot, 'bag': bag.name, **summary}


def _failed(bag: Bag, reason: str) -> dict[str, Any]:
    """Returns the summary of a bag that could not be analyzed."""
    return {'path': str(bag.path), 'status': FAILED, 'reason': reason}


def analyze_all(
    task: Task,
    bags: Sequence[Bag],
    jobs: int = -1,
    executor: Executor | None = None,
    analyze_one: Analyze = analyze,
) -> Iterator[dict[str, Any]]:
    """Yields the summaries of bags as they finish; the result of a bag depends on that bag only.

    Args:
        task: settings of the run.
        bags: the bags.
        jobs: number of processes on this machine; -1 for one per core.
        executor: executor that is used instead, such as of a cluster.
        analyze_one: function that analyzes a bag.
    """
    if executor is not None:
        futures = {executor.submit(analyze_one, task, bag): bag for bag in bags}
        for future in as_completed(futures):
            yield _summary(future, futures[future])
        return
    jobs = min(jobs if jobs > 0 else os.cpu_count() or 1, len(bags))
    if jobs < 2:
        yield from (analyze_one(task, bag) for bag in bags)
        return
    waiting = deque(bags)
    while waiting:
        running: dict[Future[dict[str, Any]], Bag] = {}
        with _pool(jobs) as pool, suppress(BrokenProcessPool):
            while waiting or running:
                # No more than can run, so that a worker that dies had one of these.
                while waiting and len(running) < jobs:
                    future = pool.submit(_in_worker, task, waiting[0], analyze_one)
                    running[future] = waiting.popleft()
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    if isinstance(future.exception(), BrokenProcessPool):
                        raise BrokenProcessPool
                    yield _summary(future, running.pop(future))
        # One of these bags ended its worker: each is repeated alone.
        for bag in running.values():
            with _pool(1) as pool:
                future = pool.submit(_in_worker, task, bag, analyze_one)
                wait([future])
            yield _summary(future, bag)


@contextmanager
def _pool(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Context with worker processes, which are ended on any error, such as an interruption."""
    before = set(multiprocessing.active_children())
    initializer = signal.signal, (signal.SIGINT, signal.SIG_DFL)
    with ProcessPoolExecutor(jobs, multiprocessing.get_context('spawn'), *initializer) as pool:
        try:
            yield pool
        except BaseException:
            for worker in set(multiprocessing.active_children()) - before:
                worker.terminate()
            raise


def _in_worker(task: Task, bag: Bag, analyze_one: Analyze) -> dict[str, Any]:
    """Analyzes a bag in a worker, which removes incomplete files if a signal ends it."""
    with interrupted_by_signals():
        return analyze_one(task, bag)


def _summary(future: Future[dict[str, Any]], bag: Bag) -> dict[str, Any]:
    error = future.exception()
    if error is None:
        return future.result()
    reason = f'its worker died twice ({type(error).__name__}): out of memory, or killed'
    return {'robot': bag.robot, 'bag': bag.name, **_failed(bag, reason)}


def _analyzed(task: Task, bag: Bag) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Returns the rows of the summary and of the events of a bag.

    Raises:
        RecordingError: no state could be estimated.
    """
    with Recording(bag.path) as recording:
        joint_states = (
            busiest_joint_states(recording)
            if task.topic is None
            else topic_of(recording, JOINT_STATE, task.topic)
        )
        text = task.description or recorded_description(recording, joint_states)
        factory, names, assumed = matched(
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
        read = batches(recording.messages(topics.all()), joint_states)
        sums = ResidualSums(first.pipeline)
        contacts = ContactEvents(first)
        advice = Counts()
        for block in states.blocks(clock.watched(read)):
            pipeline = block.estimators.pipeline
            contacts.add(block.estimates, block.estimators)
            report = pipeline.effort_check.report
            if report is not None and report.advice:
                advice.add(report.advice, 1)
            sums.add(block.estimates, pipeline)
    if not sums.count:
        raise RecordingError(f'nothing can be estimated: {_why_nothing(states)}')
    residuals, timing = sums.result(), clock.columns()
    events = contacts.rows(states.estimators, sums, residuals, timing['duration'])
    for event in events:
        event['false_contact'] |= task.free_motion
    if factory.geometry_problem and events:
        problem = factory.geometry_problem.partition(': not found')[0][:MAX_PROBLEM_LENGTH]
        assumed.append(f'contacts on links without shapes are not located: {problem}')
    columns = residuals._asdict()
    del columns['unknowns']
    if residuals.percent > UNEXPLAINED:
        columns |= dict.fromkeys(FRICTION, np.full(len(residuals.friction), np.nan))
    pipeline = first.pipeline
    summary = {
        'path': str(bag.path),
        'model': factory.robot.name,
        'status': OK,
        'reason': '',
        **timing,
        'messages': states.messages,
        'refused': states.refused,
        'estimates': sums.count,
        'findings': assumed + _findings(states, advice, residuals),
        'joints': list(pipeline.joint_names),
        **{name: values[pipeline.joint_indices].tolist() for name, values in columns.items()},
        'contacts': len(events),
        'false_contacts': sum(event['false_contact'] for event in events),
    }
    return summary, events


def matched(
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
    """Returns the estimator factory, cached because compiling takes longer than a short bag."""
    return EstimatorFactory(text, robot, contact)


def _why_nothing(states: EstimatedStates) -> str:
    """Returns the reasons why no state could be estimated."""
    missing = states.estimators.buffer.missing()
    reasons = [f'{NO_COMPLETE_STATE}: {", ".join(missing)} missing'] if missing else []
    return '; '.join([*reasons, *(reason for reason, _ in states.silent.items())]) or 'too short'


def _findings(states: EstimatedStates, advice: Counts, residuals: JointResiduals) -> list[str]:
    """Returns sentences about the quality of a bag."""
    found = [sentence for sentence, _ in advice.items()]
    for why, count in states.silent.items():
        if count > 0.01 * states.messages + 100:
            found.append(f'{count} joint states without an estimate: {why}')
    if states.refused:
        found.append(states.refusals_told())
    if residuals.percent > UNEXPLAINED:
        found.append(
            f'{residuals.percent:.0f} % of the efforts are unexplained: another robot, or efforts '
            'that are no torques; friction is not reported'
        )
    return found
