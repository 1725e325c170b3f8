# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`python -m dynamics_ros.inspect` is `ros2 run dynamics_ros inspect`."""

import sys

from dynamics_ros.tools import inspect

sys.exit(inspect())
