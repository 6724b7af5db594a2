"""The sandbox: a small embedded world, its rules, networks, weights and training."""
