// Copyright 2026 dynamics_ros developers
// SPDX-License-Identifier: Apache-2.0
// Stands for the header of ros2_control: as much of it as the generated controller uses.
#pragma once
#include <any>
#include <functional>
#include <map>
#include <vector>

#include "hardware_interface/handle.hpp"

#define RCLCPP_ERROR(...)
#define RCLCPP_WARN(...)

namespace rclcpp
{
struct Time
{
};

struct Duration
{
  double value;
  double seconds() const { return value; }
};

struct SystemDefaultsQoS
{
};

template <class Message>
struct Subscription
{
  using SharedPtr = std::shared_ptr<Subscription<Message>>;
};

template <class Type>
struct Service
{
  using SharedPtr = std::shared_ptr<Service<Type>>;
  std::function<void(
    const typename Type::Request::SharedPtr, typename Type::Response::SharedPtr)>
    callback;
};

struct Parameter
{
  std::any value;
  std::vector<double> as_double_array() const { return std::any_cast<std::vector<double>>(value); }
  double as_double() const { return std::any_cast<double>(value); }
  bool as_bool() const { return std::any_cast<bool>(value); }
  std::string as_string() const { return std::any_cast<std::string>(value); }
};

struct Node
{
  std::map<std::string, std::any> parameters;
  const char * get_name() const { return "controller"; }
  Parameter get_parameter(const std::string & name) const { return {parameters.at(name)}; }
  bool has_parameter(const std::string & name) const { return parameters.count(name) > 0; }
  template <class Message, class Callback>
  typename Subscription<Message>::SharedPtr create_subscription(
    const std::string &, SystemDefaultsQoS, Callback)
  {
    return nullptr;
  }
  template <class Type, class Callback>
  typename Service<Type>::SharedPtr create_service(const std::string &, Callback callback)
  {
    return std::make_shared<Service<Type>>(Service<Type>{callback});
  }
};
}  // namespace rclcpp

namespace rclcpp_lifecycle
{
struct State
{
};
}  // namespace rclcpp_lifecycle

namespace controller_interface
{
enum class CallbackReturn { SUCCESS, FAILURE, ERROR };
enum class return_type { OK, ERROR };
enum class interface_configuration_type { INDIVIDUAL };

struct InterfaceConfiguration
{
  interface_configuration_type type;
  std::vector<std::string> names;
};

struct ChainableControllerInterface
{
  virtual ~ChainableControllerInterface() = default;
  virtual CallbackReturn on_init() = 0;
  virtual CallbackReturn on_configure(const rclcpp_lifecycle::State &) = 0;
  virtual CallbackReturn on_activate(const rclcpp_lifecycle::State &) = 0;
  virtual CallbackReturn on_deactivate(const rclcpp_lifecycle::State &) = 0;
  virtual InterfaceConfiguration command_interface_configuration() const = 0;
  virtual InterfaceConfiguration state_interface_configuration() const = 0;
  virtual std::vector<hardware_interface::CommandInterface::SharedPtr>
  on_export_reference_interfaces_list() = 0;
  virtual std::vector<hardware_interface::StateInterface::SharedPtr>
  on_export_state_interfaces_list() = 0;
  virtual return_type update_reference_from_subscribers(
    const rclcpp::Time &, const rclcpp::Duration &) = 0;
  virtual return_type update_and_write_commands(
    const rclcpp::Time &, const rclcpp::Duration &) = 0;

  std::shared_ptr<rclcpp::Node> get_node() const { return node; }
  template <class Value>
  void auto_declare(const std::string & name, const Value & value)
  {
    node->parameters[name] = value;
  }

  std::shared_ptr<rclcpp::Node> node = std::make_shared<rclcpp::Node>();
  std::vector<hardware_interface::LoanedStateInterface> state_interfaces_;
  std::vector<hardware_interface::LoanedCommandInterface> command_interfaces_;
  std::vector<hardware_interface::CommandInterface::SharedPtr>
    ordered_exported_reference_interfaces_;
  std::vector<hardware_interface::StateInterface::SharedPtr> ordered_exported_state_interfaces_;
};
}  // namespace controller_interface
