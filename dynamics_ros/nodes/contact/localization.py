# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Location of the current contact on the surface of the robot, computed in a thread."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
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
from dynamics_ros.estimation.contact.geometry import ContactGeometry
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.nodes.app.worker import SupersededError, Worker
from dynamics_ros.nodes.reporting.rate_limits import RateLimit
from dynamics_ros.nodes.reporting.results import FaultLog
from dynamics_ros.nodes.robot.context import RobotContext
from dynamics_ros.parameters.contact import LocationParameters
from dynamics_ros.requests.kernel_twin import KernelTwin
from dynamics_ros.wire.contact_markers import LocatedContact

NO_POINTS = np.zeros((0, 3))

GEOMETRY, LOCATION = 'the collision geometry', 'the place of a contact'
"""Subjects of the worker thread; of each only the newest request is computed."""


class ContactLocalization:
    """Locates the current contact, if its link has a collision geometry."""

    def __init__(
        self, context: RobotContext, settings: Callable[[], LocationParameters], faults: FaultLog
    ) -> None:
        """Start without a geometry.

        Args:
            context: context of the robot.
            settings: returns the current parameters.
            faults: log of unexpected errors.
        """
        self._context = context
        self._settings = settings
        self._faults = faults
        self._worker = Worker('contact_place')
        self._twin = KernelTwin()  # used only in the worker's thread
        self._rate = RateLimit()
        self._locator: ContactLocator | None = None
        self._geometry = ContactGeometry({}, (), 'no collision geometry has been read yet')
        self._geometry_key: tuple[str, float] = ('', 0.0)
        self._searching = False
        self._contact_count = 0
        self._latest: ContactLocation | None = None
        self._status = self._geometry.summary

    @property
    def status(self) -> str:
        """Status of the collision geometry, for diagnostics."""
        return self._status

    def adopt(self, pipeline: ContactPipeline) -> None:
        """Switch to a robot; the thread reads the geometry once for each description."""
        context, settings = self._context, self._settings()
        self._locator = None
        self._reset()
        if not settings.enabled:
            self._status = 'location.enabled is false'
            return
        assert context.built is not None
        key = context.built.request.description, settings.resolution
        noise = pipeline.torque_deviations

        check = partial(self._worker.check_newest, GEOMETRY)

        def make() -> tuple[ContactLocator, ContactGeometry]:
            geometry = self._geometry
            if key != self._geometry_key:
                geometry = ContactGeometry.read(pipeline.robot, *key, check)
            twin = self._twin.of(pipeline.robot)  # has the kernels of every link
            locator = geometry.locator(twin, noise, settings.friction)
            locator.compile(check)
            return locator, geometry

        def on_done(done: Future[tuple[ContactLocator, ContactGeometry]]) -> None:
            error = done.exception()
            if error is not None:
                self._report_failure(error)
                return
            locator, self._geometry = done.result()
            if key != self._geometry_key and self._geometry.problem:
                context.node.get_logger().warning(
                    'contacts are not found on shapes that cannot be read: '
                    + self._geometry.problem
                )
            self._status, self._geometry_key = self._geometry.summary, key
            if context.robot is pipeline.robot:
                self._locator = locator

        self._submit(make, on_done, GEOMETRY)

    def update(self, state: RobotState, external: ExternalTorques) -> None:
        """Start locating the current contact, at the rate of the parameters."""
        if external.report.state is ContactState.NONE:
            if self._latest is not None or self._searching:
                self._reset()
            return
        locator = self._locator
        if locator is None or self._searching:
            return
        if self._rate.passes(time.monotonic(), self._settings().rate):
            self._start_search(locator, state, external)

    @property
    def latest(self) -> ContactLocation | None:
        """Latest location of the current contact, or None."""
        return self._latest

    def is_reliable(self, location: ContactLocation) -> bool:
        """Return whether the deviation of the point is within the parameter ``max_deviation``."""
        return location.known(self._settings().max_deviation)

    @property
    def located(self) -> LocatedContact | None:
        """Latest location with the points of its surface, for markers; None without one."""
        location = self._latest
        if location is None:
            return None
        surface = (
            self._geometry.surfaces[location.link].coarse.points
            if location.point_frame
            else NO_POINTS
        )
        return LocatedContact(location, surface, self.is_reliable(location))

    def _start_search(
        self, locator: ContactLocator, state: RobotState, external: ExternalTorques
    ) -> None:
        contact = self._contact_count
        self._searching = True

        def on_done(done: Future[ContactLocation | None]) -> None:
            error = done.exception()
            if error is not None:
                self._report_failure(error)
            if contact != self._contact_count:
                return  # the contact has ended meanwhile
            self._searching = False
            if error is None:
                self._latest = done.result()

        search = partial(
            locator.locate,
            *(state.q.copy(), external.values.copy(), state.stale_mask.copy(), state.v.copy()),
            None if external.deviation is None else external.deviation.copy(),
        )
        self._submit(search, on_done, LOCATION)

    def _submit(
        self, function: Callable[[], Any], on_done: Callable[[Future[Any]], None], subject: str
    ) -> None:
        assert self._context.executor is not None
        self._worker.submit(self._context.executor, function, subject).add_done_callback(on_done)

    def _reset(self) -> None:
        self._contact_count += 1
        self._searching = False
        self._latest = None

    def _report_failure(self, error: BaseException) -> None:
        if isinstance(error, SupersededError):
            return
        if not isinstance(error, DynamicsRosError):
            self._faults.report('contact_place', error)
        self._status = str(error)
