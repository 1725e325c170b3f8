# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Where the robot is touched: found in a thread, a few times a second, for as long as it lasts."""

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
"""What the thread works on; of each only the newest."""


class ContactPlace:
    """The place of the contact that is there, if its link has a geometry."""

    def __init__(
        self, context: RobotContext, settings: Callable[[], LocationParameters], faults: FaultLog
    ) -> None:
        """Begin without a geometry.

        Args:
            context: the robot.
            settings: the parameters in force.
            faults: where unforeseen errors go.
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
        """What there is to say about the geometry."""
        return self._status

    def adopt(self, pipeline: ContactPipeline) -> None:
        """Make ready for a robot; the geometry is read in the thread, once per description."""
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
        """Ask for the place of the contact that is there, as often as it is asked for."""
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
        """The latest place of the contact that is there."""
        return self._found

    def known(self, place: ContactLocation) -> bool:
        """Whether the point may be relied on."""
        return place.known(self._settings().max_deviation)

    @property
    def touched(self) -> TouchedPlace | None:
        """The latest place with what is shown of it; None without one."""
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
                return  # of a contact that has ended since
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
