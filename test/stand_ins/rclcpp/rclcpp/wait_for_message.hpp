// Copyright 2026 dynamics_ros developers
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "rclcpp/rclcpp.hpp"

namespace rclcpp {

template<class Message>
bool wait_for_message(Message &, std::shared_ptr<Node>, const std::string &) {return true;}

}  // namespace rclcpp
