"""The explorer's engine, run in a browser from a file, gives the same numbers as the package."""

import base64
import contextlib
import json
import random
import unicodedata
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from playwright.sync_api import Browser, Page
from py_mini_racer import MiniRacer
from safetensors.torch import save

from annotated_transformer.book.explorer.int8 import explorer_translator
from annotated_transformer.decoding.greedy import generate, greedy_search
from annotated_transformer.decoding.translator import Translator
from annotated_transformer.inspection.heads import KINDS, ablate_head, attention_maps
from annotated_transformer.model.inference import suppress_tokens
from annotated_transformer.text.batching import Batch, pad
from annotated_transformer.text.cleaning import VARIANTS, set_aside
from annotated_transformer.text.tokenizer import BOS_ID
from builder.explorer import bundle, pack
from tests.explorer_sentences import sentences, strings

DIRECTIONS = ("de-en", "en-de")
EACH = 13  # sentences per direction
LOGITS, ATTENTION = 1e-4, 1e-5  # tolerances for single precision

PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>engine</title>
<script src="engine.js"></script>"""

# The page has the engine behind its public API, as in the explorer, and its parts on the main thread.
PREPARE = """async () => {
  window.client = new EngineClient(".");
  window.parts = transformerEngine();
  window.models = {};
  for (const direction of ["de-en", "en-de"]) {
    const model = await fetchModel(".", direction);
    models[direction] = new parts.Translator(await parts.inflate(model.file));
    client.models.set(direction, client.ask("load", model));
  }
  // Numbers travel as base64 of their bytes.
  window.packed = (rows) => {
    const bytes = new Uint8Array(Float32Array.from(rows.flat(9).flatMap((row) => Array.from(row))).buffer);
    let text = "";
    for (let i = 0; i < bytes.length; i += 4096) text += String.fromCharCode(...bytes.subarray(i, i + 4096));
    return btoa(text);
  };
  // A translation, with its logits and its attention.
  window.run = async (options) => {
    const answer = await client.translate(options);
    const logits = (await client.tensor("logits")).map((row) => row.map((x) => Math.max(x, -1e9)));
    const maps = Object.entries(answer.attention).map(([kind, weights]) => [kind, packed(weights)]);
    return { ...answer, logits: packed(logits), attention: Object.fromEntries(maps) };
  };
}"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the packed scripts and a page that loads the engine."""
    folder = tmp_path_factory.mktemp("engine")
    pack.write_weights(folder)
    (folder / "index.html").write_text(PAGE, encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def page(browser: Browser, folder: Path) -> Iterator[Page]:
    """Yield the page, opened from a file with both models; errors, console output, or other requests fail."""
    faults: list[str] = []
    with contextlib.closing(browser.new_page()) as page:
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("console", lambda message: faults.append(message.text))
        page.on("request", lambda asked: asked.url.startswith(("file:", "blob:")) or faults.append(asked.url))
        page.goto((folder / "index.html").as_uri())
        page.evaluate(PREPARE)
        yield page
    assert faults == []


@pytest.fixture(scope="module")
def translators() -> dict[str, Translator]:
    return {direction: explorer_translator(direction) for direction in DIRECTIONS}


@pytest.fixture(params=DIRECTIONS)
def direction(request: pytest.FixtureRequest) -> str:
    return request.param


def unpack(text: str, *shape: int) -> torch.Tensor:
    return torch.from_numpy(np.frombuffer(base64.b64decode(text), dtype="<f4").copy()).view(*shape)


def run(page: Page, direction: str, text: str, **options: object) -> dict[str, Any]:
    """Return what the engine answers through its public API."""
    return page.evaluate("options => run(options)", {"direction": direction, "text": text, **options})


def real(rows: torch.Tensor) -> list[list[int]]:
    return [[token for token in row if token != 0] for row in rows.tolist()]


def test_oracle_the_tokenizer_matches_python(page, translators, direction):
    tokenizer, texts = translators[direction].tokenizer, strings(400)
    answers = page.evaluate(
        """([direction, texts]) => {
          const { tokenizer } = models[direction];
          return texts.map((text) => {
            const ids = tokenizer.encodeSource(text);
            return { ids, text: tokenizer.decode(ids), tokens: tokenizer.tokens(ids.slice(0, -1)) };
          });
        }""",
        [direction, texts],
    )
    ids = tokenizer.encode_source(texts)
    assert [one["ids"] for one in answers] == ids
    assert [one["text"] for one in answers] == tokenizer.decode(ids)
    assert [one["tokens"] for one in answers] == [tokenizer.tokens(row[:-1]) for row in ids]
    rows = torch.randint(tokenizer.vocab_size, (100, 7), generator=torch.Generator().manual_seed(0)).tolist()
    rows.append([*map(tokenizer._backend.token_to_id, "ï»¿"), 70])  # the three bytes of a byte order mark
    decode = "([direction, rows]) => rows.map((ids) => models[direction].tokenizer.decode(ids))"
    assert page.evaluate(decode, [direction, rows]) == tokenizer.decode(rows)


def test_oracle_decorations_are_set_aside_as_in_python():
    racer, labels = MiniRacer(), ("1. ", "(a) ", "b) ", "3.5 ", "1️⃣ ", "- ")
    racer.eval(pack.read_script(pack.HERE / "engine" / "cleaning.js"))
    texts = [label + text for text in strings(2000) for label in ("", random.Random(text).choice(labels))]
    kinds = {character: unicodedata.category(character) for character in map(chr, range(0xE0200))}
    letters = [c for c, kind in kinds.items() if kind in ("Co", "Lo")]  # of Chinese, for example: many alike
    known = [c for c, kind in kinds.items() if kind not in ("Cn", "Co", "Cs", "Lo")]
    known += random.Random(0).sample(letters, 2_000)  # browsers may know later versions of Unicode
    texts += [f"Hi{character}." for character in known]
    racer.eval(f"const variants = new Map(Object.entries({json.dumps(VARIANTS)}))")
    parts = racer.eval(f"JSON.stringify({json.dumps(texts)}.map((text) => setAside(text, variants)))")
    pairs = zip(texts, json.loads(str(parts)), strict=True)
    assert [text for text, split in pairs if (*split,) != set_aside(text)] == []


@pytest.mark.usefixtures("unchecked")
def test_oracle_greedy_search_its_logits_and_its_attention_match_python(page, translators, direction):
    translator = translators[direction]
    texts = [f"\u200e• {text}\u2063 😊" for text in sentences(direction, EACH)]  # with decorations
    model, ids = translator.model, translator.encode(texts).ids
    targets = real(greedy_search(model, pad(ids)))
    batch = Batch(list(range(len(ids))), pad(ids), pad([[BOS_ID, *tgt] for tgt in targets]))
    with torch.inference_mode():
        all_logits = [suppress_tokens(one, model.config) for one in model(batch.src, batch.decoder_input)]
        all_maps = attention_maps(model, batch)
    translations = translator.translate(texts)
    for row, (text, src, tgt) in enumerate(zip(texts, ids, targets, strict=True)):
        answer = run(page, direction, text)
        assert answer["text"] == translations[row]
        assert answer["source"]["ids"] == src, text
        assert answer["target"]["ids"] == tgt, text
        logits = all_logits[row][: len(tgt)]
        apart = unpack(answer["logits"], *logits.shape) - logits.clamp(min=-1e9)
        assert apart.abs().max() < LOGITS, text
        for kind, queries, keys in (("encoder", src, src), ("decoder", tgt, tgt), ("cross", tgt, src)):
            weights = all_maps[kind][row, ..., : len(queries), : len(keys)]
            apart = unpack(answer["attention"][kind], *weights.shape) - weights
            assert apart.abs().max() < ATTENTION, (text, kind)
        expected = logits.log_softmax(dim=-1)[range(len(tgt)), tgt].sum()
        assert answer["logProb"] == pytest.approx(float(expected), abs=LOGITS * len(tgt)), text
        likeliest = [[one["probability"] for one in step] for step in answer["top"]]
        shares = logits.softmax(dim=-1).topk(5).values
        assert (torch.tensor(likeliest) - shares).abs().max() < ATTENTION, text


@pytest.mark.usefixtures("unchecked")
def test_oracle_decoding_continues_from_forced_tokens_as_in_python(page, translators, direction):
    translator, texts = translators[direction], sentences(direction, EACH)
    prefixes = [[7 + i, 500 + 31 * i][: 1 + i % 2] for i in range(EACH)]
    expected: list[list[int]] = [[] for _ in texts]
    for length in (1, 2):  # sources with prefixes of the same length are decoded as a batch
        rows = [i for i, prefix in enumerate(prefixes) if len(prefix) == length]
        steps = iter(torch.tensor([prefixes[i] for i in rows]).T)
        choose = lambda logits, steps=steps: next(steps, logits.argmax(dim=-1))  # noqa: E731
        src = pad(translator.encode([texts[i] for i in rows]).ids)
        for i, ids in zip(rows, real(generate(translator.model, src, choose)), strict=True):
            expected[i] = ids
    pairs = zip(texts, prefixes, strict=True)
    assert [run(page, direction, text, prefix=ids)["target"]["ids"] for text, ids in pairs] == expected


@pytest.mark.parametrize("kind", KINDS)
def test_oracle_ablating_a_head_gives_the_logits_of_python(page, translators, kind):
    translator = translators["en-de"]
    (text, *_), layer, head = sentences("en-de", EACH), 1, 3
    src = torch.tensor(translator.encode([text]).ids)
    with ablate_head(translator.model, kind, layer, head), torch.inference_mode():
        tgt = greedy_search(translator.model, src)
        logits = translator.model(src, torch.cat([torch.tensor([[1]]), tgt[:, :-1]], dim=1))[0]
    changed, whole = (run(page, "en-de", text, ablated=heads) for heads in ([[kind, layer, head]], []))
    assert changed["target"]["ids"] == tgt[0].tolist()
    on, off = (unpack(answer["logits"], -1, 6000)[:, 2:] for answer in (whole, changed))
    assert (off - logits[:, 2:]).abs().max() < LOGITS
    steps = min(len(on), len(off))
    assert (on[:steps] - off[:steps]).abs().max() > 1e-2


def test_law_each_number_can_be_recomputed_from_its_stated_operands(page):
    numbers = page.evaluate(
        """async (text) => {
          const ablated = [["encoder", 0, 1], ["decoder", 2, 3], ["cross", 1, 4]]; // heads that are looked at
          const { tensors } = await client.translate({ direction: "en-de", text, ablated });
          const numbers = [];
          for (const { name, shape } of tensors) {
            for (const part of [0, 0.31, 0.62, 0.999]) {
              const index = shape.map((size, axis) => Math.floor(size * ((part * (axis + 1)) % 1)));
              numbers.push(await client.provenance(name, index));
            }
          }
          const scale = ({ terms, aside }) =>
            Math.max(...[{ value: aside?.bias ?? 0 }, ...terms].map(({ value }) => Math.abs(value)));
          return numbers.map((one) => ({ ...one, terms: [], scale: scale(one) }));
        }""",
        "The old man sees it.",
    )
    for one in numbers:
        expected = pytest.approx(one["value"], abs=1e-6 * one["scale"], rel=1e-6)
        assert one["result"] == expected, one
    assert {one["name"] for one in numbers if (one.get("aside") or {}).get("off")} == {
        "encoder.layers.0.self_attention.heads",
        "decoder.layers.2.self_attention.heads",
        "decoder.layers.1.cross_attention.heads",
    }
    assert {one["kind"] for one in numbers} == set(bundle.kinds())


REFUSED = [
    *("  \u00ad\t ", "♪ … \u200e!", "it's\x85a \x07 b", 'it\'s \ud800 "half" \\ \x07\n\u2028\xa0'),
    "it's \U0001d6c2 \U000e0001 " * 60,
]


@pytest.mark.parametrize("text", REFUSED, ids=range(len(REFUSED)))
def test_message_texts_that_python_refuses_are_refused_with_its_message(page, translators, text):
    with pytest.raises(ValueError, match="text 1 of 1") as refused:
        translators["en-de"].translate([text], split=False)
    attempt = f"""async () => client.translate({{ direction: "en-de", text: {json.dumps(text)} }})
      .then(() => null, (error) => error.message)"""
    assert page.evaluate(attempt) == str(refused.value)


def test_oracle_the_page_reads_the_weights_of_the_rounded_model_exactly(page, translators, direction):
    weights = dict(translators[direction].model.named_parameters())
    read = "direction => [...models[direction].model.tensors].map(([x, rows]) => [x, packed([rows])])"
    tensors = dict(page.evaluate(read, direction))
    assert tensors.keys() == weights.keys()
    assert all(torch.equal(unpack(tensors[name], *x.shape), x) for name, x in weights.items())


CHANGES = (
    *('norm: "pre"', 'activation: "gelu"', 'positions: "no"', "d_k: 16"),
    *("final_norm: true", "output_bias: true", "tied_output: false"),
)
UNSUPPORTED = {  # what is attempted, and the message
    "parts.readSafetensors(await parts.inflate(file))": "x is stored as F16; this engine reads F32, I8",
    "new constructor(config, new Map())": "the weights hold no embedding.weight",
    **{
        f"new constructor({{ ...config, {change} }}, tensors)": f"the model has {change}; this engine"
        for change in CHANGES
    },
}


@pytest.mark.parametrize(("attempt", "message"), UNSUPPORTED.items())
def test_message_what_the_engine_does_not_support(page, attempt, message):
    run = f"""async (file) => {{
      const {{ config, tensors, constructor }} = models["en-de"].model;
      try {{ {attempt}; }} catch (error) {{ return error.message; }}
    }}"""
    half = zlib.compress(save({"x": torch.zeros(3).half()})).decode("latin-1")
    assert page.evaluate(run, half).startswith(message.replace(": ", "=").replace('"', ""))
