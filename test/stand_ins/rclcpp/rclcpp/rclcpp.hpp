// Copyright 2026 dynamics_ros developers
// SPDX-License-Identifier: Apache-2.0
// What the examples use of rclcpp, with its signatures: a compiler checks them without ROS in C++.
#pragma once
#include <chrono>
#include <cstdio>
#include <functional>
#include <future>
#include <memory>
#include <string>

namespace rclcpp {

enum class FutureReturnCode { SUCCESS, INTERRUPTED, TIMEOUT };

struct Logger {};

struct QoS {
  explicit QoS(std::size_t) {}
  QoS & reliable() {return *this;}
  QoS & transient_local() {return *this;}
};

template<class Message>
struct Publisher {
  void publish(const Message &) {}
};

struct SubscriptionBase {};
struct TimerBase {};

template<class Service>
struct Client {
  using Answer = std::shared_future<std::shared_ptr<typename Service::Response>>;
  bool wait_for_service() {return true;}
  Answer async_send_request(std::shared_ptr<typename Service::Request>) {return {};}
};

class Node {
public:
  explicit Node(const std::string &) {}
  Logger get_logger() {return {};}
  template<class Value>
  Value declare_parameter(const std::string &, const Value & value) {return value;}
  template<class Message>
  std::shared_ptr<Publisher<Message>> create_publisher(const std::string &, const QoS &) {return {};}
  template<class Message>
  std::shared_ptr<SubscriptionBase> create_subscription(
    const std::string &, const QoS &, std::function<void(const Message &)>) {return {};}
  template<class Service>
  std::shared_ptr<Client<Service>> create_client(const std::string &) {return {};}
  template<class Duration>
  std::shared_ptr<TimerBase> create_wall_timer(Duration, std::function<void()>) {return {};}
};

inline void init(int, char **) {}
inline void shutdown() {}
inline void spin(std::shared_ptr<Node>) {}
template<class Answer>
FutureReturnCode spin_until_future_complete(std::shared_ptr<Node>, Answer &)
{
  return FutureReturnCode::SUCCESS;
}

}  // namespace rclcpp

#define RCLCPP_ERROR(logger, ...) ((void)(logger), std::printf(__VA_ARGS__))
