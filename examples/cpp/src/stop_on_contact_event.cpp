// Copyright 2026 dynamics_ros developers
// SPDX-License-Identifier: Apache-2.0
// Pauses cartesian_servo_node at a contact, as stop_on_contact_event.py does.
#include <cstdio>
#include <memory>

#include "dynamics_ros_msgs/msg/contact_state.hpp"
#include "rclcpp/rclcpp.hpp"
#include "std_srvs/srv/set_bool.hpp"

using dynamics_ros_msgs::msg::ContactState;
using std_srvs::srv::SetBool;

int main(int argc, char ** argv)
{
  rclcpp::init(argc, argv);
  auto node = std::make_shared<rclcpp::Node>("stop_on_contact_event");
  auto servo = node->create_client<SetBool>("cartesian_servo_node/pause");
  servo->wait_for_service();
  // Latched: the state at the start arrives at once, later ones only when they change.
  auto events = node->create_subscription<ContactState>(
    "contact_node/contact_events", rclcpp::QoS(10).reliable().transient_local(),
    [&](const ContactState & event) {
      if (event.state == ContactState::NONE) {
        return;
      }
      auto request = std::make_shared<SetBool::Request>();
      request->data = true;
      servo->async_send_request(request);
      std::printf("contact at %s: the servo is paused\n", event.link.c_str());
      std::fflush(stdout);
    });
  rclcpp::spin(node);
}
