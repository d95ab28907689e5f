"""The files of MUSAE's graphs: where they lie, how they are told apart, and what they must hold.

Taken from the authors' repository at a fixed commit, whose files have known checksums.
"""

from __future__ import annotations

from pathlib import Path

from hone.config.graphs import MusaeGraph
from hone.core.errors import SourceError
from hone.gnn.datasets.download import check_sha256, downloaded, own_folder
from hone.gnn.graph import sha256_of

COMMIT = "5f901232957b6c9985d750aac48cda39a4b24285"
URL = f"https://raw.githubusercontent.com/benedekrozemberczki/MUSAE/{COMMIT}/input"
NAMES = ("edges.csv", "features.json", "target.csv")
REPOSITORY = {
    "facebook": "facebook", "github": "git", "chameleon": "chameleon", "crocodile": "crocodile",
    "squirrel": "squirrel", "twitch-de": "DE", "twitch-en": "ENGB", "twitch-es": "ES", "twitch-fr": "FR",
    "twitch-pt": "PTBR", "twitch-ru": "RU", "twitch-tw": "ZHTW",
}  # fmt: skip
"""Our name of a graph -> what its files begin with, in the repository and in SNAP's archives."""
WIKIPEDIA = ("chameleon", "crocodile", "squirrel")
"""Their target is a number: traffic."""
SHA256 = {
    "facebook": (
        "7c50d8f02a75cc0829577814a1fc14535164daa38d79c3612340c9e9cdbd4022",
        "ea870537646a93642a0008d38aa9bfeff02018070ba97b1f3f469d9622626436",
        "7bd96eafea3c2ca40f44bfa9e73642194696c21e38c7b29ed409c32ad14075cd",
    ),
    "github": (
        "34c57382246949d1b3b7fa641a8532672001ecae8e9558f0b3c113cc035bd781",
        "git:33a611fd401ef2e17bdbaabd0c63bce3bc4f9817",
        "3a8582f0c55d6f605df5f45bde28a90561be9517b40226c5e6bbce253679906a",
    ),
    "chameleon": (
        "b90d671846530ea7c0f6f6d0e3be98eb512ecd8e9741811940fe4029d991b266",
        "a958c2158cb81bb05cc01f5605ffb3449a7b20b389c8f1e94a0da61dbed6bdbe",
        "5816b4731cbd156738095550d1f6e37caf6f4dabe1d660c035156408ae6bae43",
    ),
    "crocodile": (
        "92f4fe840f5ef79f85364e3678bbc909d0c151e0ff8d8328854b602d998f2d22",
        "git:0c68f0cfb24216ab860818c492c22d325a07194b",
        "f83d79b3c6979639475d90fb5e2c969d2c21b64b068abc19e57f93c8fedfef1d",
    ),
    "squirrel": (
        "574b9d083635377c368e9431a29121773500f57edb8b4602f69544e6b5fe0da8",
        "34512ff7981f36811d830d6bf5c7116a671f40e3210f26a276d9792001acffc0",
        "0933f58cf0469eda904e27442eabeda04f0f27e8e1863b76dad144d4404fdd3f",
    ),
    "twitch-de": (
        "54feaf3e3e70a485fe07f8611e4d2677841b97f77b8358204bcf4a48cc884d86",
        "7b39c42570f05cd46017c765df8d8a1bc03f19787c3eb0f9684f50a52476ae3a",
        "2188f58a093bb9db363d3eaf7c3a52c2adc8ff6b23cbcb4f53875f87061c0321",
    ),
    "twitch-en": (
        "5ea4d7f7267454e9523577eb2a9b4dcb7a22dd660a548240f01b815d08e0e3cc",
        "d55948bd911ab28e0a89c4946562d5a8b363b9a7e4216e1a4986f37c74caa777",
        "e9d51399878216d2dd662b0a152b602cccde7b5cbb8452cb91d9379f64114443",
    ),
    "twitch-es": (
        "17801d2cc45fc4909a431ce7a190c0565d4af87b0548ca7705cf2bef7da4c884",
        "dec4b672183f9cb04524ee605b763cc14244ed88eb766147a3f954e9abe30d59",
        "f843427bae58289100e78c6c211fa4a1ae0d5fbf2c665841df9e390b00dcffb5",
    ),
    "twitch-fr": (
        "9924263f7e8edaa7278dcbc37bd90c8712cb0ea1726d85e054a5588b7959f887",
        "490ff6a0afb0838fea1696980b14b3fcb9e8932d18e1f5172f066e45d97daa46",
        "dd0a9e7ba565cbb95ae66003892709742bd08c26387656e3e235fc25205663b4",
    ),
    "twitch-pt": (
        "b72d93a3c8a82883771a2f3822fce229885fa0d40367fb105c0535fb36c773b9",
        "5012dee29ca3ae57cbdb4f46279506e3b87ff79d8c43affcafd7576acb21f960",
        "ecba7d1287e72ae7c3f42c922be475283288c0c67346245c72109690460444bd",
    ),
    "twitch-ru": (
        "fd307587a550289f746056ea12a7336171ab2053c9e08c42dba77499126ca5b2",
        "7767f5d6fdb405cc5cd4267bd3dd0371cbd585ef3f3bec6b5d156880fe42e30a",
        "db7617528355be994352e491e7b25d060fed466d0d81c09cadd90fa10f15c071",
    ),
    "twitch-tw": (
        "47c986023f1f434f76026ddfb3ab544be24849011400c99402083d06d3dfa017",
        "9508cc55f4b891018f278df4cec40d622aba2b04c1bca9451fd9e8ce11321c7b",
        "65b75f23be40140d2e326813c3f81419f1a94aa1091acfc0279f0403be8165f7",
    ),
}
"""Graph -> checksums of NAMES in the repository; behind `git:` stands git's name of the content."""
ALSO = {"7ece5e1d29cfb4f6997d83bd70879a61b091cc684de78555e09de2ff65d63767": SHA256["facebook"][2]}
"""Checksum of the same table without the pages' names -> the known one."""


