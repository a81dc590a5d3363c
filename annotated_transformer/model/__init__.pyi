from annotated_transformer.model.attention import AdditiveAttention as AdditiveAttention
from annotated_transformer.model.attention import FusedAttention as FusedAttention
from annotated_transformer.model.attention import (
    ScaledDotProductAttention as ScaledDotProductAttention,
)
from annotated_transformer.model.decoder import Decoder as Decoder
from annotated_transformer.model.decoder import DecoderLayer as DecoderLayer
from annotated_transformer.model.embeddings import TokenEmbedding as TokenEmbedding
from annotated_transformer.model.encoder import Encoder as Encoder
from annotated_transformer.model.encoder import EncoderLayer as EncoderLayer
from annotated_transformer.model.feed_forward import FeedForward as FeedForward
from annotated_transformer.model.masks import causal_mask as causal_mask
from annotated_transformer.model.masks import decoder_mask as decoder_mask
from annotated_transformer.model.masks import padding_mask as padding_mask
from annotated_transformer.model.multi_head_attention import (
    MultiHeadAttention as MultiHeadAttention,
)
from annotated_transformer.model.normalization import LayerNorm as LayerNorm
from annotated_transformer.model.normalization import PostNorm as PostNorm
from annotated_transformer.model.normalization import PreNorm as PreNorm
from annotated_transformer.model.positional_encoding import (
    LearnedPositions as LearnedPositions,
)
from annotated_transformer.model.positional_encoding import (
    SinusoidalPositions as SinusoidalPositions,
)
from annotated_transformer.model.trainable import TrainableModel as TrainableModel
from annotated_transformer.model.transformer import Transformer as Transformer
