"""The commands of this package: `evaluate`, `batch`, `study`, `accept`."""