def fetch(entry: MusaeGraph, downloads: Path) -> dict[str, Path]:
    """Each of NAMES -> where the file lies, fetched and unpacked first where the entry names no folder.

    Raises SourceError, MachineError.
    """
    if entry.raw_dir is not None:
        folder = own_folder(entry, downloads)
        return {name: _found(name, folder, entry) for name in NAMES}
    assert entry.dataset is not None, "the config requires one of the two"
    stem = REPOSITORY[entry.dataset]
    remote = {
        "edges.csv": f"edges/{stem}_edges.csv", "features.json": f"features/{stem}.json",
        "target.csv": f"target/{stem}_target.csv",
    }  # fmt: skip
    folder = downloads / "musae" / COMMIT[:12]
    folder = folder if entry.dataset == "facebook" else folder / entry.dataset  # facebook's lay there before the others
    known = zip(remote.items(), SHA256[entry.dataset], strict=True)
    return {name: downloaded(f"{URL}/{path}", folder / name, sha256) for (name, path), sha256 in known}


def _found(name: str, folder: Path, entry: MusaeGraph) -> Path:
    """The one file that ends so; of several, the one of this graph. SNAP puts words before these names."""
    stem = REPOSITORY.get(entry.dataset or "", entry.dataset)
    matches = sorted(path for path in folder.rglob(f"*{name}") if path.is_file())
    if len(matches) > 1:
        mine = [path for path in matches if path.name in (f"{stem}_{name}", f"musae_{stem}_{name}")]
        matches = mine or matches
    if len(matches) != 1:
        said = f"has {len(matches)} files that end in '{name}', not one"
        remedy = "put the file there, or correct raw_dir in the config"
        if matches:
            remedy = "write dataset: with what the files of one graph begin with, or a folder with one graph as raw_dir"
        raise SourceError(said, where=str(folder), remedy=remedy)
    return matches[0]


def checked(entry: MusaeGraph, paths: dict[str, Path]) -> dict[str, str]:
    """Name -> SHA-256 of each file; raises SourceError where it is not the published one that is asked for."""
    if not entry.published or entry.dataset is None:
        return {name: sha256_of(path) for name, path in paths.items()}
    known = dict(zip(NAMES, SHA256[entry.dataset], strict=True))
    return {
        name: found if ALSO.get(found := sha256_of(path)) == known[name] else check_sha256(path, known[name])
        for name, path in paths.items()
    }
