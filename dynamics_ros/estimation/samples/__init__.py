# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Joint states over time: synchronisation, late samples, implausible samples.

May import ``robot`` and what is below it.
"""
