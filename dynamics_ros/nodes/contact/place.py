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
from dynamics_ros.wire.contact_markers import TouchedPlace

NONE = np.zeros((0, 3))

GEOMETRY, PLACE = 'the collision geometry', 'the place of a contact'
"""Subjects of the worker thread; of each only the newest request is computed."""


class ContactPlace:
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
        self._twin = KernelTwin()  # of the worker's thread
        self._rate = RateLimit()
        self._locator: ContactLocator | None = None
        self._geometry = ContactGeometry({}, (), 'no collision geometry has been read yet')
        self._made_of: tuple[str, float] = ('', 0.0)
        self._pending = False
        self._contact = 0
        self._found: ContactLocation | None = None
        self._status = self._geometry.told

    @property
    def status(self) -> str:
        """Status of the collision geometry, for diagnostics."""
        return self._status

    def adopt(self, pipeline: ContactPipeline) -> None:
        """Switch to a robot; the thread reads the geometry once for each description."""
        context, settings = self._context, self._settings()
        self._locator = None
        self._end()
        if not settings.enabled:
            self._status = 'location.enabled is false'
            return
        assert context.built is not None
        made_of = context.built.request.description, settings.resolution
        noise = pipeline.torque_deviations

        check = partial(self._worker.check_newest, GEOMETRY)

        def make() -> tuple[ContactLocator, ContactGeometry]:
            geometry = self._geometry
            if made_of != self._made_of:
                geometry = ContactGeometry.read(pipeline.robot, *made_of, check)
            twin = self._twin.of(pipeline.robot)  # for every link it has kernels
            locator = geometry.locator(twin, noise, settings.friction)
            locator.compile(check)
            return locator, geometry

        def take(done: Future[tuple[ContactLocator, ContactGeometry]]) -> None:
            error = done.exception()
            if error is not None:
                self._failed(error)
                return
            locator, self._geometry = done.result()
            if made_of != self._made_of and self._geometry.problem:
                context.node.get_logger().warning(
                    'contacts are not found on shapes that cannot be read: '
                    + self._geometry.problem
                )
            self._status, self._made_of = self._geometry.told, made_of
            if context.robot is pipeline.robot:
                self._locator = locator

        self._submit(make, take, GEOMETRY)

    def update(self, state: RobotState, external: ExternalTorques) -> None:
        """Start locating the current contact, at the rate of the parameters."""
        if external.report.state is ContactState.NONE:
            if self._found is not None or self._pending:
                self._end()
            return
        locator = self._locator
        if locator is None or self._pending:
            return
        if self._rate.passes(time.monotonic(), self._settings().rate):
            self._ask(locator, state, external)

    @property
    def latest(self) -> ContactLocation | None:
        """Latest location of the current contact, or None."""
        return self._found

    def known(self, place: ContactLocation) -> bool:
        """Return whether the deviation of the point is within the parameter ``max_deviation``."""
        return place.known(self._settings().max_deviation)

    @property
    def touched(self) -> TouchedPlace | None:
        """Latest location with the points of its surface, for markers; None without one."""
        place = self._found
        if place is None:
            return None
        surface = self._geometry.surfaces[place.link].coarse.points if place.point_frame else NONE
        return TouchedPlace(place, surface, self.known(place))

    def _ask(self, locator: ContactLocator, state: RobotState, external: ExternalTorques) -> None:
        contact = self._contact
        self._pending = True

        def take(done: Future[ContactLocation | None]) -> None:
            error = done.exception()
            if error is not None:
                self._failed(error)
            if contact != self._contact:
                return  # the contact has ended meanwhile
            self._pending = False
            if error is None:
                self._found = done.result()

        find = partial(
            locator.locate,
            *(state.q.copy(), external.values.copy(), state.stale_mask.copy(), state.v.copy()),
            None if external.deviation is None else external.deviation.copy(),
        )
        self._submit(find, take, PLACE)

    def _submit(
        self, function: Callable[[], Any], take: Callable[[Future[Any]], None], subject: str
    ) -> None:
        assert self._context.executor is not None
        self._worker.submit(self._context.executor, function, subject).add_done_callback(take)

    def _end(self) -> None:
        self._contact += 1
        self._pending = False
        self._found = None

    def _failed(self, error: BaseException) -> None:
        if isinstance(error, SupersededError):
            return
        if not isinstance(error, DynamicsRosError):
            self._faults.report('contact_place', error)
        self._status = str(error)
