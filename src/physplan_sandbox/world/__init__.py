"""The simulated world: phenomena, their physics, and how they are painted."""
