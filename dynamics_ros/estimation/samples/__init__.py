# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Joint states in time: of which moment they are, which are late, which cannot be meant.

May import ``robot`` and what is below it.
"""
