# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""`python -m dynamics_ros.demo` is ``scripts/demo``."""

import sys

from dynamics_ros.tools import run

sys.exit(run('demo'))
