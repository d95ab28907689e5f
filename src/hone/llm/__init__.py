"""Asking language models: providers, the ledger of what was answered, prices, limits, batches and transcripts."""
