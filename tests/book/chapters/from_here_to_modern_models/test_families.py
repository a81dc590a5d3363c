"""The table of families shows the committed result, and each model of it has a report."""

from annotated_transformer.book.chapters.from_here_to_modern_models import families
from annotated_transformer.book.results import read_result


def cells() -> dict[str, list[str]]:
    rows = [line.strip("| ").split(" | ") for line in families.families_table().splitlines()[2:]]
    return {row[0].strip("[").partition("]")[0]: row[1:] for row in rows}


def test_law_each_model_of_the_result_has_a_row_and_a_report():
    rows = read_result("families")["rows"]
    assert list(cells()) == list(rows)
    assert set(families.REPORTS) == set(rows)
    for year, number in families.REPORTS.values():
        assert not number or abs(int(number[:2]) - int(year) % 100) <= 1


def test_law_rows_show_what_the_result_has():
    found = cells()
    assert found["GPT-2"] == ["2019", "LayerNorm", "before", "learned", "all", "plain", "yes", "–", "–"]
    assert found["Mistral 7B"][3:] == ["rotary", "8 of 32", "gated", "none", "in all layers", "–"]
    assert found["DeepSeek-V3"][4:] == ["compressed", "gated", "none", "–", "8 of 256"]
    gemma = ["RMSNorm\\*", "before and after", "rotary", "grouped", "gated", "none"]
    assert found["Gemma 3"][1:] == [*gemma, "in 5 of 6 layers", "–"]
    assert found["Qwen2"][6] == "q, k, v"


def test_law_branches_and_ideas_are_in_order_of_years():
    for named in (*families.BRANCHES.values(), families.IDEAS):
        years = [year for _, year in named]
        assert years == sorted(years)
