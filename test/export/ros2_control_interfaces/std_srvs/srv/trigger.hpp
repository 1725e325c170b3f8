// Copyright 2026 dynamics_ros developers
// SPDX-License-Identifier: Apache-2.0
// Stands for the header of std_srvs: as much of it as the generated controller uses.
#pragma once
#include <memory>
#include <string>

namespace std_srvs::srv
{
struct Trigger
{
  struct Request
  {
    using SharedPtr = std::shared_ptr<Request>;
  };
  struct Response
  {
    using SharedPtr = std::shared_ptr<Response>;
    bool success = false;
    std::string message;
  };
};
}  // namespace std_srvs::srv
