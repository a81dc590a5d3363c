// Where the page and its scripts lie, and what a browser may remember or forbid.

export const FOLDER = /** @type {HTMLScriptElement} */ (document.currentScript).src.replace(/\/[^/]*$/, "");
export const ROOT = FOLDER.replace(/_static\/explorer$/, "");

// Calls what a browser may forbid on a page from a file.
/** @type {<T>(call: () => T) => T | null} */
export const attempt = (call) => {
  try {
    return call();
  } catch {
    return null;
  }
};

// Whether a model may be loaded before anybody asks for it: not where data are saved.
export const mayLoad = () =>
  !(/** @type {{ connection?: { saveData: boolean } }} */ (navigator).connection?.saveData) &&
  !matchMedia("(prefers-reduced-data: reduce)").matches;
