# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What messages that are filled in place have in common, in bytes or as an object."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .conversions import Array


class MessageTemplate:
    """A message that is filled again and again.

    Attributes:
        numbers: for each field that changes its numbers (n), in the order of the paths; what is
            written there is in the next message.
        stamps: where the stamp of every header in it is to be written, packed as ``cdr.STAMP``.
        packed: what a publisher takes, of stamps and numbers as they are.
    """

    numbers: tuple[Array, ...]
    stamps: Sequence[memoryview]
    packed: Callable[[], Any]

    def message(self, stamp: bytes) -> Any:
        """What a publisher takes, of that stamp and the numbers as they are."""
        for place in self.stamps:
            place[:] = stamp
        return self.packed()
