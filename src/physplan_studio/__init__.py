"""The studio: a web page to plan, edit the plan, run and watch."""
