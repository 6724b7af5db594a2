"""The small world's models: real library classes where they exist, trained by `physplan.sandbox.train`."""
