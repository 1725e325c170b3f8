# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Base class of message templates, as bytes or as message objects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .conversions import Array


class MessageTemplate:
    """Message template: a message in which only stamps and some numbers change.

    Attributes:
        numbers: array (n) of each changing field, in the order of the paths; values written there
            are in the next message.
        stamps: memory of the stamp of each header, to be written as packed by ``cdr.STAMP``.
        packed: returns the argument for the publisher, with the current stamps and numbers.
    """

    numbers: tuple[Array, ...]
    stamps: Sequence[memoryview]
    packed: Callable[[], Any]

    def message(self, stamp: bytes) -> Any:
        """Return the argument for the publisher, with a packed stamp and the current numbers."""
        for place in self.stamps:
            place[:] = stamp
        return self.packed()
