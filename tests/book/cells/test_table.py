"""Computed tables."""

import pytest

from annotated_transformer.book import show_table


def test_a_column_of_numbers_is_aligned_to_the_right():
    rows = [("beam 1", "12%", 1_000), ("beam 4", "9.5% to 11%", "−0.5")]
    assert str(repr(show_table(["search", "missed", 1], rows))).splitlines() == [
        "| search | missed | 1 |",
        "| --- | --: | --: |",
        "| beam 1 | 12% | 1000 |",
        "| beam 4 | 9.5% to 11% | −0.5 |",
    ]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], r"the table a \| b has no rows"),
        ([(1, 2), (3,)], r"a row has 1 cells, 3, but the head has 2"),
    ],
)
def test_message_a_table_without_rows_or_with_a_short_one(rows, message):
    with pytest.raises(ValueError, match=message):
        show_table(["a", "b"], rows)
