"""A folder served on this machine only, for a browser that measures or tests its pages."""

import contextlib
import functools
import http.server
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A server that does not print, and does not mind a browser that leaves early."""

    def log_message(self, *args: object) -> None:
        """Say nothing."""

    def copyfile(self, source: Any, outputfile: Any) -> None:
        """Send a file; a page that has moved on no longer wants it."""
        with contextlib.suppress(ConnectionError):
            super().copyfile(source, outputfile)


@contextlib.contextmanager
def serving(folder: Path, handler: type[Quiet] = Quiet) -> Iterator[str]:
    """Serve `folder` on loopback, on a free port, and yield its address, which ends with a slash."""
    bound = functools.partial(handler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), bound) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
