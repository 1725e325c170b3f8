# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Common parts of the launch files. Only ``actions`` needs the packages launch and launch_ros."""
