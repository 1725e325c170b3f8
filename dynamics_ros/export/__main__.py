# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`python -m dynamics_ros.export` is `ros2 run dynamics_ros export_kernels`."""

import sys

from dynamics_ros.tools import export_kernels

sys.exit(export_kernels())
