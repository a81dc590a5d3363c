from annotated_transformer.evaluation.bleu import BleuScore as BleuScore
from annotated_transformer.evaluation.bleu import multi30k_bleu as multi30k_bleu
from annotated_transformer.evaluation.bleu import sacrebleu as sacrebleu
from annotated_transformer.evaluation.bleu import sacrebleu_13a as sacrebleu_13a
from annotated_transformer.evaluation.bleu import tokenizer_for as tokenizer_for
from annotated_transformer.evaluation.metrics import Score as Score
from annotated_transformer.evaluation.metrics import chrf as chrf
from annotated_transformer.evaluation.metrics import ter as ter
