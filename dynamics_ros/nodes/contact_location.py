# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Location of the current contact on the surface of the robot, computed in a thread."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rclpy.task import Future

from dynamics_ros.errors import DynamicsRosError
from dynamics_ros.estimation import (
    ContactLocation,
    ContactLocator,
    ContactPipeline,
    ContactState,
    ExternalTorques,
)
from dynamics_ros.estimation.contact.geometry import LOCATION_RATE, ContactGeometry
from dynamics_ros.estimation.samples.robot_state import RobotState
from dynamics_ros.nodes.context import RobotComponent
from dynamics_ros.nodes.reporting import RateLimit
from dynamics_ros.nodes.workers import RobotCopy, SupersededError, Worker
from dynamics_ros.parameters.contact import ContactParameters
from dynamics_ros.robot import Robot
from dynamics_ros.wire.contact_markers import LocatedContact


class LocatorMaker:
    """Makes locators of contacts; reads the collision geometry once for each description.

    All calls must come from the same thread.
    """

    def __init__(self) -> None:
        self._copy = RobotCopy()
        self._source: tuple[str, Path | None] = ('', None)
        self._geometry = ContactGeometry({}, (), '')

    def make(
        self,
        robot: Robot,
        noise: NDArray[np.float64],
        source: tuple[str, Path | None],
        check: Callable[[], None],
    ) -> tuple[ContactLocator, ContactGeometry, bool]:
        """Return a compiled locator, the geometry, and whether the geometry has been read now.

        Args:
            robot: the current robot.
            noise: standard deviations of external torques (nv) [Nm or N].
            source: URDF as XML text, and the folder of relative mesh paths.
            check: called between two links; raises to cancel.

        Raises:
            DynamicsRosError: the geometry cannot be read.
        """
        is_new = source != self._source
        if is_new:
            text, folder = source
            self._geometry = ContactGeometry.read(robot, text, check, folder)
            self._source = source
        copied = self._copy.of(robot)  # has the kernels of every link
        locator = self._geometry.locator(copied, noise)
        locator.compile(check)
        return locator, self._geometry, is_new


NO_POINTS = np.zeros((0, 3))

GEOMETRY, LOCATION = 'the collision geometry', 'the place of a contact'
"""Subjects of the worker thread; of each only the newest request is computed."""


class ContactLocalization:
    """Locates the current contact, if its link has a collision geometry.

    Attributes:
        latest: latest location of the current contact, or None.
        status: status of the collision geometry, for diagnostics.
    """

    def __init__(self, component: RobotComponent[ContactParameters]) -> None:
        self._component, self._context = component, component.context
        self._worker = Worker('contact_place')
        self._maker = LocatorMaker()  # used only in the worker's thread
        self._rate = RateLimit()
        self._locator: ContactLocator | None = None
        self._geometry = ContactGeometry({}, (), 'no collision geometry has been read yet')
        self._searching = False
        self._contact_count = 0
        self.latest: ContactLocation | None = None
        self.status = self._geometry.summary

    def adopt(self, pipeline: ContactPipeline) -> None:
        """Switch to a robot; the thread reads the geometry once for each description."""
        context = self._context
        self._locator = None
        self.reset()
        if not self._component.values.location.enabled:
            self.status = 'location.enabled is false'
            return
        assert context.built is not None
        check = partial(self._worker.check_newest, GEOMETRY)
        description, noise = context.built.description, pipeline.torque_deviations
        if not description.urdf:
            self.status = 'of MJCF and SDF no collision geometry is read: give URDF'
            return
        source = description.urdf, description.folder
        make = partial(self._maker.make, pipeline.robot, noise, source, check)

        def on_done(done: Future[tuple[ContactLocator, ContactGeometry, bool]]) -> None:
            error = done.exception()
            if error is not None:
                self._report_failure(error)
                return
            locator, self._geometry, is_new = done.result()
            if is_new and self._geometry.problem:
                context.node.get_logger().warning(
                    'contacts are not found on shapes that cannot be read: '
                    + self._geometry.problem
                )
            self.status = self._geometry.summary
            if context.robot is pipeline.robot:
                self._locator = locator

        context.submit(self._worker, make, GEOMETRY).add_done_callback(on_done)

    def update(self, state: RobotState, external: ExternalTorques) -> None:
        """Start locating the current contact, at the rate of the parameters."""
        if external.report.state is ContactState.NONE:
            if self.latest is not None or self._searching:
                self.reset()
            return
        locator = self._locator
        if locator is None or self._searching:
            return
        if self._rate.passes(time.monotonic(), LOCATION_RATE):
            self._start_search(locator, state, external)

    def is_reliable(self, location: ContactLocation) -> bool:
        """Return whether link and point of a location are known."""
        return location.known

    @property
    def located(self) -> LocatedContact | None:
        """Latest location with the points of its surface, for markers; None without one."""
        location = self.latest
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
                self.latest = done.result()

        search = partial(
            locator.locate,
            *(state.q.copy(), external.values.copy(), state.stale_mask.copy(), state.v.copy()),
            None if external.deviation is None else external.deviation.copy(),
        )
        self._context.submit(self._worker, search, LOCATION).add_done_callback(on_done)

    def reset(self) -> None:
        """Forget the contact."""
        self._contact_count += 1
        self._searching = False
        self.latest = None

    def _report_failure(self, error: BaseException) -> None:
        if isinstance(error, SupersededError):
            return
        if not isinstance(error, DynamicsRosError):
            self._component.faults.report('contact_place', error)
        self.status = str(error)
