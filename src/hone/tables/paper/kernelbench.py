"""The tables and figures of KernelBench (arXiv 2502.10517): a short description each, and nothing that is counted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hone.analysis import kernelbench_figures
from hone.tables.paper.grid import MODELS, Grid, Page, Part, frame_or_nothing
from hone.tables.paper.numbers import ON, Data
from hone.tables.paper.speeds import EAGER, AcrossGpus, Hardware, Problems, Spread, speedups

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Drawn

LEVELS: Part = {f"Level {level}": {"level": level} for level in "123"}
GPUS = ("L40S", "H100", "A100", "L4", "T4", "A10G")
"""Those of the paper's Tables 13 and 14."""
OUTCOMES: Part = {
    name: {"metric": f"category:{category}"}
    for category, name in {
        "compiler": "NVCC", "python": "Python", "memory": "CUDA memory", "runtime": "runtime", "shape": "shape",
        "value": "value", "correct": "correct", "timeout": "timed out", "no_code": "no code", "unanswered": "refused",
        "unresolved": "no verdict",
    }.items()
}  # fmt: skip
REFINEMENTS: Part = {
    name: {"experiment": experiment, "metric": "fast_p@turn"}
    for name, experiment in {
        "refinement G": "refine_g",
        "refinement G+E": "refine_ge",
        "refinement G+E+P": "refine_gep",
    }.items()
}
AT_TEN: Part = {name: {**fields, "k_or_turn": 10} for name, fields in REFINEMENTS.items()}
ONE: Part = {"single answer": {"experiment": "one_shot", "metric": "fast_p"}}
SAMPLED: Part = {"best of 10 samples": {"experiment": "repeated_10", "metric": "fast_p@k", "k_or_turn": 10}}
FASTER: dict[str, Any] = {"p": 1.0, "baseline": EAGER}
CORRECT: dict[str, Any] = {"p": 0.0}
SINGLE: dict[str, Any] = {"experiment": "one_shot", "metric": "fast_p"}


def _best_of_ten(counted: dict[str, Any], printed: str) -> Grid:
    """One answer beside the best of ten: ten samples, or ten turns of a refinement."""
    rows = {**ONE, **SAMPLED, **AT_TEN}
    return Grid(
        rows=(rows,), columns=(LEVELS, MODELS), stub=("method",), fixed=counted, tables=(printed,), at_most=True
    )


def _outcomes(data: Data) -> Drawn:
    found = frame_or_nothing(data.rows("kernelbench_errors", "one_shot", level="all"), "one_shot")
    return kernelbench_figures.errors_figure(found)


def _thresholds(data: Data) -> Drawn:
    found = data.rows("kernelbench_fast_p", "one_shot", baseline=EAGER)
    return kernelbench_figures.fast_p_figure(frame_or_nothing(found, "one_shot"))


def _sampling(data: Data) -> Drawn:
    names = ("one_shot", "repeated_10", "repeated_100")
    found = data.rows("kernelbench_sampling", *names, baseline=EAGER, p=1.0)
    return kernelbench_figures.sampling_figure(frame_or_nothing(found, "one_shot with samples"))


def _refinement(data: Data) -> Drawn:
    names = ("refine_g", "refine_ge", "refine_gep")
    found = data.rows("kernelbench_refinement", *names, baseline=EAGER, p=1.0, level="2")
    return kernelbench_figures.best_of_turns_figure(frame_or_nothing(found, "refine"))


def _spread(data: Data) -> Drawn:
    found = frame_or_nothing(speedups(data, "one_shot", ("1", "2", "3")), "one_shot")
    return kernelbench_figures.speedups_figure(found)


