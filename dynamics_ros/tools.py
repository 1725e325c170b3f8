# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Entry points of the command line tools; each imports its tool when it is called."""

from __future__ import annotations

from .command_line import command_line


def analyze_recordings() -> int:
    """Run ``fleet``."""
    with command_line():
        from .fleet.command import main

        return main()


def calibrate_robot() -> int:
    """Run ``calibration``."""
    with command_line():
        from .calibration.command import main

        return main()


def doctor() -> int:
    """Run ``doctor``."""
    with command_line():
        from .doctor.command import main

        return main()


def estimate_bag() -> int:
    """Run ``recordings``."""
    with command_line():
        from .recordings.command import main

        return main()


def export_kernels() -> int:
    """Run ``export``."""
    with command_line():
        from .export.command import main

        return main()


def inspect() -> int:
    """Run ``inspect``."""
    with command_line():
        from .inspect.command import main

        return main()
