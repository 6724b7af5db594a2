"""Networks of the sandbox: library classes where they exist, trained by `physplan_sandbox.train`."""
