"""The names of all tables, in the order in which pages list them; each is a module of this package.

They stand apart from the modules because Snakemake needs them in every job, and the modules take a quarter of a second.
"""

from __future__ import annotations

NAMES = (
    "kernelbench_fast_p",
    "kernelbench_errors",
    "kernelbench_speedups",
    "kernelbench_sampling",
    "kernelbench_refinement",
    "astra_main",
    "astra_single_vs_multi",
    "astra_shapes",
    "astra_ablation",
    "astra_rounds",
    "search_budget",
    "salient_breakdown",
    "salient_ladder",
    "salient_threads",
    "salient_inference",
    "salient_degrees",
    "salient_models",
    "salient_scaling",
    "salient_timeline",
    "gnn_kernels",
    "device_roofline",
    "judge_gold",
    "own_kernels",
    "own_workloads",
    "judge_exploits",
    "judge_idioms",
    "judge_agreement",
    "judge_agreement_summary",
    "screen_agreement",
    "published_fast_p",
    "published_claims",
    "published_claims_summary",
    "case_studies",
    "judge_cost",
    "llm_cost",
)
