// What the engine's name of a tensor says: "decoder.layers.3.cross_attention.weights".

// Its kind, "weights", and where it is; a tensor that is in no layer has no module, and one in no stack is of the "output".
/** @type {(name: string) => { kind: string, stack: string, layer?: number, module: string }} */
export function parsed(name) {
  const [stack, layers, layer, module] = name.split(".");
  const kind = name.slice(name.lastIndexOf(".") + 1).replace(/_\d$/, "");
  if (layers !== "layers") return { kind, stack: layers ? stack : "output", module: "" };
  return { kind, stack, layer: Number(layer), module };
}
