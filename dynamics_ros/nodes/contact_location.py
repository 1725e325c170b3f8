# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Location of the current contact on the surface of the robot, computed in a thread."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from rclpy.task import Future

from dynamics_ros.errors import DynamicsRosError
from dynamics_ros.estimation import (
    ContactLocation,
    ContactLocator,
    ContactPipeline,
    ContactState,
    ExternalTorques,
)
from dynamics_ros.estimation.contact.location import (
    LOCATION_RATE,
    ContactGeometry,
    SensorWrench,
)
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.nodes.context import Component
from dynamics_ros.nodes.reporting import RateLimit
from dynamics_ros.nodes.workers import SupersededError
from dynamics_ros.parameters.contact import ContactParameters


class ContactLocalization:
    """Locates the current contact, if its link has a collision geometry.

    Attributes:
        latest: latest location of the current contact, or None.
        status: status of the collision geometry, for diagnostics.
    """

    def __init__(self, component: Component[ContactParameters]) -> None:
        self._component, self._context = component, component.context
        self._worker = ThreadPoolExecutor(1, 'contact_place')
        # Used only in the worker's thread; the geometry is read once for each description.
        self._read: tuple[tuple[str, Path | None], ContactGeometry] | None = None
        self._rate = RateLimit()
        self._wanted: ContactPipeline | None = None
        self._locator: ContactLocator | None = None
        self._geometry = ContactGeometry({}, (), 'no collision geometry has been read yet')
        self._searching = False
        self._contact_count = 0
        self.latest: ContactLocation | None = None
        self.status = self._geometry.summary

    def adopt(self, pipeline: ContactPipeline) -> None:
        """Switch to a robot; the thread reads the geometry once for each description."""
        context = self._context
        self._locator, self._wanted = None, pipeline
        self.reset()
        assert context.built is not None
        description, noise = context.built.description, pipeline.torque_deviations
        if not description.urdf:
            self.status = 'of MJCF and SDF no collision geometry is read: give URDF'
            return
        robot, source = pipeline.robot, (description.urdf, description.folder)

        def check() -> None:
            if self._wanted is not pipeline:
                raise SupersededError('the collision geometry')

        def make() -> tuple[ContactLocator, ContactGeometry]:
            text, folder = source
            check()
            if self._read is None or self._read[0] != source:
                self._read = source, ContactGeometry.read(robot, text, check, folder)
            locator = self._read[1].locator(robot, noise)
            locator.compile(check)
            return locator, self._read[1]

        def on_done(made: tuple[ContactLocator, ContactGeometry] | None) -> None:
            if made is None:
                return
            before, (locator, self._geometry) = self._geometry, made
            if self._geometry is not before and self._geometry.problem:
                context.node.get_logger().warning(
                    'contacts are not found on shapes that cannot be read: '
                    + self._geometry.problem
                )
            self.status = self._geometry.summary
            if context.robot is robot:
                self._locator = locator

        self._submit(make, on_done)

    def update(
        self, state: RobotState, external: ExternalTorques, sensor: SensorWrench | None
    ) -> None:
        """Start locating the current contact, at ``LOCATION_RATE``.

        Args:
            state: the state.
            external: its external torques; NaN where only the sensor shows contacts.
            sensor: what a wrist sensor shows of the contact; None: nothing.
        """
        if external.report.state is ContactState.NONE:
            if self.latest is not None or self._searching:
                self.reset()
            return
        locator, contact = self._locator, self._contact_count
        if locator is None or self._searching:
            return
        if not self._rate.passes(time.monotonic(), LOCATION_RATE):
            return
        self._searching = True
        deviation = None if external.deviation is None else external.deviation.copy()
        unknown = state.stale_mask | np.isnan(external.values)
        torque = np.where(unknown, 0.0, external.values)
        given = state.q.copy(), torque, unknown, deviation, sensor

        def search() -> ContactLocation | None:
            return locator.locate(*given) if contact == self._contact_count else None

        def on_done(found: ContactLocation | None) -> None:
            if contact == self._contact_count:  # else the contact has ended meanwhile
                self._searching, self.latest = False, found or self.latest

        self._submit(search, on_done)

    def reset(self) -> None:
        """Forget the contact."""
        self._contact_count += 1
        self._searching = False
        self.latest = None

    def _submit(self, function: Callable[[], Any], on_done: Callable[[Any], None]) -> None:
        """Call a function in the thread, then ``on_done`` with its result; None after an error."""

        def report(done: Future[Any]) -> None:
            error = done.exception()
            if error is not None and not isinstance(error, SupersededError):
                if not isinstance(error, DynamicsRosError):
                    self._component.faults.report('contact_place', error)
                self.status = str(error)
            on_done(None if error is not None else done.result())

        self._context.threads.submit(self._worker, function).add_done_callback(report)
