// Without `ast`, Vega would compile its expressions with `eval`, which this page forbids.
const options = { ast: true, renderer: "svg", actions: { export: true, source: false, compiled: false, editor: false } };

async function draw(place) {
  try {
    const spec = JSON.parse(document.getElementById(place.dataset.spec).textContent);
    await window.vegaEmbed(place, spec, options);
    return true;
  } catch (error) {
    place.classList.add("failed");
    place.textContent = `This chart could not be drawn: ${error.message}`;
    console.error(error);
    return false;
  }
}

const drawn = await Promise.all([...document.querySelectorAll(".chart")].map(draw));
document.body.dataset.drawn = drawn.filter(Boolean).length;

// The number in a cell, without separators and unit; cells without a number sort below all others.
function number(cell) {
  const text = cell.textContent.replace(/[,%\u00d7]/g, "");
  const value = Number(text);
  return text.trim() === "" || Number.isNaN(value) ? -Infinity : value;
}

// The first click sorts numbers descending and words ascending, the next one the other way round.
function sort(head) {
  const at = head.cellIndex, ordinal = head.textContent === "#";
  const words = head.classList.contains("text") && !ordinal;
  const [first, other] = words || ordinal ? ["ascending", "descending"] : ["descending", "ascending"];
  const order = head.ariaSort === first ? other : first;
  for (const cell of head.parentElement.cells) cell.ariaSort = null;
  head.ariaSort = order;
  const sign = order === "ascending" ? 1 : -1;
  const body = head.closest("table").tBodies[0];
  const between = words
    ? (a, b) => sign * a.cells[at].textContent.localeCompare(b.cells[at].textContent)
    : (a, b) => sign * Math.sign(number(a.cells[at]) - number(b.cells[at])) || 0;
  body.append(...[...body.rows].sort(between));
}

for (const head of document.querySelectorAll("thead th")) {
  head.tabIndex = 0;
  head.addEventListener("click", () => sort(head));
  head.addEventListener("keydown", (event) => event.key === "Enter" && sort(head));
}
