"""Training of the sandbox's networks on rendered clips."""
