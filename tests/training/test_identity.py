"""What identifies a training run; what a resumed run refuses is in `checkpointing/test_run_directory`."""

from pathlib import Path

from annotated_transformer.training import identity
from tests.own_models import LanguageModel, make


def test_law_the_digest_of_the_code_follows_a_formula_and_an_own_class(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(identity, "PACKAGE", tmp_path)
    (tmp_path / "model").mkdir()

    def digest(formula: str = "a", own: str = "b", seed: int = 0) -> str:
        (tmp_path / "model" / "attention.py").write_text(formula)
        monkeypatch.setattr("inspect.getsource", lambda kind: own)
        return identity.source_digest(make(LanguageModel, seed))

    assert digest() == digest(seed=1)
    assert len({digest(), digest(formula="c"), digest(own="c")}) == 3
