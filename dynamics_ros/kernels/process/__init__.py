# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""What compiled code shares with processes: forks, lifetimes, the compiler's queue, files on disk.

Imports nothing of ours.
"""
