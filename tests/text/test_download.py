"""Downloads: verified, resumed after an interruption, and clear error messages."""

import dataclasses
import errno
import hashlib
import http.server
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from annotated_transformer.text import download as module
from annotated_transformer.text.corpus import CORPORA
from annotated_transformer.text.download import download, fetch
from annotated_transformer.text.published_corpora import Source

DATA = bytes(i * i % 251 for i in range(200_003))
SHA256 = hashlib.sha256(DATA).hexdigest()
HALF = 100_019
REST = len(DATA) - HALF


class Server(http.server.ThreadingHTTPServer):
    """Serve DATA on this machine as `behavior` specifies; `ranges` records the requested ranges."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.behavior = "good"
        self.ranges: list[str | None] = []
        self.closing = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(http.server.BaseHTTPRequestHandler):
    server: Server

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""

    def do_GET(self) -> None:
        asked, behavior = self.headers["Range"], self.server.behavior
        self.server.ranges.append(asked)
        start = int(asked[6:-1]) if asked and behavior != "ignores ranges" else 0
        if behavior == "silent":
            self.server.closing.wait()
        if behavior in ("silent", "no answer"):
            return
        if behavior == "missing" or start >= len(DATA):
            self.send_error(404 if behavior == "missing" else 416)
            return
        self.send_response(206 if start else 200)
        if behavior == "breaks off in a chunk":
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(f"{len(DATA):x}\r\n".encode() + DATA[:HALF])
            return
        self.send_header("Content-Length", str(len(DATA) - start))
        self.end_headers()
        ends = {"breaks off": DATA[:HALF], "falls silent": DATA[:HALF], "wrong bytes": DATA[:-1] + b"?"}
        self.wfile.write(ends.get(behavior, DATA)[start:])
        if behavior == "falls silent":
            self.server.closing.wait()


@pytest.fixture
def server(monkeypatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.closing.set()
        server.shutdown()
        thread.join()


def get(server: Server, path: Path, timeout: float = 10.0) -> None:
    fetch(f"{server.url}/file", path, sha256=SHA256, timeout=timeout)


def part(path: Path) -> Path:
    return path.with_name(f"{path.name}.part")


def test_law_a_download_leaves_one_complete_file_silently_and_happens_once(server, tmp_path, capsys):
    for _ in range(2):
        get(server, tmp_path / "file")
    assert server.ranges == [None]
    assert capsys.readouterr() == ("", "")  # no progress bar without a terminal
    assert (tmp_path / "file").read_bytes() == DATA
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@pytest.mark.parametrize(
    ("behavior", "error", "reason"),
    [
        ("breaks off", ConnectionError, rf"/file \(it ended {REST} bytes too early\); check the netw"),
        ("breaks off in a chunk", ConnectionError, "cannot download"),
        ("falls silent", TimeoutError, "sent nothing for"),
    ],
)
def test_law_an_interrupted_download_is_resumed(server: Server, tmp_path: Path, behavior, error, reason: str):
    path = tmp_path / "file"
    server.behavior = behavior
    with pytest.raises(error, match=f"{reason}.*try again to resume the download"):
        get(server, path, timeout=0.3)
    there = part(path).read_bytes()
    assert (path.exists(), there) == (False, DATA[: len(there)])
    assert 0 < len(there) <= HALF
    server.behavior = "good"
    get(server, path)
    assert server.ranges == [None, f"bytes={len(there)}-"]
    assert path.read_bytes() == DATA


@pytest.mark.parametrize(
    ("behavior", "begun", "again"),
    [("ignores ranges", DATA[:HALF], []), ("good", DATA, [None]), ("good", DATA + b"?", [None])],
    ids=["no ranges", "whole", "too long"],
)
def test_law_a_file_may_have_to_be_sent_as_a_whole_again(server, tmp_path: Path, behavior, begun, again):
    server.behavior = behavior
    part(tmp_path / "file").write_bytes(begun)
    get(server, tmp_path / "file")
    assert server.ranges == [f"bytes={len(begun)}-", *again]
    assert (tmp_path / "file").read_bytes() == DATA


def test_law_all_files_of_a_corpus_are_downloaded_to_its_folder(server: Server, tmp_path: Path, monkeypatch):
    sums = f"{SHA256}  one.gz\n{SHA256}  two.gz\n"
    source = Source(url=server.url, sums=sums, terms="")
    monkeypatch.setitem(CORPORA, "tatoeba", dataclasses.replace(CORPORA["tatoeba"], source=source))
    inside = tmp_path / "data" / "tatoeba"
    assert download("tatoeba", tmp_path / "data") == inside
    assert {path.name: path.read_bytes() for path in inside.iterdir()} == {"one.gz": DATA, "two.gz": DATA}
    (inside / "one.gz").unlink()
    assert download("tatoeba", str(inside)) == inside  # the corpus's own folder is accepted, too
    assert server.ranges == [None] * 3
    assert sorted(path.name for path in inside.iterdir()) == ["one.gz", "two.gz"]


@pytest.mark.message
@pytest.mark.parametrize("begun", [0, HALF])
def test_message_a_download_with_another_digest_is_deleted(server: Server, tmp_path: Path, begun: int):
    server.behavior = "wrong bytes"
    if begun:
        part(tmp_path / "file").write_bytes(DATA[:begun])
    digest = hashlib.sha256(DATA[:-1] + b"?").hexdigest()
    expected = f"file.part has the SHA-256 {digest} instead of {SHA256}; it was deleted; try again"
    with pytest.raises(ValueError, match=re.escape(expected)):
        get(server, tmp_path / "file")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.message
def test_message_an_existing_file_has_another_digest(server: Server, tmp_path: Path):
    (tmp_path / "file").write_bytes(b"mine")
    with pytest.raises(ValueError, match=rf"has the SHA-256 .* instead of {SHA256}; remove it to download"):
        get(server, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == b"mine"
    assert server.ranges == []


@pytest.mark.message
@pytest.mark.parametrize(
    ("behavior", "kind", "message"),
    [
        ("missing", ConnectionError, r"/file answers 404 \(Not Found\); try later, or get the file"),
        ("silent", TimeoutError, r"/file sent nothing for 0\.2 s; try again to resume"),
        ("no answer", ConnectionError, r"cannot download .*/file \(.*closed connection without response"),
    ],
)
def test_message_the_server_sends_no_file(server: Server, tmp_path: Path, behavior: str, kind, message: str):
    server.behavior = behavior
    with pytest.raises(kind, match=message):
        get(server, tmp_path / "file", timeout=0.2)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.message
def test_message_the_disk_is_full(server: Server, tmp_path: Path, monkeypatch):
    def no_room(handle: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(module.os, "fsync", no_room)
        with pytest.raises(OSError, match=r"cannot write .*file\.part \(No space left on device\); free"):
            get(server, tmp_path / "file")
    assert not (tmp_path / "file").exists()
    get(server, tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == DATA


@pytest.mark.message
def test_message_an_unknown_corpus(tmp_path: Path):
    with pytest.raises(ValueError, match="no corpus 'toy' to download; choose from multi30k, tatoeba"):
        download("toy", tmp_path)
    assert list(tmp_path.iterdir()) == []
