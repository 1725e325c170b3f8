"""The robot in force: what it is built from, who changes it, and what the jobs on it share."""
