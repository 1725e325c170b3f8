"""Joint states and odometry as they come in: subscription, backlog, merging by name."""
