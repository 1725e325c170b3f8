// Copyright 2026 dynamics_ros developers
// SPDX-License-Identifier: Apache-2.0
// The generated impedance controller as functions of C, for a test in Python.
#include "impedance_controller.cpp"

namespace
{
struct Open : my_arm::ImpedanceController
{
  using ImpedanceController::on_export_reference_interfaces_list;
  using ImpedanceController::on_export_state_interfaces_list;
  using ImpedanceController::update_and_write_commands;
};

Open controller;
std::vector<hardware_interface::Handle> states(2 * my_arm::DOF, hardware_interface::Handle(0.0));
std::vector<hardware_interface::Handle> efforts(my_arm::DOF, hardware_interface::Handle(0.0));
const rclcpp_lifecycle::State STATE{};

bool succeeded(controller_interface::CallbackReturn result)
{
  return result == controller_interface::CallbackReturn::SUCCESS;
}
}  // namespace

extern "C" {
bool configure()
{
  controller.ordered_exported_reference_interfaces_ =
    controller.on_export_reference_interfaces_list();
  controller.ordered_exported_state_interfaces_ = controller.on_export_state_interfaces_list();
  for (auto & state : states) {
    controller.state_interfaces_.push_back({&state});
  }
  for (auto & effort : efforts) {
    controller.command_interfaces_.push_back({&effort});
  }
  return succeeded(controller.on_init()) && succeeded(controller.on_configure(STATE));
}

bool activate() { return succeeded(controller.on_activate(STATE)); }
bool deactivate() { return succeeded(controller.on_deactivate(STATE)); }
void set_state(int i, double value) { states[i].value = value; }
void hold_state(int i, bool held) { states[i].held = held; }
void hold_efforts(bool held)
{
  for (auto & effort : efforts) {
    effort.held = held;
  }
}
void set_reference(int i, double value)
{
  controller.ordered_exported_reference_interfaces_[i]->value = value;
}
double reference(int i) { return controller.ordered_exported_reference_interfaces_[i]->value; }
double effort(int i) { return efforts[i].value; }
bool update(double seconds)
{
  return controller.update_and_write_commands(rclcpp::Time{}, rclcpp::Duration{seconds}) ==
         controller_interface::return_type::OK;
}
}
