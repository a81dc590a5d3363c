"""The last step of the ladder of stacks has today's parts."""

import torch

from annotated_transformer.book.chapters.from_here_to_modern_models.stacks import (
    KV_HEADS,
    LADDER,
    build_stack,
)
from annotated_transformer.modern.decoder_only import DecoderOnly
from annotated_transformer.modern.modern_parts import ModernParts

VOCAB = 29


def test_oracle_the_last_step_has_todays_parts():
    last = build_stack(list(LADDER)[-1], VOCAB, d_model=16)
    today = DecoderOnly(last.config, ModernParts(last.config, num_kv_heads=KV_HEADS))
    today.load_state_dict(last.state_dict())
    ids = torch.randint(3, VOCAB, (2, 7), generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(today(ids), last(ids))
