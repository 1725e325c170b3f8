# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""The demonstration: a simulated robot, the real nodes, and a client that checks their outputs."""
