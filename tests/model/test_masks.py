"""The masks: True = may attend, j ≤ i, and never a padding key."""

import pytest
import torch

from annotated_transformer.model.masks import causal_mask, decoder_mask, padding_mask

PAD = 3  # not 0, to detect a forgotten pad_id
IDS = torch.tensor([[5, 0, 7, 9, PAD], [8, 4, PAD, PAD, PAD]])
BATCH, TOKENS = IDS.shape


@pytest.mark.equation("eq-causal-mask")
def test_law_position_i_may_attend_to_itself_and_what_came_before():
    mask = causal_mask(TOKENS)
    assert mask.dtype == torch.bool
    assert mask.tolist() == [[j <= i for j in range(TOKENS)] for i in range(TOKENS)]


@pytest.mark.equation("eq-padding-mask")
def test_law_the_padding_mask_allows_every_key_except_padding():
    mask = padding_mask(IDS, PAD)
    assert mask.dtype == torch.bool
    assert mask.shape == (BATCH, 1, 1, TOKENS)
    for sentence in range(BATCH):
        for j in range(TOKENS):
            assert mask[sentence, 0, 0, j] == (IDS[sentence, j] != PAD)


def test_law_the_decoder_mask_combines_the_causal_and_the_padding_mask():
    mask = decoder_mask(IDS, PAD)
    assert mask.shape == (BATCH, 1, TOKENS, TOKENS)
    for sentence in range(BATCH):
        for i in range(TOKENS):
            for j in range(TOKENS):
                assert mask[sentence, 0, i, j] == (j <= i and IDS[sentence, j] != PAD)


def test_law_masks_stay_on_the_device_of_the_ids():
    ids = IDS.to("meta")
    assert decoder_mask(ids, PAD).device == padding_mask(ids, PAD).device == ids.device
    assert causal_mask(TOKENS, torch.device("meta")).device == ids.device
