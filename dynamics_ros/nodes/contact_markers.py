"""What RViz draws of contacts: arrows of force and torque, the touched link and place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from builtin_interfaces.msg import Time
from visualization_msgs.msg import MarkerArray

from ..estimation import ContactLocation, ContactState, WrenchEstimate
from . import markers
from .contact_pipeline import ExternalTorques
from .contact_place import ContactPlace
from .conversions import header
from .forms import MessageForm, fill
from .names import FrameNames
from .outputs import Output
from .parameters import ArrowParameters
from .robot_context import RobotContext
from .state import RobotState

COLORS = {
    ContactState.NONE: markers.GREY,
    ContactState.CONTACT: markers.YELLOW,
    ContactState.COLLISION: markers.RED,
}

LABEL_HEIGHT = 4.0
"""Of the text at the touched link, in diameters of an arrow."""


ORIGIN, NOWHERE = (0.0, 0.0, 0.0), np.zeros(3)


class _Drawn(NamedTuple):
    """What markers are made of, but for places and lengths.

    Attributes:
        frames: frame_id of each wrench.
        state, link: of the contact.
        names: of frames.
        settings: the parameters as a whole, which are few and seldom change.
    """

    frames: tuple[str, ...]
    state: ContactState
    link: str
    names: FrameNames
    settings: ArrowParameters


class ContactMarkers:
    """Fills in and publishes the markers."""

    def __init__(
        self,
        output: Output,
        context: RobotContext,
        place: ContactPlace,
        settings: Callable[[], ArrowParameters],
    ) -> None:
        """Draw nothing yet.

        Args:
            output: of the markers.
            context: knows the names of frames.
            place: of the contact.
            settings: sizes in force.
        """
        self._output, self._context, self._place = output, context, place
        self._settings = settings

    def publish(
        self,
        state: RobotState,
        external: ExternalTorques,
        estimates: Sequence[WrenchEstimate],
        place: ContactLocation | None,
    ) -> None:
        """Publish what is drawn of a state."""
        settings = self._settings()
        frames = tuple(self._frame_id(estimate.expressed_in) for estimate in estimates)
        link = place.link if place else external.report.link
        drawn = _Drawn(frames, external.report.state, link, self._context.names, settings)
        paths = [f'markers.{i}.points' for i in range(2 * len(frames))]
        arrows = [
            np.concatenate((start, start + scale * vector))
            for estimate in estimates
            for start in (estimate.reference_point,)
            for scale, vector in (
                (settings.force_scale, estimate.wrench[:3]),
                (settings.torque_scale, estimate.wrench[3:]),
            )
        ]
        if place is None:
            form = self._output.form(drawn, self._message, paths)
            fill(form, arrows)
            self._output.send(form, state.stamp_bytes)
            return
        # The surface of the touched link has many points, seldom twice the same: nothing to keep.
        message = self._message(drawn, place, state.stamp)
        whole = MessageForm(message, paths)
        fill(whole, arrows)
        self._output.publish(whole.message(state.stamp_bytes))

    def _message(
        self, drawn: _Drawn, place: ContactLocation | None = None, stamp: Time | None = None
    ) -> MarkerArray:
        """The markers, arrows still without length."""
        stamp = stamp or Time()
        color, diameter = COLORS[drawn.state], drawn.settings.diameter
        shown = [
            markers.arrow(header(stamp, frame_id), name, i, ORIGIN, NOWHERE, diameter, color)
            for i, frame_id in enumerate(drawn.frames)
            for name in ('force', 'torque')
        ]
        if drawn.link:
            head = header(stamp, self._context.frame_id(drawn.link))
            text = f'{drawn.state.name.lower()}: {drawn.link}'
            shown.append(markers.label(head, 'link', text, LABEL_HEIGHT * diameter, color))
        else:
            shown.append(markers.removed(self._context.root_header(stamp), 'link'))
        shown += self._place.markers(stamp, place, color, drawn.settings.force_scale, diameter)
        return MarkerArray(markers=shown)

    def _frame_id(self, frame: str) -> str:
        context = self._context
        if frame == context.required_robot().root_frame:
            return context.root_frame_id()
        return context.frame_id(frame)
