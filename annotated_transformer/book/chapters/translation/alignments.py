"""Sentences whose words we aligned by hand, and the cross-attention between them."""

from typing import NamedTuple

import regex
import torch
from jaxtyping import Float
from torch import Tensor

from annotated_transformer.inspection.observation import observe
from annotated_transformer.model.transformer import Transformer
from annotated_transformer.text.batching import batch_of, encode_pairs
from annotated_transformer.text.tokenizer import SPECIAL_TOKENS, Tokenizer

# English sentences by us, their translations, and for each word of a translation, in its order, the English
# word or words that it translates. No word occurs twice in an English sentence.
_LIST = """
    I know that he has a car. = Ich weiß, dass er ein Auto hat. = I know that he a car has
    She has read the long letter. = Sie hat den langen Brief gelesen. = She has the long letter read
    Soon we will visit our aunt. = Bald werden wir unsere Tante besuchen. = Soon will we our aunt visit
    I can speak German very well. = Ich kann sehr gut Deutsch sprechen. = I can very well German speak
    When I was young, we lived here. = Als ich jung war, wohnten wir hier. = When I young was lived we here
    He did not buy the red car. = Er hat das rote Auto nicht gekauft. = He did the red car not buy
    My brother wants to become a doctor. = Mein Bruder will Arzt werden. = My brother wants doctor become
    The dog has eaten our bread. = Der Hund hat unser Brot gegessen. = The dog has our bread eaten
    Today she wrote him a letter. = Heute schrieb sie ihm einen Brief. = Today wrote she him a letter
    Do you know where my key is? = Weißt du, wo mein Schlüssel ist? = know you where my key is
    We stayed because it rained. = Wir blieben, weil es regnete. = We stayed because it rained
    He has never seen the sea. = Er hat das Meer nie gesehen. = He has the sea never seen
    A book that you gave me is old. = Ein Buch, das du mir gabst, ist alt. = A book that you me gave is old
    Soon I must work every day. = Bald muss ich jeden Tag arbeiten. = Soon must I every day work
    She told us an old story. = Sie erzählte uns eine alte Geschichte. = She told us an old story
    My father reads in the morning. = Mein Vater liest morgens. = My father reads in+the+morning
"""


class Alignment(NamedTuple):
    """A sentence, its translation, and for each word of the translation the places of those it translates."""

    source: str
    target: str
    links: tuple[frozenset[int], ...]


def words_of(text: str) -> list[str]:
    """Return the words of a text, without punctuation."""
    return [word.strip(".,?!") for word in text.split()]


def read_alignments(text: str) -> list[Alignment]:
    """Return the alignments of a list: one a line, as `source = target = glosses`, with + between two words.

    Raises:
        ValueError: If a gloss is not a word of the source, or a word of the target has none.
    """
    found = []
    for line in text.strip().splitlines():
        source, target, glosses = (part.strip() for part in line.split(" = "))
        words = words_of(source)
        strange = sorted(set(glosses.replace("+", " ").split()) - set(words))
        if strange or len(glosses.split()) != len(words_of(target)):
            raise ValueError(
                f"the glosses {glosses!r} are not one for each word of {target!r}, from the words of "
                f"{source!r}; not among these: {strange}"
            )
        links = (frozenset(map(words.index, gloss.split("+"))) for gloss in glosses.split())
        found.append(Alignment(source, target, tuple(links)))
    return found


ALIGNMENTS: tuple[Alignment, ...] = tuple(read_alignments(_LIST))


def word_places(tokens: list[str]) -> list[int | None]:
    """Return the place of the word that each token is part of, or None for punctuation and EOS."""
    places: list[int | None] = []
    count = 0
    for token in tokens:
        is_word = token not in SPECIAL_TOKENS and regex.search(r"[\p{L}\p{M}\p{N}]", token) is not None
        count += token.startswith(" ") and is_word
        places.append(count - 1 if is_word else None)
    return places


def word_attention(
    model: Transformer,
    tokenizer: Tokenizer,
    alignment: Alignment,
    *,
    going_in: bool = False,
) -> Float[Tensor, "layers heads _tgt_words _src_words"]:
    """Return the cross-attention from predicting each target word to each source word.

    The weights on the tokens of a source word are added, and the rows of the tokens of
    a target word are averaged. Weights on punctuation and EOS are left out, so a row
    may sum to less than 1. With `going_in`, the rows are those in which a word's tokens
    are the decoder's input, one row later.
    """
    encoded = encode_pairs(tokenizer, [alignment[:2]])
    batch = batch_of(encoded, [0], pad_id=model.config.pad_id)
    weights = observe(model, batch.src, batch.labels).attention[0]
    tokens = [tokenizer.tokens(ids.tolist()) for ids in (batch.labels[0], batch.src[0])]
    rows, columns = map(membership, tokens)
    rows = rows.roll(int(going_in), dims=1)  # EOS, the last, is part of no word
    rows = rows / rows.sum(dim=1, keepdim=True)
    return rows.to(weights) @ weights @ columns.T.to(weights)


def membership(tokens: list[str]) -> Float[Tensor, "_words _tokens"]:
    """Return for each word (row) which tokens (columns) are a part of it, as 1 and 0."""
    places = word_places(tokens)
    count = 1 + max(place for place in places if place is not None)
    return torch.tensor([[float(place == word) for place in places] for word in range(count)])
