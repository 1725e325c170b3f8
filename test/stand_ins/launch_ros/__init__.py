# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What the launch files use of the package launch_ros, where it is not installed."""
