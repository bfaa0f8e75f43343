//! Whether text stands out from what is behind it.

use std::path::Path;

use super::chromium::Chromium;

/// The lowest contrast of text that WCAG 2 allows at level AA.
const LOWEST: f64 = 4.5;

/// The elements with text of their own that has too little contrast, each with that contrast.
const POOR: &str = r"(() => {
  const parse = (color) => {
    const numbers = color.match(/[\d.]+/g).map(Number);
    return color.startsWith('color(') ? numbers.map((c, place) => (place < 3 ? c * 255 : c)) : numbers;
  };
  const light = ([r, g, b]) => {
    const linear = [r, g, b].map((c) => c / 255).map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  };
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const color = parse(getComputedStyle(e).backgroundColor);
      if (color.length < 4 || color[3] === 1) return color;
    }
    return [255, 255, 255];
  };
  const own = (e) => [...e.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
  const poor = [];
  for (const e of document.querySelectorAll('body *:not(script, style, svg *, option)')) {
    if (!own(e) || !e.checkVisibility()) continue;
    const [one, other] = [light(parse(getComputedStyle(e).color)), light(behind(e))].sort((a, b) => b - a);
    const contrast = (one + 0.05) / (other + 0.05);
    if (contrast < LOWEST) poor.push(`${e.tagName}.${e.className} ${contrast.toFixed(2)}: ${e.textContent.slice(0, 40)}`);
  }
  return [...new Set(poor)];
})()";

/// Asserts that the page at `path` can be read in dark and in light colors, which differ.
pub fn assert_readable(browser: &mut Chromium, path: &Path) {
    let pages = ["light", "dark"].map(|scheme| {
        browser.prefer(scheme);
        browser.open(path, "", 1440);
        browser.value("document.querySelectorAll('details').forEach(e => { e.open = true; })");
        let poor = browser.value(&POOR.replace("LOWEST", &LOWEST.to_string()));
        assert_eq!(poor, serde_json::json!([]), "{scheme}");
        browser.value("getComputedStyle(document.body).backgroundColor")
    });
    assert_ne!(pages[0], pages[1]);
}
