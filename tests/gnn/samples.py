"""What every batch of samples must be, whichever system drew it."""

from itertools import pairwise


def rows(batch):
    """One list of local ids for each destination of each hop, the seeds' hop first."""
    return [
        [block.indices[a:b].tolist() for a, b in pairwise(block.indptr.tolist())] for block in reversed(batch.blocks)
    ]


def check_batch(batch, graph, seeds, fanouts):
    """Seeds first, each node once, hops chained; each node has min(fan-out, degree) distinct neighbours of its own."""
    nodes = batch.nodes.tolist()
    assert nodes[: batch.num_seeds] == seeds.tolist(), "seeds come first"
    assert len(set(nodes)) == len(nodes) == batch.blocks[0].num_src
    assert batch.blocks[-1].num_dst == batch.num_seeds
    assert [block.num_src for block in batch.blocks[1:]] == [block.num_dst for block in batch.blocks[:-1]]
    reached = set(nodes[: batch.num_seeds])
    for hop, fanout, block in zip(rows(batch), fanouts, reversed(batch.blocks), strict=True):
        assert len(hop) == block.num_dst and block.num_edges == sum(map(len, hop))
        for node, local in zip(nodes, hop, strict=False):  # the destinations are the first nodes
            known, got = graph.neighbours(node).tolist(), [nodes[i] for i in local]
            assert len(got) == (len(known) if fanout < 0 else min(fanout, len(known)))
            assert len(set(got)) == len(got) and set(got) <= set(known)
            reached.update(got)
        assert set(nodes[: block.num_src]) == reached, "no node without an edge to it"
