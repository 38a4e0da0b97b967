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
