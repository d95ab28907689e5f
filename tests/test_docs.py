"""Documentation that can drift is generated or checked."""

import re
from pathlib import Path

import pytest
import yaml
from typer.main import get_command

from hone.cli.docs import PAGES, page
from hone.cli.main import app
from hone.config.settings import Settings, load
from studies.__main__ import app as studies


@pytest.mark.parametrize("name", PAGES)
def test_a_records_page_is_the_generated_one(name):
    assert Path(f"docs/records/{name}.md").read_text() == page(name), "run `make generated`"


def test_there_is_no_page_without_a_record():
    assert {file.stem for file in Path("docs/records").glob("*.md")} == set(PAGES)


@pytest.mark.parametrize("name", PAGES)
def test_every_field_says_what_it_is_by_name_or_by_words(name):
    kind, _ = PAGES[name]
    assert kind.__doc__
    for field, info in kind.model_fields.items():
        assert info.description or re.fullmatch(r"[a-z_]+", field)


OF_FOLDERS = [Path("config/README.md"), Path("studies/README.md")]
DOCUMENTS = [*Path().glob("*.md"), *OF_FOLDERS, *Path("docs").glob("*.md"), *Path("docs/log").glob("*.md")]


def test_every_file_that_the_documentation_names_is_there():
    for document in DOCUMENTS:
        for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text()):
            assert (document.parent / target).exists(), f"{document} links to {target}"


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md"])
def test_every_make_target_that_a_page_names_is_there(document):
    makefile = Path("Makefile").read_text()
    named = re.findall(r"(?:`|^\$ )make (\w+)", Path(document).read_text(), re.MULTILINE)
    assert "test" in named
    for target in named:
        assert re.search(rf"^{target}:", makefile, re.MULTILINE), target


def test_the_readme_prints_no_share_that_depends_on_the_machine():
    """Correct or not is the same everywhere; faster or not is not."""
    rows = re.findall(r"^\w+ +recorded/\w+ .*", Path("README.md").read_text(), re.MULTILINE)
    assert rows
    assert all(row.count("%") == 1 for row in rows)


def table_of_configs():
    """Lines of config/README.md as (file, [the other columns])."""
    lines = re.findall(r"^\| \[([\w.]+)\]\(([\w.]+)\) \| (.*) \|$", Path("config/README.md").read_text(), re.MULTILINE)
    assert all(name == target for name, target, _ in lines)
    return [(name, rest.split(" | ")) for name, _, rest in lines]


def test_every_config_has_one_line_in_the_table_of_configs():
    assert sorted(name for name, _ in table_of_configs()) == sorted(file.name for file in Path("config").glob("*.yaml"))


@pytest.mark.parametrize(("name", "columns"), table_of_configs())
def test_the_table_of_configs_says_what_a_config_needs(name, columns):
    asked, gpu, key, besides, how_long = columns
    settings = load(yaml.safe_load((Path("config") / name).read_text()))
    devices = [training.device for training in settings.trainings.values()]
    devices += [settings.protocol(experiment).device for experiment in settings.experiments]
    models = [model for experiment in settings.experiments.values() for model in experiment.models]
    assert gpu == ("yes" if "cuda" in devices else "no")
    assert key == ("yes" if any(model.startswith("openai") for model in models) else "no")
    assert asked
    assert besides
    assert how_long


def test_the_config_that_the_readme_shows_is_one():
    (text,) = re.findall(r"```yaml\n(.*?)```", Path("README.md").read_text(), re.DOTALL)
    settings = load(yaml.safe_load(text))
    (source,), (experiment,) = settings.sources.values(), settings.experiments.values()
    assert (source.path, experiment.files) == ("mine/problems", "mine/kernels")


def test_every_hone_command_that_the_documentation_names_is_there():
    known = get_command(app).commands
    for document in DOCUMENTS:
        for words in re.findall(r"(?:\$ |bin/|`)hone ((?:[a-z][a-z-]+ ?){1,2})", document.read_text()):
            name, *rest = words.split()
            assert name in known, f"{document}: hone {name}"
            groups = getattr(known[name], "commands", None)
            assert not (groups and rest) or rest[0] in groups, f"{document}: hone {words}"


def test_every_study_that_the_documentation_names_is_there():
    known = get_command(studies).commands
    named = [name for item in DOCUMENTS for name in re.findall(r"python -m studies ([a-z-]+)", item.read_text())]
    assert named
    assert set(named) - {"--help"} <= set(known)


def test_the_package_imports_no_study():
    files = Path("src").rglob("*.py")
    assert not [file for file in files if re.search(r"^\s*(from|import) studies\b", file.read_text(), re.MULTILINE)]


def test_every_config_key_that_the_readme_names_is_there():
    schema = Settings.model_json_schema()
    known = {key for part in (schema, *schema["$defs"].values()) for key in part.get("properties", {})}
    for key in re.findall(r"`(\w+):`", Path("README.md").read_text()):
        assert key in known, key
