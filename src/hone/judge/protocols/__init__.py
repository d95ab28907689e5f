"""Protocols of timing: which runs of which side are timed when. A further one is one more file.

`hone`: turns of all sides, each in its best way, on new inputs, audited. `kernelbench`: the public repository's loop.
"""
