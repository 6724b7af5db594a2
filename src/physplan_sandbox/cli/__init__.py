"""The commands of this package: `demo` and `sample`."""
