"""Calls that cost money: stored answers, the ledger and its budget, prices, keys, the providers' clients."""
