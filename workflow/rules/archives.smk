# Answers that models gave elsewhere: a public archive at its pinned commit -> answers -> candidates with claims.


rule fetch_archive:
    """Fetch published answers from a public archive at its pinned commit; list those left out."""
    output:
        answers=paths.archive(),
        skipped=paths.skipped_answers(),
    log:
        paths.log("fetch_archive/{archive}"),
    wildcard_constraints:
        archive=only(settings.archives),
    localrule: True
    conda:
        "../../envs/hone.yaml"
    params:
        # A licence decides what pages show, not what is fetched.
        archive=lambda wildcards: settings.archives[wildcards.archive].model_dump(
            mode="json", exclude={"licence"}
        ),
        code=stage_digest("sources.archives.stages"),
    message:
        "Fetch the published answers of {wildcards.archive}."
    script:
        "../scripts/fetch_archive.py"


rule archived:
    """Turn an archive's answers to some problems into solutions, with what the archive says of them."""

    # An answer to another text than the definition's is left out, and stands in `skipped` with the reason.
    input:
        definitions=[DEFINITIONS],
        answers=lambda wildcards: paths.archive(
            settings.experiments[wildcards.experiment].archive
        ),
    output:
        candidates=SHARD.records("candidates"),
        solutions=SHARD.records("solutions"),
        claims=SHARD.records("claims"),
        skipped=SHARD.records("skipped"),
    log:
        paths.log("archived/{experiment}/{model}/turn{turn}/{batch}"),
    wildcard_constraints:
        experiment=only(kinds.archived),
    localrule: True
    conda:
        "../../envs/hone.yaml"
    params:
        experiment=experiment_params(*SELECTION, "archive"),
        batch=batch_numbers,
        code=stage_digest("methods.stages"),
    message:
        f"Turn published answers into solutions: {THIS_SHARD}."
    script:
        "../scripts/archived.py"
