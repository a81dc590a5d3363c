// Turns each figure that holds frames into one with a slider. Runs once after each such figure.
document.querySelectorAll("figure.at-slider:not([data-ready])").forEach((figure) => {
  const data = figure.querySelector("script.at-frames");
  if (!data) return;
  figure.dataset.ready = "";
  const { name, start, frames } = JSON.parse(data.textContent);
  const stage = figure.querySelector(".at-stage");
  const input = Object.assign(document.createElement("input"), {
    type: "range", min: 0, max: frames.length - 1, step: 1, value: start,
  });
  const output = document.createElement("output");
  const label = document.createElement("label");
  label.append(name, " ", input, " ", output);
  stage.after(label);
  stage.setAttribute("aria-live", "polite");
  const show = () => {
    const { value, alt, image } = frames[input.value];
    const bytes = Uint8Array.from(atob(image.split(",")[1]), (c) => c.charCodeAt(0));
    stage.innerHTML = new TextDecoder().decode(bytes);
    stage.firstChild.setAttribute("role", "img");
    stage.firstChild.setAttribute("aria-label", alt);
    input.setAttribute("aria-valuetext", value);
    output.textContent = value;
  };
  input.addEventListener("input", show);
  show();
});
