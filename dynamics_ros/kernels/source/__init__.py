# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Source text of traces in Python and C.

May import ``kernels.graph``.
"""
