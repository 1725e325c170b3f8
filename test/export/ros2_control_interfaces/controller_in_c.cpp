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

  void acknowledge()
  {
    acknowledgements_->callback(nullptr, std::make_shared<std_srvs::srv::Trigger::Response>());
  }
};

Open controller;
std::vector<hardware_interface::Handle> states(3 * my_arm::DOF, hardware_interface::Handle(0.0));
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

// Another mode, reaction to collisions and start, which is configured anew.
bool reconfigure(const char * mode, const char * reaction, bool start_from_commands)
{
  auto & parameters = controller.get_node()->parameters;
  parameters["mode"] = std::string(mode);
  parameters["collision.reaction"] = std::string(reaction);
  parameters["start_from_commands"] = start_from_commands;
  return succeeded(controller.on_configure(STATE));
}

// Whether a configuration with one number in place of all of a parameter is accepted; the parameter stays as it was.
bool accepts(const char * name, double value)
{
  auto & parameter = controller.get_node()->parameters.at(name);
  const auto before = parameter;
  if (auto * numbers = std::any_cast<std::vector<double>>(&parameter)) {
    std::fill(numbers->begin(), numbers->end(), value);
  } else {
    parameter = value;
  }
  const bool accepted = succeeded(controller.on_configure(STATE));
  parameter = before;
  return succeeded(controller.on_configure(STATE)) && accepted;
}

int number_of_state_interfaces()
{
  return static_cast<int>(controller.state_interface_configuration().names.size());
}

double told(int i) { return controller.ordered_exported_state_interfaces_[i]->value; }
void acknowledge() { controller.acknowledge(); }

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
void set_effort(int i, double value) { efforts[i].value = value; }
double effort(int i) { return efforts[i].value; }
bool update(double seconds)
{
  return controller.update_and_write_commands(rclcpp::Time{}, rclcpp::Duration{seconds}) ==
         controller_interface::return_type::OK;
}
}
