// The movement that leads to a stop: strips rise, curves are drawn, the old strip goes past, the word drops.
const MOVE = 900; // milliseconds of one movement

/** @type {Record<string, (by: number[]) => Keyframe[]>} */
const MOVES = {
  rise: ([by]) => [
    { transform: `translateY(${by}px)`, opacity: 0 },
    { transform: `translateY(${by}px)`, opacity: 1, offset: 0.15 },
    { transform: "none", opacity: 1 },
  ],
  pass: ([x, y, wide]) => [
    { transform: `translate(${x}px, ${y}px) scaleX(${wide})`, opacity: 1 },
    { transform: `translate(0, ${y}px)`, opacity: 1, offset: 0.4 },
    { transform: "none", opacity: 1 },
  ],
  drop: ([x, y]) => [
    { transform: `translate(0, ${y}px)` },
    { transform: `translate(${x}px, ${y}px)`, offset: 0.25 },
    { transform: `translate(${x}px, 0)`, offset: 0.75 },
    { transform: "none" },
  ],
  draw: () => [{ strokeDashoffset: 1 }, { strokeDashoffset: 0 }],
  glow: () => [{ fill: "color-mix(in srgb, var(--role) 60%, var(--at-paper))", offset: 0.4 }],
  fade: () => [{ opacity: 0 }, { opacity: 1 }],
};

// Moves what appears at a stop, one turn after the other; at its first, after the encoder has lit up.
/** @type {(svg: Element, stop: number | "encoder", factor: number, after?: number) => void} */
export function move(svg, stop, factor, after = 0) {
  /** @type {NodeListOf<SVGElement>} */
  const parts = svg.querySelectorAll(`[data-stop="${stop}"]`);
  for (const part of parts) {
    const { motion = "", by = "", turn } = part.dataset;
    part.animate(MOVES[motion](by.split(" ").map(Number)), {
      duration: MOVE * factor,
      delay: 0.7 * MOVE * factor * (after + Number(turn)),
      fill: "backwards",
      easing: "ease-in-out",
    });
  }
}
