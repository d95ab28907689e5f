"""Operators' kernels out of a campaign in a training: found, built, tried in a process of their own, or left aside.

job = with_selected_kernels(job, selections, store=store, log=log)
"""

from hone.selection.loop.resolve import with_selected_kernels

__all__ = ["with_selected_kernels"]
