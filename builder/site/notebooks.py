"""What the site offers of the notebooks: a download without solutions, and buttons to open them elsewhere."""

import json
import zipfile
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

from builder.reader import without_solutions

STUDENT = "notebooks-without-solutions.zip"
LAUNCH = {
    "colab_url": "https://colab.research.google.com",
    "binderhub_url": "https://mybinder.org",
    "notebook_interface": "jupyterlab",
}
EPOCH = (1980, 1, 1, 0, 0, 0)  # the same bytes at every build


def write_download(app: Sphinx) -> None:
    """Write all notebooks without their solutions, in one archive that the preface links to."""
    with zipfile.ZipFile(Path(app.outdir, STUDENT), "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(Path(app.srcdir, "chapters").glob("*.ipynb")):
            notebook = without_solutions(json.loads(path.read_text("utf-8")))
            text = json.dumps(notebook, ensure_ascii=False, indent=1, sort_keys=True)
            archive.writestr(zipfile.ZipInfo(path.name, EPOCH), text + "\n", zipfile.ZIP_DEFLATED)


def offer_to_launch(app: Sphinx, config: Any) -> None:
    """Add buttons that open a page's notebook in Colab and Binder, once the repository has an address."""
    if config.html_theme_options.get("repository_url"):
        config.html_theme_options.setdefault("launch_buttons", LAUNCH)
