// Decorations around a sentence: annotated_transformer/text/cleaning.py, which says what the letters mean.
/** @type {[kind: string, sign: RegExp][]} */
const SIGNS = [
  ["e", /^[ℹ①-⑨❶-❾]/u],
  ["s", /^[%‰&@§°©®™№\p{Sc}]/u],
  ["q", /^[.?!"']/u],
  ["b", /^[*#•‣⁃·–—―]/u],
  [" ", /^[\s\x1c-\x1f\x85]/u],
  ["a", /^[\p{L}\p{N}]/u],
  ["i", /^[\p{M}\p{Cf}]/u],
  ["b", /^[\p{Pc}\p{Sm}]/u],
  ["p", /^\p{P}/u],
  ["e", /^/u],
];
const IGNORABLE = /[\p{Default_Ignorable_Code_Point}\u20d0-\u20ff\ufdd0-\ufdef\ufff9-\ufffb\ufffe\uffff]/u;
const LABEL =
  /[0-9#*]\ufe0f?\u20e3|^[ \u200b-\u206f]*(\(?([0-9]{1,2}[.)]|[A-Za-z]\))|\[[0-9]{1,3}\])(?=[ \u00a0]+[^\s\u001c-\u001f\u0085\ufeff])|(?<=[^ \u00a0])\[[0-9]{1,3}\]|(?<=[^0-9][ \u00a0])([:;]-?[DPpOo]|[xX]D+|<3+)([ \u00a0]+([:;]-?[DPpOo]|[xX]D+|<3+))*(?=[^A-Za-z0-9\u00c0-\u1fff\u3040-\ud7ff]*$)/g;
const SHAPE =
  /^([ i]*)((?:[^a]*[eb ]i*)?)(.*ai*)((?:b+(?=[ipq]))?[ipq]*(?: +[iq]+)*)((?:[ i]*[^ i]i*)*?)(q*)[ i]*$/;
const PICTURE = / ?e[ei]*/g;
const ENCLOSED = /^\(([^()]*)\)([.?!]*)$/;

// The decorations before a sentence, the sentence, and the decorations after it; `variants` has the plain forms.
/** @type {(text: string, variants: Map<string, string>) => [before: string, sentence: string, after: string]} */
export function setAside(text, variants) {
  /** @type {(character: string) => string} */
  const kindOf = (character) => {
    const plain = variants.get(character) ?? character;
    if (plain === character && IGNORABLE.test(plain)) return "i";
    const [kind] = SIGNS.find(([, sign]) => sign.test(plain)) ?? [""]; // the last sign matches anything
    return kind;
  };
  const shape = Array.from(
    text.replace(LABEL, (label) => "☆".repeat(label.length)),
    kindOf,
  ).join("");
  const parts = shape.includes("a") && shape.replaceAll("s", "a").match(SHAPE);
  if (!parts) return ["", "", text];
  const characters = [...text];
  const [, before, core, end, after, stop] = parts
    .slice(1)
    .map(({ length }) => characters.splice(0, length).join(""));
  const inside = [...core];
  const pictures = [...parts[3].matchAll(PICTURE)].reverse().map(({ 0: { length }, index }) => {
    const space = parts[3][index + length] === "a" ? [" "] : [];
    return inside.splice(index, length, ...space).join("");
  });
  const sentence = inside.join("") + end + (end ? "" : stop);
  const behind = pictures.reverse().join("") + after + (end ? stop : "");
  const enclosed = sentence.match(ENCLOSED);
  return enclosed ? [`${before}(`, enclosed[1] + enclosed[2], `)${behind}`] : [before, sentence, behind];
}
