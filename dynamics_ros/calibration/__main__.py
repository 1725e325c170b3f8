# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Runs calibrate_robot as ``python -m dynamics_ros.calibration``."""

import sys

from dynamics_ros.command_line import command_line

if __name__ == '__main__':
    with command_line():
        from .command import main

        sys.exit(main())
