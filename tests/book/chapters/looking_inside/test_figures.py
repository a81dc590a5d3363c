"""The drawings of the chapter on looking inside name the right heads."""

from annotated_transformer.book.chapters.looking_inside import figures
from tests.drawings import texts


def test_law_the_arrow_joins_equally_sharp_heads_that_differ_most():
    rows = [
        {"kind": "cross", "entropy": entropy, "lost": lost}
        for entropy, lost in [(1.0, 0.5), (1.04, 3.0), (1.08, 0.1), (1.2, -5.0), (0.97, 0.25)]
    ]
    needed, spare = figures.alike(rows)
    assert (needed["lost"], spare["lost"]) == (3.0, 0.1)  # 1.08 is nearer to 1.04 than 0.05, 0.97 is not
    assert "equally sharp,\n2.9 BLEU apart" in texts(figures.draw_maps_and_losses(rows))
