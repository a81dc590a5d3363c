// Where the page and its scripts lie, and whether data are saved.

export const FOLDER = /** @type {HTMLScriptElement} */ (document.currentScript).src.replace(/\/[^/]*$/, "");
export const ROOT = FOLDER.replace(/_static\/explorer$/, "");

// Whether a model may be loaded before anybody asks for it: not where data are saved.
export const mayLoad = () =>
  !(/** @type {{ connection?: { saveData: boolean } }} */ (navigator).connection?.saveData) &&
  !matchMedia("(prefers-reduced-data: reduce)").matches;
