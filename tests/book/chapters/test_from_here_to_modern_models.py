"""The last step of the ladder of stacks has today's parts, and windows add up."""

import torch

from annotated_transformer.book.chapters.from_here_to_modern_models.stacks import (
    KV_HEADS,
    LADDER,
    WindowParts,
    build_stack,
)
from annotated_transformer.config import TransformerConfig
from annotated_transformer.modern.decoder_only import DecoderOnly
from annotated_transformer.modern.modern_parts import ModernParts

VOCAB = 29


def test_oracle_the_last_step_has_todays_parts():
    torch.manual_seed(0)
    last = build_stack(list(LADDER)[-1], VOCAB, d_model=16)
    today = DecoderOnly(last.config, ModernParts(last.config, num_kv_heads=KV_HEADS))
    today.load_state_dict(last.state_dict())
    ids = torch.randint(3, VOCAB, (2, 7), generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(today(ids), last(ids))


def test_law_a_stack_with_windows_reads_one_window_less_one_for_each_layer():
    config = TransformerConfig(
        vocab_size=11, max_length=17, num_layers=2, d_model=6, d_ff=7, num_heads=3, dropout=0.0
    )
    model = DecoderOnly(config, WindowParts(config, 4)).double()
    x = model.embed(torch.arange(3, 11)[None]).detach().requires_grad_()
    model.encoder(x, model.mask(torch.arange(3, 11)[None]))[0, -1].square().sum().backward()
    assert x.grad is not None
    assert (x.grad[0].abs().amax(dim=-1) > 0).tolist() == [False] + [True] * 7
