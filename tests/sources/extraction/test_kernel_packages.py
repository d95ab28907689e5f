"""Packages from an index, a repository or a folder: what is opened, and what is said when it cannot be."""

import hashlib
import io
import subprocess
import tarfile
import zipfile

import pytest

from hone.config.sources import GitPackage, PyPIPackage
from hone.core.errors import SourceError
from hone.sources.extraction.packages import cached, open_package, open_packages

SETUP = "raise SystemExit('a package is never executed')\n"
FILES = {
    "include/own/a.h": "// a\n",
    "include/own/deep/b.h": "// b\n",
    "setup.py": SETUP,
}


def _sdist(top="small-1.0"):
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz") as archive:
        for path, text in FILES.items():
            member = tarfile.TarInfo(f"{top}/{path}")
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    return raw.getvalue()


def _wheel():
    raw = io.BytesIO()
    with zipfile.ZipFile(raw, "w") as archive:
        for path, text in FILES.items():
            archive.writestr(path, text)
    return raw.getvalue()


SDIST, WHEEL = _sdist(), _wheel()


def of_index(file, content, **changes):
    values = {
        "kind": "pypi", "name": "small", "version": "1.0", "file": file,
        "sha256": hashlib.sha256(content).hexdigest(), "include": ("include",),
    }  # fmt: skip
    return PyPIPackage.model_validate(values | changes)


@pytest.fixture
def index(tmp_path, monkeypatch):
    """A folder that pip looks for files in, and nothing else."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("small-1.0.tar.gz", SDIST),
        ("small-1.0-cp37-cp37m-manylinux_2_17_ppc64le.whl", WHEEL),
        ("small-1.0-py3-none-any.whl", WHEEL),
    ],
)
def test_a_file_of_the_index_is_fetched_once_and_never_executed(index, tmp_path, file, content):
    (index / file).write_bytes(content)
    package = of_index(file, content)
    tree = open_package("p", package, tmp_path / "cache")
    assert set(tree.files) == {"include/own/a.h", "include/own/deep/b.h"}
    assert tree.find("own/deep/b.h") == "include/own/deep/b.h"
    assert tree.find("deep/b.h") is None
    assert (tree.label, tree.version, tree.digest) == ("small 1.0", "1.0", package.sha256)
    (index / file).unlink()
    assert open_package("p", package, tmp_path / "cache") == tree


def test_another_checksum_is_refused_and_not_kept(index, tmp_path):
    (index / "small-1.0.tar.gz").write_bytes(SDIST)
    package = of_index("small-1.0.tar.gz", b"something else")
    with pytest.raises(SourceError, match="sha256 is"):
        cached(package, tmp_path / "cache")
    assert not (tmp_path / "cache").exists()


def test_a_file_that_the_index_lacks_can_be_put_into_the_cache_by_hand(index, tmp_path):
    package = of_index("small-1.0.tar.gz", SDIST)
    with pytest.raises(SourceError) as caught:
        cached(package, tmp_path / "cache")
    place = tmp_path / "cache" / package.sha256 / package.file
    assert str(place) in caught.value.remedy
    assert "the index has no small-1.0.tar.gz" in str(caught.value)
    place.parent.mkdir(parents=True)
    place.write_bytes(SDIST)
    assert cached(package, tmp_path / "cache") == SDIST
    place.write_bytes(b"damaged")
    with pytest.raises(SourceError, match="delete the file"):
        cached(package, tmp_path / "cache")


def test_a_fetch_has_a_time_limit(index, tmp_path):
    with pytest.raises(SourceError, match=r"longer than 0\.001 s"):
        cached(of_index("small-1.0.tar.gz", SDIST), tmp_path / "cache", timeout_s=0.001)


def test_no_archive_and_no_such_folder(index, tmp_path):
    (index / "small-1.0.tar.gz").write_bytes(b"text")
    with pytest.raises(SourceError, match="is not an archive"):
        open_package("p", of_index("small-1.0.tar.gz", b"text"), tmp_path / "cache")
    content = SDIST
    (index / "small-1.0.tar.gz").write_bytes(content)
    with pytest.raises(SourceError, match="has no file in headers"):
        open_package("p", of_index("small-1.0.tar.gz", content, include=("headers",)), tmp_path / "cache2")


def test_a_repository_at_a_commit(tmp_path):
    place = tmp_path / "repository"
    (place / "include").mkdir(parents=True)
    (place / "include" / "a.h").write_text("// first\n")

    def git(*words):
        named = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        return subprocess.run(["git", "-C", str(place), *named, *words], check=True, capture_output=True, text=True)

    git("init", "--quiet")
    git("add", ".")
    git("commit", "--quiet", "-m", "first")
    commit = git("rev-parse", "HEAD").stdout.strip()
    (place / "include" / "a.h").write_text("// later\n")
    package = GitPackage(kind="git", url=str(place), commit=commit, include=("include",))
    tree = open_package("p", package)
    assert tree.files == {"include/a.h": b"// first\n"}
    assert tree.version == commit
    with pytest.raises(SourceError, match="has no commit"):
        open_package("p", package.model_copy(update={"commit": "0" * 40}))


def test_a_folder(package):
    trees = open_packages({"small": package})
    assert set(trees["small"].files) == {"include/scale.h", "include/helpers/rows.h"}
    assert trees["small"].version == "local"
    with pytest.raises(SourceError, match="no such folder"):
        open_package("p", package.model_copy(update={"path": "/nowhere"}))
