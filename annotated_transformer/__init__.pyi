from annotated_transformer.checkpointing.checkpoint import load as load
from annotated_transformer.checkpointing.checkpoint import save as save
from annotated_transformer.config import BASE as BASE
from annotated_transformer.config import BIG as BIG
from annotated_transformer.config import TINY as TINY
from annotated_transformer.config import TransformerConfig as TransformerConfig
from annotated_transformer.decoding.translator import Translator as Translator
from annotated_transformer.model.trainable import TrainableModel as TrainableModel
from annotated_transformer.model.transformer import Transformer as Transformer
from annotated_transformer.registry import register_attention as register_attention
from annotated_transformer.text.corpus import Corpus as Corpus
from annotated_transformer.text.corpus import load_corpus as load_corpus
from annotated_transformer.text.tokenizer import Tokenizer as Tokenizer
from annotated_transformer.training.config import TrainingConfig as TrainingConfig
from annotated_transformer.training.trainer import train as train

__version__: str
