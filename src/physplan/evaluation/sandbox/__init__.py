"""The method measured in the small world, where the truth is known: scenes x methods x seeds."""
