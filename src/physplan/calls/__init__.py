"""Paid API calls: stored answers, ledger and budget, prices, keys, providers."""
