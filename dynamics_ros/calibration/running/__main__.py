# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Runs the executable calibrate_robot as ``python -m dynamics_ros.calibration.running``."""

import sys

from .command import main

if __name__ == '__main__':
    sys.exit(main())
