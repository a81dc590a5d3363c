"""Published corpora: their files, where they are downloaded from, and their terms: the chapter on training.

The package contains none of their text. How they are read is in `text.corpus.CORPORA`.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

GITHUB = "https://raw.githubusercontent.com"


@dataclass(frozen=True, kw_only=True)
class Source:
    """The terms of a corpus, and its files at one commit of a public repository, if they are published.

    Attributes:
        terms: The license and the attribution that it requires.
        url: The address of a file, without the file's name.
        sums: One line per file in the format of sha256sum: digest, two spaces, name.
        is_fixed: Whether other files than these, such as another release, are refused.
    """

    terms: str
    url: str = ""
    sums: str = ""
    is_fixed: bool = False

    @property
    def files(self) -> dict[str, str]:
        """Return the SHA-256 of each file by name."""
        return {name: digest for digest, name in map(str.split, self.sums.splitlines())}


MULTI30K = Source(
    url=f"{GITHUB}/multi30k/dataset/a3d2e0d26b56f3846f66a952536ffed4e401d05a/data/task1/raw",
    sums="""\
726e39b2fa9eb9ffb6dc763fb35a179f80fae06ffc5d28b6ace5faa883de28a6  train.de.gz
d79cfa999dd4c51d2cb42499b6796d5a882c3a8a961923c25a898c90f8bbd56f  train.en.gz
f0cba2f995189cf5770f29a8a9a537a3ad3f51657ad873405082ff6863a5e75a  val.de.gz
14f7d25ddd868909a9213e361768460edcacdd6ab9d1e77b92560dc10c10dc28  val.en.gz
9204244e408ccb38d2a55cfcd344df15005fc42a07a6e55ca6c52b6ababb8cc8  test_2016_flickr.de.gz
611d361c6334bc7246101d48097c13cf5c4413c5befc793cc629934359d532d9  test_2016_flickr.en.gz
a2c89666db00c495cd8513b9d708d5a3acc205d7de312ef2bf5fb7ebc1540aee  test_2017_flickr.de.gz
76a444ee25172e72695cddb13ae4a3bda59430617be88e0bb46b60504f054074  test_2017_flickr.en.gz
799e4854c25d601cb6cb6be29eabe5667734c61ace2f495e03e429031a0bc338  test_2017_mscoco.de.gz
aab300bfb4427697987e02cd0aacd44bfe8aa50456231b6474c08038bbed2b58  test_2017_mscoco.en.gz
ddd0130c7d97482dc5197a02141dae8dd79f20f03586c480d675c09a32daf608  test_2018_flickr.de.gz
ef4f4844037d4c5dea75c9a8ed5fd78905967a26f67c255e230cc9780032654d  test_2018_flickr.en.gz
""",
    terms="""\
Multi30K, https://github.com/multi30k/dataset
Terms: no license is stated for the text. Its README speaks of the images: "They are
solely provided for researchers and educators who wish to use the dataset for non-commercial
research and/or educational purposes." Our reading: use the text so, too; do not pass it on.
Please cite: Elliott, Frank, Sima'an, Specia: Multi30K: Multilingual English-German Image
Descriptions. 5th Workshop on Vision and Language, 2016, pp. 70-74,
doi 10.18653/v1/W16-3210.
For test_2017_*: Elliott et al.: Findings of the Second Shared Task on Multimodal Machine
Translation and Multilingual Image Description. WMT 2017, pp. 215-233.
For test_2018_*: Barrault et al.: Findings of the Third Shared Task on Multimodal Machine
Translation. WMT 2018, pp. 304-323.""",
    is_fixed=True,
)

TATOEBA = Source(
    url=f"{GITHUB}/rioyshky/translation/de48b7027f7318d77010a6e08ed928c10748c23d",
    sums="""\
b7688f84f99fa33c17397c14d8bd9cef1fdeb2ee0bf50074767023aee8926e28  deu-eng.zip
""",
    terms="""\
Attribution: www.manythings.org/anki and tatoeba.org
License: CC BY 2.0, https://creativecommons.org/licenses/by/2.0
Changed: white space and quotation marks were normalized, unsuitable pairs left out, the rest split in three.
If you share a copy or a part of it, keep this attribution and say that it was changed.""",
)


def refuse_other_files(name: str, source: Source, paths: Iterable[Path]) -> None:
    """Refuse files that are not those of the corpus `name`, which `source` has."""
    for path in paths:
        if not path.is_file():  # a folder or a FIFO: `read_pairs` refuses it
            continue
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
        if digest != source.files.get(path.name):
            raise ValueError(
                f"{path} is not a file of the published corpus {name} (its SHA-256 is {digest}); "
                f"download {name} again, or choose the corpus files for your own sentences"
            )
