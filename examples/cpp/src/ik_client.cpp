// Copyright 2026 dynamics_ros developers
// SPDX-License-Identifier: Apache-2.0
// Asks kinematics_node for the joint positions that lift the tool by 0.1 m, as ik_client.py does.
#include <cstdio>
#include <memory>

#include "dynamics_ros_msgs/srv/compute_inverse_kinematics.hpp"
#include "geometry_msgs/msg/pose_stamped.hpp"
#include "rclcpp/rclcpp.hpp"
#include "rclcpp/wait_for_message.hpp"

using dynamics_ros_msgs::srv::ComputeInverseKinematics;
using geometry_msgs::msg::PoseStamped;

int main(int argc, char ** argv)
{
  rclcpp::init(argc, argv);
  auto node = std::make_shared<rclcpp::Node>("ik_client");
  auto client = node->create_client<ComputeInverseKinematics>(
    "kinematics_node/compute_inverse_kinematics");
  client->wait_for_service();

  PoseStamped target;
  if (!rclcpp::wait_for_message(target, node, "kinematics_node/tool0/pose")) {
    return 1;
  }
  target.pose.position.z += 0.1;

  auto request = std::make_shared<ComputeInverseKinematics::Request>();
  request->frame = "tool0";
  request->target = target;  // an empty seed is the latest joint state
  auto answer = client->async_send_request(request);
  if (rclcpp::spin_until_future_complete(node, answer) != rclcpp::FutureReturnCode::SUCCESS) {
    return 1;
  }
  const auto response = answer.get();
  if (response->result.code <= 0) {
    std::fprintf(stderr, "%s\n", response->result.message.c_str());
    return 1;
  }
  for (size_t i = 0; i < response->solution.name.size(); ++i) {
    std::printf("%s %.3f\n", response->solution.name[i].c_str(), response->solution.position[i]);
  }
  rclcpp::shutdown();
}
