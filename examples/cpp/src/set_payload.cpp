// Copyright 2026 dynamics_ros developers
// SPDX-License-Identifier: Apache-2.0
// Tells dynamics_node the payload at tool0, as set_payload.py does: set_payload MASS HEIGHT
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "dynamics_ros_msgs/srv/set_payload.hpp"
#include "rclcpp/rclcpp.hpp"

using dynamics_ros_msgs::srv::SetPayload;

int main(int argc, char ** argv)
{
  rclcpp::init(argc, argv);
  auto node = std::make_shared<rclcpp::Node>("set_payload");
  auto client = node->create_client<SetPayload>("dynamics_node/set_payload");
  client->wait_for_service();

  auto request = std::make_shared<SetPayload::Request>();
  request->payload.header.frame_id = "tool0";
  request->payload.inertia.m = argc > 1 ? std::atof(argv[1]) : 0.0;
  request->payload.inertia.com.z = argc > 2 ? std::atof(argv[2]) : 0.0;
  auto answer = client->async_send_request(request);
  if (rclcpp::spin_until_future_complete(node, answer) != rclcpp::FutureReturnCode::SUCCESS) {
    return 1;
  }
  const auto response = answer.get();
  if (response->result.code <= 0) {
    std::fprintf(stderr, "%s\n", response->result.message.c_str());
    return 1;
  }
  rclcpp::shutdown();
}
