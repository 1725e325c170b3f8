# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Joint states over time: as recorded, for the joints of a robot, at equal steps, filtered."""
