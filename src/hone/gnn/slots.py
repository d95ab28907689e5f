"""How many batches are prepared ahead; apart from the sampler, because the workflow asks before anything is loaded."""

LEAST_AHEAD = 2
"""Slots beside one for each thread, at least: one that the training loop reads, one that waits for it."""


def slots_for(threads: int) -> int:
    """As many again as threads: batches come in order, and a slow one holds up who has no slot to go on in."""
    return threads + max(LEAST_AHEAD, threads)
