"""What cpp/random.h and cpp/choose.h say they do, with Python's integers: slow, and written apart from them."""

MASK = (1 << 64) - 1
GOLDEN = 0x9E3779B97F4A7C15


def mix(x):
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & MASK
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & MASK
    return x ^ (x >> 31)


def hop_key(seed, epoch, batch, hop):
    key = mix((seed + GOLDEN) & MASK)
    for word in (epoch, batch, hop):
        key = mix(((key ^ word) + GOLDEN) & MASK)
    return key


def halves(key, node):
    """The node's 32-bit numbers."""
    state = mix((key + GOLDEN * node) & MASK)
    while True:
        state = (state + GOLDEN) & MASK
        word = mix(state)
        yield word >> 32
        yield word & 0xFFFFFFFF


def below(numbers, bound):
    """Lemire: of the 2^32 products those whose low half is below 2^32 mod bound are too many."""
    while True:
        product = next(numbers) * bound
        if product % 2**32 >= 2**32 % bound:
            return product >> 32


def positions(key, node, degree, fanout):
    if fanout < 0 or degree <= fanout:
        return list(range(degree))
    taken, numbers = [], halves(key, node)
    for j in range(degree - fanout, degree):
        drawn = below(numbers, j + 1)
        taken.append(j if drawn in taken else drawn)
    return taken


def batch_of(graph, seeds, fanouts, *, seed, epoch, batch):
    """(nodes, one list of neighbours' local ids for each destination of each hop, the seeds' hop first)."""
    nodes = list(seeds)
    local = {node: i for i, node in enumerate(nodes)}
    hops = []
    for hop, fanout in enumerate(fanouts):
        key, rows = hop_key(seed, epoch, batch, hop), []
        for node in list(nodes):
            neighbours = graph.neighbours(node).tolist()
            chosen = [neighbours[p] for p in positions(key, node, len(neighbours), fanout)]
            for neighbour in chosen:
                if neighbour not in local:
                    local[neighbour] = len(nodes)
                    nodes.append(neighbour)
            rows.append([local[neighbour] for neighbour in chosen])
        hops.append(rows)
    return nodes, hops
