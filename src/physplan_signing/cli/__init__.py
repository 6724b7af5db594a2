"""The commands of this package: `verify-origin` and `test-certificate`."""
