from annotated_transformer.model.parts import PaperParts as PaperParts
from annotated_transformer.modern.alibi import ALiBi as ALiBi
from annotated_transformer.modern.biased_attention import BiasedAttention as BiasedAttention
from annotated_transformer.modern.biases import remove_biases as remove_biases
from annotated_transformer.modern.decoder_only import DecoderOnly as DecoderOnly
from annotated_transformer.modern.decoder_only import EncoderOnly as EncoderOnly
from annotated_transformer.modern.grouped_query_attention import (
    GroupedQueryAttention as GroupedQueryAttention,
)
from annotated_transformer.modern.language_model import continue_text as continue_text
from annotated_transformer.modern.language_model import next_token_loss as next_token_loss
from annotated_transformer.modern.mixture_of_experts import MixtureOfExperts as MixtureOfExperts
from annotated_transformer.modern.modern_model import ModernConfig as ModernConfig
from annotated_transformer.modern.modern_model import ModernModel as ModernModel
from annotated_transformer.modern.modern_parts import ModernParts as ModernParts
from annotated_transformer.modern.relative_bias import BucketedBias as BucketedBias
from annotated_transformer.modern.relative_bias import RelativeBias as RelativeBias
from annotated_transformer.modern.rms_norm import PreRMSNorm as PreRMSNorm
from annotated_transformer.modern.rms_norm import RMSNorm as RMSNorm
from annotated_transformer.modern.rotary import RotaryAttention as RotaryAttention
from annotated_transformer.modern.rotary import RotaryPositions as RotaryPositions
from annotated_transformer.modern.sliding_window import SlidingWindowAttention as SlidingWindowAttention
from annotated_transformer.modern.swiglu import SwiGLU as SwiGLU
from annotated_transformer.modern.swiglu import gated_width as gated_width
from annotated_transformer.modern.vision import VisionTransformer as VisionTransformer
