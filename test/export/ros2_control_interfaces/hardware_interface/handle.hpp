// Copyright 2026 dynamics_ros developers
// SPDX-License-Identifier: Apache-2.0
// Stands for the header of ros2_control: as much of it as the generated controller uses.
#pragma once
#include <cmath>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>

namespace hardware_interface
{
struct InterfaceInfo
{
  std::string name, initial_value;
};

struct InterfaceDescription
{
  InterfaceDescription(const std::string &, const InterfaceInfo & given) : info(given) {}
  InterfaceInfo info;
};

// A value that another thread may hold at the moment.
struct Handle
{
  explicit Handle(const InterfaceDescription & description)
  : value(
      description.info.initial_value.empty() ? std::nan("")
                                             : std::atof(description.info.initial_value.c_str()))
  {
  }
  explicit Handle(double initial) : value(initial) {}
  template <class T = double>
  std::optional<T> get_optional() const
  {
    return held ? std::nullopt : std::optional<T>(value);
  }
  bool set_value(double given)
  {
    value = held ? value : given;
    return !held;
  }
  double value;
  bool held = false;
};

struct StateInterface : Handle
{
  using Handle::Handle;
  using SharedPtr = std::shared_ptr<StateInterface>;
};

struct CommandInterface : Handle
{
  using Handle::Handle;
  using SharedPtr = std::shared_ptr<CommandInterface>;
};

struct LoanedStateInterface
{
  Handle * handle;
  template <class T = double>
  std::optional<T> get_optional() const
  {
    return handle->get_optional<T>();
  }
};

struct LoanedCommandInterface
{
  Handle * handle;
  template <class T = double>
  std::optional<T> get_optional() const
  {
    return handle->get_optional<T>();
  }
  bool set_value(double value) { return handle->set_value(value); }
};
}  // namespace hardware_interface
