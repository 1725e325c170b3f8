# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`python -m dynamics_ros.doctor` is `ros2 run dynamics_ros doctor`."""

import sys

from dynamics_ros.tools import doctor

sys.exit(doctor())
