"""A local HTTP server for the tests that run in a browser."""

import contextlib
import functools
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A request handler that logs nothing and ignores clients that disconnect early."""

    def log_message(self, *args: object) -> None:
        """Log nothing."""

    def copyfile(self, source: Any, outputfile: Any) -> None:
        """Send a file; the page may have closed the connection."""
        with contextlib.suppress(ConnectionError):
            super().copyfile(source, outputfile)


@contextlib.contextmanager
def serving(folder: Path, handler: type[Quiet] = Quiet) -> Iterator[str]:
    """Serve `folder` on a free loopback port and yield the address, which ends with a slash."""
    bound = functools.partial(handler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), bound) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
