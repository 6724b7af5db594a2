"""The studio: a page on which one sees the plan, changes it, and watches it happen."""
