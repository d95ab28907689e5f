"""What a ledger's answers cost together."""


def total_cost_usd(ledger):
    return sum(entry.cost_usd for entry in ledger.entries())
