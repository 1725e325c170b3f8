// Copyright 2026 dynamics_ros developers
// SPDX-License-Identifier: Apache-2.0
// Passes gravity torques to an effort controller, as gravity_torques.py does:
//
//   gravity_torques --ros-args -p joints:=[joint_1, joint_2] -r commands:=effort_controller/commands
#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "rclcpp/rclcpp.hpp"
#include "sensor_msgs/msg/joint_state.hpp"
#include "std_msgs/msg/float64_multi_array.hpp"

using sensor_msgs::msg::JointState;
using std_msgs::msg::Float64MultiArray;
using namespace std::chrono_literals;

int main(int argc, char ** argv)
{
  rclcpp::init(argc, argv);
  auto node = std::make_shared<rclcpp::Node>("gravity_torques");
  const auto joints =
    node->declare_parameter<std::vector<std::string>>("joints", std::vector<std::string>{});
  auto commands = node->create_publisher<Float64MultiArray>("commands", rclcpp::QoS(1));
  auto latest = std::chrono::steady_clock::now();
  auto torques = node->create_subscription<JointState>(
    "dynamics_node/gravity_torques", rclcpp::QoS(1), [&](const JointState & message) {
      Float64MultiArray command;
      for (const auto & joint : joints) {
        const auto place = std::find(message.name.begin(), message.name.end(), joint);
        if (place == message.name.end()) {
          RCLCPP_ERROR(node->get_logger(), "dynamics_node does not know %s", joint.c_str());
          rclcpp::shutdown();
          return;
        }
        command.data.push_back(message.effort.at(place - message.name.begin()));
      }
      latest = std::chrono::steady_clock::now();
      commands->publish(command);
    });
  // The controller keeps the last torques, which hold the arm where it was.
  bool began = false;
  auto watch = node->create_wall_timer(50ms, [&]() {
    const bool fresh = std::chrono::steady_clock::now() - latest < 500ms;
    began = began || fresh;
    if (began && !fresh) {
      RCLCPP_ERROR(node->get_logger(), "no gravity torques for 0.5 s: activate another controller");
      rclcpp::shutdown();
    }
  });
  rclcpp::spin(node);
}
