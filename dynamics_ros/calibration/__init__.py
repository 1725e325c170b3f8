# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""calibrate_robot: recordings and a description in; a description, parameters and a report out."""
