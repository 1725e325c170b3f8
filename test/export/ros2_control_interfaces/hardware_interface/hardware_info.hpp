// Copyright 2026 dynamics_ros developers
// SPDX-License-Identifier: Apache-2.0
// Stands for the header of ros2_control: as much of it as the generated controller uses.
#pragma once
