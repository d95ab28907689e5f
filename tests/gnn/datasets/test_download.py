"""Downloads are whole and checked, and go on where they were cut off; the server is this test's own."""

import hashlib
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from hone.core.errors import SourceError
from hone.gnn.datasets.download import check_sha256, downloaded, unpacked

CONTENT = bytes(range(256)) * 400
SHA256 = hashlib.sha256(CONTENT).hexdigest()


class Handler(BaseHTTPRequestHandler):
    """Serves CONTENT: `/cut` ends after 1,000 bytes of an answer, `/plain` knows no ranges, `/gone` is not there."""

    def do_GET(self):
        first = int((self.headers.get("Range") or "bytes=0-").removeprefix("bytes=").removesuffix("-"))
        self.server.asked.append(first)
        if self.path == "/gone":
            self.send_error(404)
            return
        if first >= len(CONTENT):
            self.send_error(416)
            return
        first = 0 if self.path == "/plain" else first
        self.send_response(206 if first else 200)
        self.send_header("Content-Length", str(len(CONTENT) - first))
        self.end_headers()
        self.wfile.write(CONTENT[first : first + 1000] if self.path == "/cut" else CONTENT[first:])

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


def test_an_archive_is_unpacked_without_its_top_folder(tmp_path):
    path = archive(tmp_path / "a.zip", ["arxiv/raw/edge.csv.gz", "arxiv/split/time/train.csv.gz"])
    target = unpacked(path, tmp_path / "arxiv-files")
    assert (target / "raw" / "edge.csv.gz").read_text() == "arxiv/raw/edge.csv.gz"
    path.unlink()
    assert unpacked(path, target) == target, "what is unpacked needs no archive"


def test_a_truncated_archive_is_no_folder(tmp_path):
    path = archive(tmp_path / "a.zip", ["arxiv/raw/edge.csv.gz"])
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(SourceError, match="not a zip archive"):
        unpacked(path, tmp_path / "files")
    assert not (tmp_path / "files").exists()


def test_an_archive_cannot_write_outside_its_folder(tmp_path):
    with pytest.raises(SourceError, match="has a file"):
        unpacked(archive(tmp_path / "a.zip", ["arxiv/../../outside"]), tmp_path / "files")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.zip"]
