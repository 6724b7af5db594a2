"""Test doubles: loopback servers, tiny models of the real classes, drawn pictures and small plans.

Used by tests, benchmarks and experiments; not part of the wheel.
"""
