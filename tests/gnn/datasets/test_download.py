"""Downloads are whole and checked, and go on where they were cut off; the server is this test's own."""

import hashlib
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from hone.config.graphs import PlanetoidGraph
from hone.core.errors import SourceError
from hone.gnn.datasets.download import check_sha256, downloaded, git_blob_of, own_folder, unpacked

CONTENT = bytes(range(256)) * 400
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Handler(BaseHTTPRequestHandler):
    """Serves CONTENT: `/cut` ends after 1,000 bytes of an answer, `/plain` knows no ranges, `/gone` is not there."""

    def do_GET(self):
        content = getattr(self.server, "content", CONTENT)
        first = int((self.headers.get("Range") or "bytes=0-").removeprefix("bytes=").removesuffix("-"))
        self.server.asked.append(first)
        if self.path == "/gone":
            self.send_error(404)
            return
        if first >= len(content):
            self.send_error(416)
            return
        first = 0 if self.path == "/plain" else first
        self.send_response(206 if first else 200)
        self.send_header("Content-Length", str(len(content) - first))
        self.end_headers()
        self.wfile.write(content[first : first + 1000] if self.path == "/cut" else content[first:])

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with HTTPServer(("127.0.0.1", 0), Handler) as running:
        running.asked = []
        running.url = f"http://127.0.0.1:{running.server_port}"
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def test_a_file_is_fetched_once(server, tmp_path):
    target = tmp_path / "new" / "file"
    for _ in range(2):
        assert downloaded(f"{server.url}/file", target, SHA256) == target
    assert target.read_bytes() == CONTENT
    assert server.asked == [0]
    assert list(target.parent.iterdir()) == [target]


def test_a_truncated_download_is_no_file_and_is_taken_up_again(server, tmp_path):
    target = tmp_path / "file"
    with pytest.raises(SourceError, match=r"ended after 1000 of 102400 bytes(.|\n)*run the same command again"):
        downloaded(f"{server.url}/cut", target, SHA256)
    assert not target.exists()
    downloaded(f"{server.url}/file", target, SHA256)
    assert target.read_bytes() == CONTENT
    assert server.asked == [0, 1000]


def test_a_server_without_ranges_starts_afresh(server, tmp_path):
    (tmp_path / "file.partial").write_bytes(b"from elsewhere")
    assert downloaded(f"{server.url}/plain", tmp_path / "file", SHA256).read_bytes() == CONTENT


def test_a_partial_file_longer_than_the_whole_is_thrown_away(server, tmp_path):
    (tmp_path / "file.partial").write_bytes(CONTENT + b"more")
    assert downloaded(f"{server.url}/file", tmp_path / "file", SHA256).read_bytes() == CONTENT


def test_another_checksum_is_no_file(server, tmp_path):
    with pytest.raises(SourceError, match=f"sha256 is {SHA256}, known is 000"):
        downloaded(f"{server.url}/file", tmp_path / "file", "0" * 64)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_was_there_is_checked_too(server, tmp_path):
    (tmp_path / "file").write_bytes(b"changed")
    with pytest.raises(SourceError, match="sha256"):
        downloaded(f"{server.url}/file", tmp_path / "file", SHA256)
    assert server.asked == []


def test_no_such_address_and_no_network_say_where_to_put_the_file(server, tmp_path):
    with pytest.raises(SourceError, match=r"404(.|\n)*put the file there: .*file"):
        downloaded(f"{server.url}/gone", tmp_path / "file")
    with pytest.raises(SourceError, match="put the file there"):
        downloaded("http://127.0.0.1:1/file", tmp_path / "file")


def test_a_missing_file_has_no_checksum(tmp_path):
    with pytest.raises(SourceError, match="no such file"):
        check_sha256(tmp_path / "file", SHA256)


def archive(path, names):
    with zipfile.ZipFile(path, "w") as file:
        for name in names:
            file.writestr(name, name)
    return path


def test_an_archive_is_unpacked_as_it_is(tmp_path):
    path = archive(tmp_path / "a.zip", ["arxiv/raw/edge.csv.gz", "README", "__MACOSX/arxiv/._edge.csv.gz"])
    target = unpacked(path, tmp_path / "arxiv-files")
    assert (target / "arxiv" / "raw" / "edge.csv.gz").read_text() == "arxiv/raw/edge.csv.gz"
    assert sorted(path.name for path in target.iterdir()) == ["README", "arxiv"]
    path.unlink()
    assert unpacked(path, target) == target, "what is unpacked needs no archive"


def test_a_truncated_archive_is_no_folder(tmp_path):
    path = archive(tmp_path / "a.zip", ["arxiv/raw/edge.csv.gz"])
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(SourceError, match="not a zip archive"):
        unpacked(path, tmp_path / "files")
    assert not (tmp_path / "files").exists()


def entry(raw_dir):
    return PlanetoidGraph(kind="planetoid", raw_dir=str(raw_dir))


def test_a_folder_an_archive_and_urls_of_both_are_the_same_files(server, tmp_path):
    archive(tmp_path / "my files.zip", ["top/ind.x.graph"])
    server.content = (tmp_path / "my files.zip").read_bytes()
    (tmp_path / "folder" / "top").mkdir(parents=True)
    (tmp_path / "folder" / "top" / "ind.x.graph").write_text("top/ind.x.graph")
    folder = tmp_path / "folder"
    for raw_dir in (
        folder,
        folder.as_uri(),
        tmp_path / "my files.zip",
        (tmp_path / "my files.zip").as_uri(),
        f"{server.url}/a.zip",
    ):
        found = own_folder(entry(raw_dir), tmp_path / "downloads")
        assert (found / "top" / "ind.x.graph").read_text() == "top/ind.x.graph", raw_dir
    assert own_folder(entry(f"{server.url}/a.zip"), tmp_path / "downloads").is_dir()
    assert server.asked == [0], "fetched once"


def test_an_archive_that_changes_is_unpacked_again(tmp_path):
    for name in ("ind.x.graph", "ind.longer.graph"):
        found = own_folder(entry(archive(tmp_path / "a.zip", [name])), tmp_path / "downloads")
        assert [path.name for path in found.iterdir()] == [name]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("none", None, "no such folder or file"),
        ("a.zip", b"PK", r"neither a folder nor a whole zip archive(.|\n)*get the file again"),
        ("a.tar.gz", b"\x1f\x8b", r"neither a folder(.|\n)*unpack it, and write the folder"),
    ],
)
def test_what_is_no_folder_and_no_archive_is_said(tmp_path, name, content, message):
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(SourceError, match=message):
        own_folder(entry(tmp_path / name), tmp_path / "downloads")


def test_gits_name_of_a_file_is_a_checksum_too(tmp_path):
    (tmp_path / "file").write_bytes(b"what is up, doc?")
    known = "git:bd9dbf5aae1a3862dd1526723246b20206e5fc37"  # of Git's own book
    assert git_blob_of(tmp_path / "file") == known
    assert check_sha256(tmp_path / "file", known) == hashlib.sha256(b"what is up, doc?").hexdigest()
    with pytest.raises(SourceError, match="known is git:00"):
        check_sha256(tmp_path / "file", "git:" + "0" * 40)


def test_an_archive_cannot_write_outside_its_folder(tmp_path):
    with pytest.raises(SourceError, match="has a file"):
        unpacked(archive(tmp_path / "a.zip", ["arxiv/../../outside"]), tmp_path / "files")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.zip"]
