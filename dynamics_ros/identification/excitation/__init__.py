# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Motions that tell the most of a robot, and whether its links keep apart over them."""
