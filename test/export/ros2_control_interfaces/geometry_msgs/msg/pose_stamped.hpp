// Copyright 2026 dynamics_ros developers
// SPDX-License-Identifier: Apache-2.0
// Stands for the header of ros2_control: as much of it as the generated controller uses.
#pragma once
#include <string>

namespace geometry_msgs::msg
{
struct PoseStamped
{
  struct
  {
    std::string frame_id;
  } header;
  struct
  {
    struct
    {
      double x, y, z;
    } position;
    struct
    {
      double x, y, z, w;
    } orientation;
  } pose;
};
}  // namespace geometry_msgs::msg
