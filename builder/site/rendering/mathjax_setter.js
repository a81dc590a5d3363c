// Runs while the book is built, in a JavaScript engine without a browser, after MathJax's own files.
const { CHTML } = MathJax._.output.chtml_ts;
const { TeX } = MathJax._.input.tex_ts;
const { TeXFont } = MathJax._.output.chtml.fonts.tex_ts;
const adaptor = MathJax._.adaptors.liteAdaptor.liteAdaptor();
MathJax._.a11y["assistive-mml"].AssistiveMmlHandler(MathJax._.handlers.html_ts.RegisterHTMLHandler(adaptor));

const newDocument = () => {
  const input = new TeX({
    packages: ["base", "ams", "newcommand"],
    formatError: (/** @type {unknown} */ jax, /** @type {unknown} */ error) => {
      throw error;
    },
  });
  const output = new CHTML({ font: new TeXFont({ fontURL: "." }), adaptiveCSS: true });
  return MathJax._.mathjax.mathjax.document("", { InputJax: input, OutputJax: output });
};
const page = newDocument();
const size = { em: 16, ex: 16 * 0.442, containerWidth: 16 * 42 }; // so that MathJax writes no size of its own

// Returns one formula as HTML, or why it cannot be typeset.
/** @type {(tex: string, display: boolean, target?: any) => string} */
const setFormula = (tex, display, target = page) => {
  try {
    return JSON.stringify({ html: adaptor.outerHTML(target.convert(tex, { display, ...size })) });
  } catch (error) {
    return JSON.stringify({ error: String(/** @type {Error} */ (error).message ?? error) });
  }
};

// Returns the width of a displayed formula in em, and 0 for one that setFormula reports.
/** @type {(tex: string) => number} */
const formulaWidth = (tex) => {
  const item = new page.options.MathItem(tex, page.inputJax[0], true);
  item.start = { node: adaptor.body(page.document) };
  item.setMetrics(size.em, size.ex, size.containerWidth, 1e7, 1);
  try {
    item.compile(page);
  } catch {
    return 0;
  }
  return page.outputJax.getBBox(item, page).w;
};

// Returns the style sheet that these formulas need, whatever was typeset before.
/** @type {(formulas: [tex: string, display: boolean][]) => string} */
const styleSheet = (formulas) => {
  const fresh = newDocument();
  formulas.forEach(([tex, display]) => setFormula(tex, display, fresh));
  return adaptor.textContent(fresh.outputJax.styleSheet(fresh));
};
