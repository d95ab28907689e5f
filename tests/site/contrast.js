// Texts whose contrast with what is behind them is below that of WCAG's level AA, 4.5.
const parts = (colour) => (colour.match(/[\d.]+/g) || []).map(Number);
const light = (colour) => {
  const linear = (value) => (value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  const [r, g, b] = parts(colour).slice(0, 3).map((value) => linear(value / 255));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const behind = (item) => {
  for (let at = item; at; at = at.parentElement) {
    const colour = getComputedStyle(at).backgroundColor;
    if (parts(colour)[3] !== 0) return colour;
  }
  return "rgb(255, 255, 255)";
};
const hasText = (item) => [...item.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim());
return [...document.querySelectorAll("header *, main *")]
  .filter((item) => item.checkVisibility() && !item.closest("svg, .plot, option") && hasText(item))
  .map((item) => {
    const [one, two] = [light(getComputedStyle(item).color), light(behind(item))].sort((a, b) => b - a);
    return [(one + 0.05) / (two + 0.05), item.tagName, item.className, item.textContent.slice(0, 40)];
  })
  .filter(([ratio]) => ratio < 4.5);
