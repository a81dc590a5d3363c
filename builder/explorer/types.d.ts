// The types that the explorer's scripts share. They are global, so no script has to import them.

// The engine.

type Vector = Float32Array;
type Matrix = Vector[]; // a vector for each token
type Kind = "encoder" | "decoder" | "cross"; // whose attention
type Head = [kind: Kind, layer: number, head: number];
type Model = import("./engine/transformer.js").Transformer;
type Translator = import("./engine/translator.js").Translator;
type Observation = ReturnType<Translator["observe"]>;
type Likely = { id: number; token: string; probability: number };
type Provenance = import("./engine/provenance.js").Provenance;

/** The settings of config.json that the engine reads. */
type Config = Record<
  "num_layers" | "num_heads" | "d_model" | "vocab_size" | "max_length" | "pad_id" | "bos_id" | "eos_id",
  number
>;

// Between the page and the engine.

type Packed = { direction: string; file: string }; // a model, as pack.py has packed it
type Options = Pick<State, "direction" | "text" | "prefix" | "ablated">;
type TokensReport = (partial: { tokens: string[] }) => void;
type Answer = {
  source: { ids: number[]; tokens: string[] };
  target: { ids: number[]; tokens: string[] };
  text: string;
  written: string[]; // what stands before each token
  logProb: number;
  logProbs: number[];
  top: Likely[][];
  attention: Record<Kind, Matrix[][]>; // layers × heads × queries × keys
  tensors: { name: string; shape: number[] }[];
};

// The page.

type Explorer = import("./ui/explorer.js").Explorer;
type Session = import("./ui/session.js").Session;
type State = typeof import("./ui/state.js").START;
type Typed = Pick<State, "direction" | "text">; // a sentence and its direction

type Place = Pick<State, "step" | "stop">; // the token that is made, and its stop: null is the overview
type Axes = ReturnType<typeof import("./ui/names.js").axes>;

type Outcome = Pick<Answer, "target" | "text" | "logProb" | "logProbs" | "top"> & { direction: string };
/** If heads are off: `whole` is the translation with all heads, and `rescored` how likely that one is without them. */
type Translation = Answer &
  Outcome & { options: Options; whole: Answer | null; rescored: Answer | null; frame?: undefined };
/** What the page shows before a model is loaded; it was computed when the book was built. */
type FirstFrame = Outcome & {
  source: { tokens: string[] };
  attention: number[][];
  selfAttention: number[][];
  frame: true;
  written?: undefined;
  tensors?: undefined;
};
type Result = FirstFrame | Translation;

/** A part of a stack in the picture: a box, the tensor that it opens, and the strip of numbers that leaves it. */
type Part = {
  box?: string; // what is written in it; a part without one only shows a strip
  tensor: string; // its name, in the layer if it begins with a point
  role: string; // its color
  stop: number; // at which its strip appears
  past?: string; // what goes past the part before it and joins: the residual connection
  cells?: string; // what is drawn inside the box: hidden units
  inLayer?: boolean;
  closed?: number; // the number of a layer that is not drawn: only the strip that leaves it is
};
type Scene = ReturnType<typeof import("./ui/scene.js").sceneOf>;
type Rows = Record<string, ArrayLike<number>[]>; // a row for each token, by the tensor's name
type Layout = ReturnType<typeof import("./ui/layout.js").layout>;
type Box = { x: number; y: number; width: number; height: number };
type Placed = { part: Part; box: Box | null; strip: Box }; // in the decoder, the strip is above the box
type Stack = { panel: Box; parts: Placed[]; input: Box };

type Child = Node | string | number | null | undefined | false | Child[];
type Attributes = Record<string, unknown> & {
  onclick?: (event: MouseEvent) => unknown;
  onkeydown?: (event: KeyboardEvent) => unknown;
  onpointermove?: (event: PointerEvent) => unknown;
  onsubmit?: (event: SubmitEvent) => unknown;
};

/** What the poster shows; poster.py writes it. */
type Poster = Pick<Answer, "source" | "text"> & {
  direction: string;
  sentence: string;
  step: number; // the place of the token that is followed
  layer: number; // the one that is drawn open
  head: number; // of which `closer` has the numbers
  read: Answer["source"];
  target: Answer["source"];
  chosen: number[];
  top: { token: string; logit: number; probability: number }[];
  closer: Record<string, number[][]>;
  weights: Record<string, (number | null)[][][]>;
  shapes: Record<string, number[]>;
  strips: Record<string, string>;
  config: { d_model: number };
  sizes: Record<string, [ours: number, papers: number]>;
  formulas: Record<string, string>;
};
