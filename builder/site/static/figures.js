/* The tools of a figure: the drawing as a file, for a slide, and the code that draws it. */
(() => {
  "use strict";
  const SHARP = 3; // pixels of the PNG for each unit of the drawing

  /** A computed color as every program reads it: #rrggbb. @type {(color: string) => string} */
  const plain = (color) => {
    const mixed = color.match(/^color\(srgb ([\d.e-]+) ([\d.e-]+) ([\d.e-]+)\)$/);
    if (!mixed) return color;
    const parts = mixed.slice(1).map((part) =>
      Math.round(255 * Number(part))
        .toString(16)
        .padStart(2, "0"),
    );
    return `#${parts.join("")}`;
  };

  const paper = () => getComputedStyle(document.documentElement).getPropertyValue("--at-paper");

  const here = /** @type {HTMLScriptElement} */ (document.currentScript).src;

  /** What in a drawing needs a face, and the face with its font. @type {() => Promise<[string, string][]>} */
  const faces = () =>
    new Promise((resolve) => {
      const script = Object.assign(document.createElement("script"), { src: new URL("faces.js", here) });
      script.onload = script.onerror = () => resolve(Reflect.get(window, "atFaces") ?? []);
      document.head.append(script);
    });

  /** The drawing alone, with its fonts, in the colors of the page's theme, without variables. @type {(svg: SVGSVGElement) => Promise<string>} */
  const standalone = async (svg) => {
    const copy = /** @type {SVGSVGElement} */ (svg.cloneNode(true));
    const shown = [svg, ...svg.querySelectorAll("*")];
    [copy, ...copy.querySelectorAll("*")].forEach((element, place) => {
      if (!(element instanceof SVGElement)) return;
      const computed = getComputedStyle(shown[place]);
      for (const name of /** @type {const} */ (["fill", "stroke", "fontFamily"]))
        if (element.style[name]) element.style[name] = plain(computed[name]);
    });
    copy.style.background = paper();
    const { width, height } = svg.viewBox.baseVal;
    copy.style.width = copy.style.height = "";
    copy.setAttribute("width", `${width}pt`);
    copy.setAttribute("height", `${height}pt`);
    ["role", "aria-label", "aria-roledescription", "tabindex"].forEach((name) => copy.removeAttribute(name));
    const text = new XMLSerializer().serializeToString(copy); // of outerHTML, &nbsp; would be no XML
    const rules = (await faces()).filter(([needs]) => new RegExp(needs).test(text)).map(([, face]) => face);
    return text.replace(">", () => `><style>${rules.join("")}</style>`);
  };

  /** @type {(name: string, file: Blob) => void} */
  const save = (name, file) => {
    const address = URL.createObjectURL(file);
    Object.assign(document.createElement("a"), { href: address, download: name }).click();
    setTimeout(() => URL.revokeObjectURL(address), 1000);
  };

  /** @type {(svg: SVGSVGElement) => Promise<Blob | null>} */
  const drawn = async (svg) => {
    const { width, height } = svg.viewBox.baseVal;
    const image = new Image();
    image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(await standalone(svg))}`;
    await image.decode();
    const canvas = Object.assign(document.createElement("canvas"), {
      width: Math.round(SHARP * width),
      height: Math.round(SHARP * height),
    });
    const context = canvas.getContext("2d");
    if (!context) return null;
    context.fillStyle = paper();
    context.fillRect(0, 0, canvas.width, canvas.height);
    context.drawImage(image, 0, 0, canvas.width, canvas.height);
    return new Promise((resolve) => canvas.toBlob(resolve, "image/png"));
  };

  /** @type {(figure: Element) => HTMLElement[]} */
  const tools = (figure) => {
    const name = figure.id;
    /** @type {(label: string, act: (svg: SVGSVGElement) => unknown) => HTMLElement} */
    const button = (label, act) => {
      const made = Object.assign(document.createElement("button"), { type: "button", textContent: label });
      made.title = `Save the drawing as ${label}`;
      made.addEventListener("click", () => {
        const svg = figure.querySelector("svg");
        if (svg) act(svg);
      });
      return made;
    };
    const found = [
      button("SVG", async (svg) =>
        save(`${name}.svg`, new Blob([await standalone(svg)], { type: "image/svg+xml" })),
      ),
      button("PNG", async (svg) => {
        const file = await drawn(svg);
        if (file) save(`${name}.png`, file);
      }),
    ];
    const code = `code-${name.replace("figure-", "")}`;
    if (document.getElementById(code))
      found.push(Object.assign(document.createElement("a"), { href: `#${code}`, textContent: "code" }));
    return found;
  };

  const start = () => {
    document.querySelectorAll("figure.at-figure:not(.at-machine)").forEach((figure) => {
      if (figure.querySelector(".at-figure-tools")) return;
      const line = document.createElement("p");
      line.className = "at-figure-tools";
      tools(figure).forEach((tool, place) => line.append(place ? " · " : "", tool));
      figure.append(line);
    });
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
