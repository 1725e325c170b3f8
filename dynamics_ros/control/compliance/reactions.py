# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Reflexes of a compliant arm to a collision ([DeLuca2006], [Haddadin2017]), each a small law.

A reflex turns the external torques r that a contact observer tells into motor torques beside those
that carry the arm. All of them go through ``CompliantArm``, so that limits of torque and of its
rate, ranges of joints and the energy tank hold as in any other motion.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from dynamics_ros.errors import InvalidArgumentError
from dynamics_ros.multibody.arguments import check_not_negative, check_positive
from dynamics_ros.multibody.linear_systems import Array

from .compliant_arm import CompliantArm

STRATEGIES = ('stop', 'float', 'torque_reflex', 'admittance_reflex', 'retract')
"""Stop: brake. Float: be without weight. Torque reflex: flee with torques along the external ones.
Admittance reflex: flee with velocities along them. Retract: go back the way the tool came."""

SPACING = 0.005
"""m, or entries of a rotation matrix: poses of a trail are at least this far apart."""

MOST_POSES = 400
"""Poses that a trail remembers, 2 m of it at least."""

LOOK_AHEAD = 0.03
"""m from the setpoint to the pose of a trail that it is drawn to: less goes by fits and starts."""

VELOCITY_RATE = 50.0
"""1/s with which an admittance reflex reaches its velocity."""


@dataclass(frozen=True)
class ReactionSettings:
    """How an arm reacts to a collision.

    Attributes:
        strategy: one of ``STRATEGIES``.
        duration: longest time of a reflex [s]; inf only where the strategy is float.
        torque_gain: of a torque reflex: motor torque per external torque.
        admittance: of an admittance reflex: joint velocity per external torque [rad/s/Nm, m/s/N].
        speed: largest joint velocity that both of these drive to [rad/s or m/s].
        damping: rate at which motion decays in a float and a torque reflex [1/s].
        distance: along the trail of the tool that it retracts [m].
    """

    strategy: str = 'stop'
    duration: float = 0.5
    torque_gain: float = 2.0
    admittance: float = 0.05
    speed: float = 0.5
    damping: float = 5.0
    distance: float = 0.1

    def __post_init__(self) -> None:
        if self.strategy not in STRATEGIES:
            expected = f'one of {", ".join(STRATEGIES)}'
            raise InvalidArgumentError('strategy', repr(self.strategy), expected)
        if not self.duration > 0.0:
            raise InvalidArgumentError('duration', f'{self.duration}', 'more than 0 s')
        if np.isinf(self.duration) and self.strategy != 'float':
            raise InvalidArgumentError('duration', 'inf', f'a finite time of {self.strategy}')
        check_not_negative('torque_gain', self.torque_gain)
        check_not_negative('admittance', self.admittance)
        check_not_negative('damping', self.damping)
        check_positive('speed', self.speed)
        check_positive('distance', self.distance)


class Trail:
    """Where a tool has come from, as poses in the root frame."""

    def __init__(self) -> None:
        self._poses: list[Array] = []

    def note(self, pose: Array) -> None:
        """Remember a pose (4, 4) that is off the last one."""
        if self._poses and np.abs(pose - self._poses[-1]).max() < SPACING:
            return
        self._poses.append(pose)
        if len(self._poses) > 2 * MOST_POSES:
            del self._poses[:-MOST_POSES]

    def forget(self) -> None:
        """Begin anew."""
        self._poses.clear()

    def back(self, distance: float) -> list[Array]:
        """Poses (4, 4) on the way back, the nearest first, as far as a distance [m] along it."""
        way: list[Array] = []
        gone = 0.0
        for pose in reversed(self._poses):
            if way:
                gone += float(np.linalg.norm(pose[:3, 3] - way[-1][:3, 3]))
            way.append(pose)
            if gone >= distance:
                break
        return way


class Reaction:
    """The reflex to one collision, from sample to sample; when it is ``over`` the arm is to brake.

    Attributes:
        over: whether the reflex has ended; that of stop has from the first.
    """

    def __init__(self, settings: ReactionSettings, arm: CompliantArm, trail: Trail) -> None:
        """React.

        Args:
            settings: how.
            arm: that has collided, started; its setpoint comes to where the tool is.
            trail: of its tool.
        """
        self.settings = settings
        self.over = settings.strategy == 'stop'
        self._arm = arm
        self._elapsed = 0.0
        self._way = trail.back(settings.distance)
        arm.stay()

    def step(self, q: Array, v: Array, dt: float, external: Array) -> Array:
        """Go on for one sample.

        Args:
            q, v, dt: as of ``CompliantArm.approach``.
            external: (nv) torques of the environment on the robot, as an observer tells [Nm].

        Returns:
            Torques (nv).
        """
        self._elapsed += dt
        self.over = self.over or self._elapsed > self.settings.duration
        if self.over:
            return self._arm.brake(q, v, dt)
        return LAWS[self.settings.strategy](self, q, v, dt, external)

    def _float(self, q: Array, v: Array, dt: float, external: Array) -> Array:
        return self._flee(q, v, dt, self.settings.damping)

    def _torque_reflex(self, q: Array, v: Array, dt: float, external: Array) -> Array:
        """tau = g + K r: the links seem lighter to what has been hit, by a factor of 1 + K.

        K of a joint fades as it comes to its largest speed.
        """
        settings = self.settings
        share = np.clip(1.0 - v * np.sign(external) / settings.speed, 0.0, 1.0)
        pushed = settings.torque_gain * share * external
        return self._flee(q, v, dt, settings.damping, torque=pushed)

    def _admittance_reflex(self, q: Array, v: Array, dt: float, external: Array) -> Array:
        """v* = A r, reached by torques M (v* - v) times a rate."""
        settings = self.settings
        wanted = settings.admittance * external
        # All joints by one factor, so that the direction stays.
        wanted *= min(1.0, settings.speed / max(float(np.abs(wanted).max(initial=0.0)), 1e-9))
        return self._flee(q, v, dt, VELOCITY_RATE, wanted)

    def _flee(
        self,
        q: Array,
        v: Array,
        dt: float,
        rate: float,
        wanted: Array | float = 0.0,
        torque: Array | float = 0.0,
    ) -> Array:
        """Velocities that come to what is wanted at a rate [1/s], and torques beside that."""
        M = self._arm.controller.robot.mass_matrix(q)
        return self._arm.give_way(q, v, dt, rate * (M @ (wanted - v)) + torque)

    def _retract(self, q: Array, v: Array, dt: float, external: Array) -> Array:
        way, setpoint = self._way, self._arm.setpoint
        while len(way) > 1 and np.linalg.norm(way[0][:3, 3] - setpoint.pose[:3, 3]) < LOOK_AHEAD:
            way.pop(0)
        tau = self._arm.approach(q, v, dt, way[0] if way else None)
        arrived = not way or np.abs(setpoint.pose - way[-1]).max() < SPACING
        self.over = arrived and not setpoint.twist.any()
        return tau


LAWS: dict[str, Callable[[Reaction, Array, Array, float, Array], Array]] = {
    'float': Reaction._float,
    'torque_reflex': Reaction._torque_reflex,
    'admittance_reflex': Reaction._admittance_reflex,
    'retract': Reaction._retract,
}
