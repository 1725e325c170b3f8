# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Parameters as a node declares and checks them, and those that it does not have.

May import ``nodes`` and what is below it.
"""
