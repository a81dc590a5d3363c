// Turns each figure that holds frames into one with a slider. Runs once after each such figure.
/** @type {NodeListOf<HTMLElement>} */ (
  document.querySelectorAll("figure.at-slider:not([data-ready])")
).forEach((figure) => {
  const stage = figure.querySelector(".at-stage");
  const data = figure.querySelector("script.at-frames");
  if (!data || !stage) return;
  figure.dataset.ready = "";
  /** @type {{ name: string, start: number, frames: { value: string, alt: string, image: string }[] }} */
  const { name, start, frames } = JSON.parse(data.textContent);
  /** @type {<T extends keyof HTMLElementTagNameMap>(tag: T, properties: object) => HTMLElementTagNameMap[T]} */
  const make = (tag, properties) => Object.assign(document.createElement(tag), properties);
  const list = make("datalist", { id: `${figure.id}-ticks` });
  list.append(...frames.map((_, place) => make("option", { value: place })));
  const input = make("input", { type: "range", min: 0, max: frames.length - 1, step: 1, value: start });
  input.setAttribute("list", list.id);
  input.setAttribute("aria-label", name); // the label around it belongs to the output, its first labelable element
  const output = document.createElement("output");
  output.setAttribute("aria-hidden", "true"); // the slider itself announces its value
  const play = make("button", { type: "button", className: "at-play", textContent: "▶" });
  play.setAttribute("aria-label", `Play: ${name}`);
  [input, play].forEach((control) => (control.dataset.lmSuppressShortcuts = "")); // JupyterLab's, for its cells
  const label = document.createElement("label");
  const words = make("span", { textContent: name });
  label.append(words, " ", output, " ", input);
  const controls = make("div", { className: "at-controls" });
  controls.append(play, " ", label, list);
  stage.after(controls);
  let timer = 0;
  const show = () => {
    const { value, alt, image } = frames[Number(input.value)];
    stage.innerHTML = decodeURIComponent(image.slice(image.indexOf(",") + 1));
    stage.children[0].setAttribute("role", "img");
    stage.children[0].setAttribute("aria-label", alt);
    input.setAttribute("aria-valuetext", value);
    output.textContent = value;
  };
  const stop = () => {
    clearInterval(timer);
    timer = 0;
    play.textContent = "▶";
    play.setAttribute("aria-label", `Play: ${name}`);
  };
  const step = () => {
    input.value = String(Number(input.value) + 1);
    show();
    if (input.value === input.max) stop();
  };
  play.addEventListener("click", () => {
    if (timer) return stop();
    timer = setInterval(step, 1000);
    play.textContent = "❚❚";
    play.setAttribute("aria-label", `Pause: ${name}`);
    if (input.value !== input.max) return step();
    input.value = "0";
    show();
  });
  input.addEventListener("input", () => {
    stop();
    show();
  });
  show();
});
