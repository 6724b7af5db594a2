"""The commands of this package: `doctor` and `models`, and what they know of licences and downloads."""
