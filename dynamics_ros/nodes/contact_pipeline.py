"""The estimators of contact_node, built from its parameters and run on one state after another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..errors import InvalidArgumentError, UnknownFrameError
from ..estimation import (
    ContactDetector,
    ContactReport,
    EffortModel,
    MomentumObserver,
    ObserverEvent,
    Tare,
    WrenchEstimate,
    WrenchEstimator,
)
from ..robot import Robot
from .conversions import Array, nanoseconds
from .parameters import ContactParameters
from .part import known_frames
from .state import RobotState

RESTARTS = (ObserverEvent.STARTED, ObserverEvent.CLOCK_JUMP, ObserverEvent.GAP)


@dataclass(frozen=True)
class ExternalTorques:
    """What a state says about external torques.

    Attributes:
        values: (nv) after taring.
        report: whether that is a contact.
    """

    values: Array
    report: ContactReport


class ContactPipeline:
    """Effort, to external torque, to contact state and wrenches.

    Attributes:
        frames: contact frames.
        observer, tare, detector: with their state, which survives a change that does not concern
            them.
    """

    def __init__(self, robot: Robot, values: ContactParameters, default_frame: str) -> None:
        """Build the estimators; ``compile`` comes before their first use.

        Raises:
            InvalidArgumentError, UnknownFrameError: a parameter does not fit the robot.
        """
        self.robot = robot
        self.values = values
        self.frames = known_frames(robot, values.frames, default_frame)
        self._effort = _effort_model(robot, values)
        self.observer = MomentumObserver(
            robot,
            _per_velocity(robot, values.observer.gain, 'observer.gain'),
            max_gap=values.observer.max_gap,
            effort_sampling=values.effort.sampling,
        )
        self._estimator = _wrench_estimator(robot, values, self.frames)
        thresholds = values.thresholds
        self.detector = ContactDetector(
            robot,
            _per_velocity(robot, thresholds.contact, 'thresholds.contact'),
            _per_velocity(robot, thresholds.collision, 'thresholds.collision'),
            debounce=thresholds.debounce,
            release=thresholds.release,
        )
        tare = values.tare
        self.tare = Tare(
            robot.nv,
            window=tare.window,
            max_velocity=tare.max_velocity,
            max_deviation=tare.max_deviation,
        )

    def inherit(self, other: ContactPipeline) -> None:
        """Carry on where another left off, as far as what they estimate is the same."""
        if other.robot.model.joints and other.robot.joint_v_indices != self.robot.joint_v_indices:
            return
        ours, theirs = self.values, other.values
        if (ours.observer, ours.effort.sampling) == (theirs.observer, theirs.effort.sampling):
            self.observer = other.observer
            self.observer.change_robot(self.robot)
        if ours.tare == theirs.tare:
            self.tare = other.tare
            self.tare.restart()
        # Of the same tree only: the detector remembers which link lies behind which joint.
        same_tree = self.robot.body_names == other.robot.body_names
        if same_tree and ours.thresholds == theirs.thresholds:
            self.detector = other.detector

    def update(self, state: RobotState) -> ExternalTorques | None:
        """Take in a state; None while the observer has not settled."""
        stamp = nanoseconds(state.stamp)
        gravity = None if self._effort.includes_gravity else self.robot.gravity(state.q)
        torque = self._effort.joint_torque(state.effort, state.v, gravity)
        raw = self.observer.update(stamp, state.q, state.v, torque)
        if self.observer.event in RESTARTS:
            self.tare.restart()
        if not self.observer.settled:
            return None
        if self.observer.event is not ObserverEvent.DUPLICATE:
            self.tare.add(stamp, raw, state.v)
        values = raw - self.tare.offset
        return ExternalTorques(values, self.detector.update(stamp, values, state.stale_mask))

    def wrenches(self, state: RobotState, external: Array) -> tuple[WrenchEstimate, ...]:
        """The wrench at each contact frame, without the joints that are stale."""
        return self._estimator.estimate(state.q, external, state.stale_mask)

    def reset(self) -> None:
        """Unlatch a collision and start the observer anew; the tare stays."""
        self.observer.reset()
        self.detector.reset()
        self.tare.restart()

    def compile(self) -> None:
        """Have the kernels made."""
        q, zero = self.robot.neutral(), np.zeros(self.robot.nv)
        self.robot.momentum_observer_terms(q, zero)
        self._estimator.estimate(q, zero)
        if not self._effort.includes_gravity:
            self.robot.gravity(q)


def _effort_model(robot: Robot, values: ContactParameters) -> EffortModel:
    effort, friction = values.effort, values.friction
    model = EffortModel.from_robot(
        robot, friction_velocity=friction.velocity, includes_gravity=effort.includes_gravity
    ).with_values(
        scale=_per_velocity(robot, effort.scale, 'effort.scale'),
        offset=_per_velocity(robot, effort.offset, 'effort.offset', base=0.0),
    )
    if friction.viscous:
        viscous = _per_velocity(robot, friction.viscous, 'friction.viscous', base=0.0)
        model = model.with_values(viscous=viscous)
    if friction.coulomb:
        coulomb = _per_velocity(robot, friction.coulomb, 'friction.coulomb', base=0.0)
        model = model.with_values(coulomb=coulomb)
    return model


def _wrench_estimator(
    robot: Robot, values: ContactParameters, frames: Sequence[str]
) -> WrenchEstimator:
    wrench = values.wrench
    points = None
    if wrench.reference_points:
        if len(wrench.reference_points) != 3 * len(frames):
            raise InvalidArgumentError(
                'wrench.reference_points',
                f'{len(wrench.reference_points)} numbers',
                f'{3 * len(frames)}: x y z for each of {len(frames)} frames',
            )
        points = np.reshape(wrench.reference_points, (len(frames), 3))
    if wrench.expressed_in and wrench.expressed_in not in (*robot.frame_names, robot.root_frame):
        raise UnknownFrameError('wrench.expressed_in', wrench.expressed_in, robot.frame_names)
    return WrenchEstimator(
        robot,
        frames,
        effort_noise=_per_velocity(robot, values.effort.noise, 'effort.noise'),
        expressed_in=wrench.expressed_in or None,
        reference_points=points,
        force_only=wrench.force_only,
        length_scale=wrench.length_scale,
        singular_threshold=wrench.singular_threshold,
    )


def _per_velocity(
    robot: Robot, values: tuple[float, ...], name: str, base: float | None = None
) -> Array:
    """(nv) of one value for all joints, or one per joint in the order of joint_names.

    What stands for a moving base, which has no joint, is ``base``, else the first value.
    """
    count = len(robot.joint_names)
    if len(values) == 1:
        values = values * count
    if len(values) != count:
        raise InvalidArgumentError(name, f'{len(values)} values', f'1 or {count}, one per joint')
    result = np.full(robot.nv, values[0] if base is None and values else base or 0.0)
    for joint, value in zip(robot.model.actuated, values, strict=True):
        result[list(joint.v_indices)] = value
    return result
