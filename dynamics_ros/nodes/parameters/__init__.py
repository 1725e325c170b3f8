# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Declaration and checks of parameters, and detection of unknown ones.

May import ``nodes`` and what is below it.
"""