ACROSS = AcrossGpus(experiment="one_shot", levels=("1", "2"))
PAGES = (
    Page(
        place="Table 1",
        title="fast_1 of one answer, over PyTorch eager and over torch.compile",
        said="One example in the prompt, one answer: for how many problems is it correct and faster than PyTorch?",
        layout=Grid(
            rows=(MODELS,),
            columns=(
                {"over PyTorch eager": {"baseline": EAGER}, "over torch.compile": {"baseline": "torch_compile"}},
                LEVELS,
            ),
            stub=("model",),
            fixed={**SINGLE, "p": 1.0},
            tables=("Table 1",),
        ),
    ),
    Page(
        place="Table 2",
        title="fast_1 of one answer, of repeated sampling and of iterative refinement",
        said="What ten answers give over one. *Samples* answer the same prompt. *Refinement* shows the last answer "
        "(G), or also its verdict (E) and a profile (P). The best of the ten counts.",
        layout=_best_of_ten(FASTER, "Table 2"),
    ),
    Page(
        place="Table 4",
        title="fast_1 over five modes of torch.compile",
        said="The same answers as in Table 1 over each mode of torch.compile.",
        layout=Grid(
            rows=(MODELS,),
            columns=(
                {
                    "default": {"baseline": "torch_compile"},
                    "cudagraphs": {"baseline": "torch_cudagraphs"},
                    "max-autotune": {"baseline": "torch_compile_max_autotune"},
                    "max-autotune-no-cudagraphs": {"baseline": "torch_compile_max_autotune_no_cudagraphs"},
                    "reduce-overhead": {"baseline": "torch_compile_reduce_overhead"},
                },
                LEVELS,
            ),
            stub=("model",),
            fixed={**SINGLE, "p": 1.0},
            tables=("Table 4",),
        ),
    ),
    Page(
        place="Table 9",
        title="fast_0 of one answer and of iterative refinement",
        said="Table 2's refinement, counting every problem with a correct kernel, fast or not.",
        layout=_best_of_ten(CORRECT, "Table 9"),
    ),
    Page(
        place="Table 10",
        title="One example in the prompt, or several",
        said="The few-shot prompt shows a fused GELU, a tiled product of matrices and a small flash attention.",
        layout=Grid(
            rows=(MODELS, {"one example": {"experiment": "one_shot"}, "several": {"experiment": "few_shot"}}),
            columns=({"fast_1": FASTER, "fast_0: correct": CORRECT}, LEVELS),
            stub=("model", "prompt"),
            fixed={"metric": "fast_p"},
            tables=("Table 10",),
        ),
    ),
    Page(
        place="Table 11",
        title="Products of matrices by prompt: one example, or several",
        said="Speedups over PyTorch eager on the level 1 problems that multiply matrices. The paper lists those whose "
        "kernel the few-shot prompt made faster; `resources/published` has none of its lines.",
        layout=Problems(
            experiments={"one example": "one_shot", "several": "few_shot"},
            levels=("1",),
            only="matmul|matrix_mult|matrix_vector|matrix_scalar",
        ),
    ),
    Page(
        place="Table 12",
        title="Level 2 problems with a kernel faster than PyTorch eager",
        said="The paper lists those whose kernel is fast through shared memory; `resources/published` has none of its "
        "lines. Here stand all faster kernels: which of them use shared memory, Hone does not tell.",
        layout=Problems(
            experiments={"one example": "one_shot", "several": "few_shot"}, levels=("2",), faster=True, only=""
        ),
    ),
    Page(
        place="Table 13",
        title="The GPUs",
        said="As the vendor's documents say, out of `resources/hardware/gpus.yaml`, which names them. The paper's own "
        "sheet is not in `resources/published`.",
        layout=Hardware((*GPUS, "H200")),
    ),
    Page(
        place="Table 14",
        title="The same kernels on several GPUs: fast_1 over PyTorch eager",
        said="Answers that were asked for once, judged on each GPU. A run judges on one; `hone papers` joins several.",
        layout=Grid(
            rows=(LEVELS, {gpu: {"experiment": f"{ON}{gpu.lower()}"} for gpu in (*GPUS, "H200")}),
            columns=(MODELS,),
            stub=("level", "GPU"),
            fixed={"metric": "fast_p", **FASTER},
            tables=("Table 14",),
        ),
    ),
    Page(
        place="Table 15",
        title="Facts of the GPU in the prompt: fast_1 over PyTorch eager",
        said="The prompt also states facts of the GPU that a line names, such as its memory bandwidth.",
        layout=Grid(
            rows=(LEVELS, {gpu: {"experiment": f"hardware_{gpu.lower()}"} for gpu in ("L40S", "H100", "A100", "H200")}),
            columns=(MODELS,),
            stub=("level", "in the prompt"),
            fixed={"metric": "fast_p", **FASTER},
            tables=("Table 15",),
        ),
    ),
    Page(
        place="Figure 2",
        title="What became of the answers",
        said="Percent of the answers of all levels, one to a problem. The paper's CUDA memory errors are illegal "
        "accesses; here these are `runtime`, and `CUDA memory` is out of memory.",
        layout=Grid(
            rows=(MODELS,),
            columns=(OUTCOMES,),
            stub=("model",),
            fixed={"experiment": "one_shot", "level": "all"},
            tables=("Figure 2",),
        ),
        draw=_outcomes,
    ),
    Page(
        place="Figure 3",
        title="fast_p against the threshold p, over PyTorch eager",
        said="How the share falls as a kernel has to be faster.",
        layout=Grid(
            rows=(MODELS, LEVELS),
            columns=(
                {"0: correct": CORRECT}
                | {f"{p:g}": {"p": p, "baseline": EAGER} for p in (0.5, 0.8, 1.0, 1.5, 2.0, 3.0)},
            ),
            stub=("model", "level"),
            fixed=SINGLE,
            tables=("Figure 3", "Table 1", "fast_0"),
        ),
        draw=_thresholds,
    ),
    Page(
        place="Figure 4",
        title="fast_1 of the best of k samples",
        said="How many more problems are solved as the same prompt is answered k times.",
        layout=Grid(
            rows=(MODELS, LEVELS),
            columns=({str(k): {"experiment": f"repeated_{k}", "k_or_turn": k} for k in (1, 2, 5, 10, 20, 50, 100)},),
            stub=("model", "level"),
            fixed={"metric": "fast_p@k", **FASTER},
            tables=("Figure 4", "Table 2"),
        ),
        draw=_sampling,
    ),
    Page(
        place="Figure 6",
        title="fast_1 of the best of N turns",
        said="On level 2, as the paper draws DeepSeek R1. `resources/published` has the last turn alone.",
        layout=Grid(
            rows=(MODELS, REFINEMENTS),
            columns=({f"{turn}": {"k_or_turn": turn} for turn in range(1, 11)},),
            stub=("model", "method"),
            fixed={**FASTER, "level": "2"},
            tables=("Table 2",),
        ),
        draw=_refinement,
    ),
    Page(
        place="Figure 7",
        title="Speedups of correct kernels over PyTorch eager",
        said="Times as fast as PyTorch eager, of kernels whose time is not in doubt. The paper draws boxes; "
        "`resources/published` has no numbers of them.",
        layout=Spread(experiment="one_shot", levels=("1", "2", "3")),
        draw=_spread,
    ),
    Page(
        place="Figures 8 and 9",
        title="Speedups of the same kernels on several GPUs",
        said="Times as fast as PyTorch eager on levels 1 and 2, by GPU. `resources/published` has no numbers of them.",
        layout=ACROSS,
        draw=ACROSS.draw,
    ),
)  # fmt: skip
"""In the order of the index. Figures 1 and 5 are drawings of the method; Table 3 and Tables 5 to 8 hold no shares."""
