# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Benchmarks of accuracy and speed, with peer libraries in the same run."""
