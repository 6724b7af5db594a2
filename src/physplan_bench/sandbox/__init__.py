"""The method measured in the sandbox, against the simulator's ground truth: scenes x methods x seeds."""
