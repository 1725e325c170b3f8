# Copyright 2026 dynamics_ros developers
# SPDX-License-Identifier: Apache-2.0
"""Laws of a compliant arm beside its impedance: stop, holding back and reflexes."""
