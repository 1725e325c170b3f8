# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Exciting motions for identification, and their check for collisions between links."""
