"""The masks: True = may attend, j ≤ i, and never a padding key."""

import pytest
import torch

from annotated_transformer.model.masks import causal_mask, decoder_mask, padding_mask

PAD = 3  # not 0, to detect a forgotten pad_id
IDS = torch.tensor([[5, 0, 7, 9, PAD], [8, 4, PAD, PAD, PAD]])
TOKENS = IDS.size(1)


@pytest.mark.equation("eq-causal-mask")
def test_law_position_i_may_attend_to_itself_and_what_came_before():
    mask = causal_mask(TOKENS)
    assert mask.dtype == torch.bool
    assert mask.tolist() == [[j <= i for j in range(TOKENS)] for i in range(TOKENS)]


@pytest.mark.equation("eq-padding-mask")
def test_law_the_padding_mask_allows_every_key_but_padding_and_the_decoder_mask_none_that_comes_later():
    padding, both = padding_mask(IDS, PAD), decoder_mask(IDS, PAD)
    assert padding.dtype == both.dtype == torch.bool
    real = [[id_ != PAD for id_ in row] for row in IDS.tolist()]
    assert padding.tolist() == [[[row]] for row in real]
    assert both.tolist() == [
        [[[j <= i and row[j] for j in range(TOKENS)] for i in range(TOKENS)]] for row in real
    ]


def test_law_masks_stay_on_the_device_of_the_ids():
    ids = IDS.to("meta")
    assert decoder_mask(ids, PAD).device == padding_mask(ids, PAD).device == ids.device
    assert causal_mask(TOKENS, torch.device("meta")).device == ids.device
