"""From sentences to sentences with a trained model: section 6.1 of the paper, the chapter on decoding."""

from pathlib import Path

from annotated_transformer.checkpoint import load
from annotated_transformer.decoding.search import greedy_search
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import pad
from annotated_transformer.text.tokenizer import EOS_ID, Tokenizer


class Translator:
    """A model and its tokenizer, ready to translate."""

    def __init__(self, model: Transformer, tokenizer: Tokenizer) -> None:
        self.model = model
        self.tokenizer = tokenizer

    @classmethod
    def from_folder(cls, folder: str | Path) -> "Translator":
        """Load what `checkpoint.save` wrote."""
        return cls(*load(folder))

    def translate(self, texts: list[str], *, batch_size: int = 64) -> list[str]:
        """Return a translation of each text, in the same order; texts of like length share a batch."""
        if isinstance(texts, str):
            raise TypeError(f"translate takes a list of texts, not one text; give [{texts!r}]")
        sources = self.tokenizer.encode_source(texts)
        for index, ids in enumerate(sources):
            if ids == [EOS_ID]:
                raise ValueError(f"text {index} of {len(texts)} is empty ({texts[index]!r}); leave it out")
        order = sorted(range(len(texts)), key=lambda i: len(sources[i]))
        translations = [""] * len(texts)
        device = next(self.model.parameters()).device
        for start in range(0, len(order), batch_size):
            rows = order[start : start + batch_size]
            found = greedy_search(self.model, pad([sources[i] for i in rows]).to(device))
            for i, text in zip(rows, self.tokenizer.decode(found.tolist()), strict=True):
                translations[i] = text
        return translations
