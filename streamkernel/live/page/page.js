// What is shown: the state of the stream as messages tell it, drawn at most once a frame.

const MOST_ROWS = 5000;
const element = (id) => document.getElementById(id);
const charts = Object.fromEntries(["stream", "error", "coverage", "size"].map((id) => [id, new Chart(id)]));

let run = null, rolling = 200, level = 0.9, ended = false, connected = false, numbers = {};
let data = emptyData(), frozen = null;     // what is drawn while paused
let shown = innerWidth < 700 ? 100 : 300, offset = 0, pointer = null, dirty = true;

function emptyData() {
  return { first: 0, rows: [[], [], [], []], bins: [], marks: {}, ahead: [[], [], [], []] };
}

// Messages ------------------------------------------------------------------------------------------------------------

function receive(message) {
  if (message.run !== run) {
    run = message.run;
    data = emptyData();
    frozen = null;
    offset = 0;
    setPaused(false);
  }
  if (message.title !== undefined) {
    rolling = message.rolling;
    level = message.level;
    for (const note of document.querySelectorAll(".level")) note.textContent = percent();
    element("title").textContent = message.title || "streamkernel";
    document.title = (message.title ? message.title + " – " : "") + "streamkernel live";
    for (const note of document.querySelectorAll(".rolling")) note.textContent = "last " + rolling;
  }
  addRows(message.first, message.rows);
  if (message.from <= data.bins.length) data.bins.splice(message.from, Infinity, ...message.bins);
  if (message.from === 0) data.bins = message.bins;
  data.marks = message.marks;
  data.ahead = message.ahead;
  numbers = message.numbers;
  ended = message.ended;
  showNumbers();
  showBars("weights", message.weights);
  showBars("relevance", message.relevance);
  showMarks();
  showStatus();
  dirty = true;
}

function addRows(first, rows) {
  const count = data.first + data.rows[0].length;
  if (first > count) { data.first = first; data.rows = [[], [], [], []]; }  // rows came faster than they can be sent
  const skip = Math.max(0, data.first + data.rows[0].length - first);
  for (let i = 0; i < 4; i++) for (let k = skip; k < rows[i].length; k++) data.rows[i].push(rows[i][k]);
  const extra = data.rows[0].length - MOST_ROWS;
  if (extra > 0) {
    for (const column of data.rows) column.splice(0, extra);
    data.first += extra;
  }
}

function percent() { return Number((100 * level).toPrecision(6)) + "\u00a0%"; }

// Numbers and lists -----------------------------------------------------------------------------------------------------

function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 1e-3) return (seconds * 1e6).toPrecision(3) + " µs";
  return seconds < 1 ? (seconds * 1e3).toPrecision(3) + " ms" : seconds.toPrecision(3) + " s";
}

function put(id, text) { if (element(id).textContent !== text) element(id).textContent = text; }

function showNumbers() {
  const n = numbers, ratio = n.rmse !== null && n.naive ? n.rmse / n.naive : null;
  put("n-rows", whole(n.rows));
  put("n-rate", n.rate === null ? "" : (n.rate < 10 ? short(n.rate) : whole(n.rate)) + " a second");
  put("n-rmse", short(n.rmse));
  put("n-naive", n.naive === null ? "" : "last value " + short(n.naive) + (ratio === null ? "" : ", × " + ratio.toFixed(2)));
  put("n-coverage", n.coverage === null ? "–" : (100 * n.coverage).toFixed(1) + " %");
  for (const part of document.querySelectorAll(".with-size")) part.hidden = n.size === null;
  put("n-size", whole(n.size || 0));
  put("n-limit", n.limit === null ? "no limit" : "of at most " + whole(n.limit));
  put("n-p50", duration(n.p50));
  put("n-p99", "99 % below " + duration(n.p99));
  put("n-drift", whole((data.marks.drift || []).length));
  put("n-tuning", whole((data.marks.tuning || []).length) + " tunings");
}

function showBars(id, pairs) {
  element(id + "-section").hidden = !pairs.length;
  const list = element(id);
  while (list.children.length > pairs.length) list.lastChild.remove();
  while (list.children.length < pairs.length) {
    const item = document.createElement("li");
    item.append(document.createElement("span"), document.createElement("span"));
    list.append(item);
  }
  pairs.forEach(([name, value], i) => {
    const item = list.children[i], share = 100 * (value || 0);
    item.firstChild.textContent = item.title = name;
    item.lastChild.textContent = share.toFixed(1) + " %";
    item.style.setProperty("--share", Math.min(100, share).toFixed(1) + "%");
  });
}

let listed = "";

function showMarks() {
  for (const part of document.querySelectorAll(".with-marks")) part.hidden = !Object.keys(data.marks).length;
  const all = Object.entries(data.marks).flatMap(([kind, rows]) => rows.map((row) => [row, kind]));
  const newest = all.sort((a, b) => b[0] - a[0] || (a[1] < b[1] ? -1 : 1)).slice(0, 40), key = JSON.stringify(newest);
  if (key === listed) return;
  listed = key;
  const items = newest.map(([row, kind]) => {
    const item = document.createElement("li");
    item.className = kind;
    item.textContent = (kind === "drift" ? "drift at row " : "tuned at row ") + whole(row);
    return item;
  });
  if (!items.length) {
    items.push(Object.assign(document.createElement("li"), { className: "none", textContent: "none so far" }));
  }
  element("marks").replaceChildren(...items);
}

function showStatus() {
  const idle = numbers.idle || 0;
  const [status, text] = frozen ? ["paused", "paused; the stream goes on"]
    : ended ? ["ended", "the stream has ended"]
    : !connected ? ["lost", "no connection; trying again"]
    : idle > 2 ? ["waiting", "no row for " + idle.toFixed(0) + " s"]
    : numbers.rows ? ["live", "live"] : ["waiting", "waiting for the first row"];
  document.body.dataset.status = status;
  put("status-text", text);
}

// Drawing ---------------------------------------------------------------------------------------------------------------

function range(columns, log) {
  let low = Infinity, high = -Infinity;
  for (const column of columns)
    for (const value of column)
      if (value !== null && Number.isFinite(value) && (!log || value > 0)) {
        if (value < low) low = value;
        if (value > high) high = value;
      }
  if (low > high) return log ? [0.1, 1] : [0, 1];
  if (log) return [low / 1.1, high * 1.1];
  const margin = 0.05 * (high - low) || 0.05 * Math.abs(high) || 0.5;
  return [low - margin, high + margin];
}

// The middle of most values, so that one huge band does not flatten the rest.
function steadyRange(rows) {
  const [targets, predictions, lower, upper] = rows;
  const inner = range([targets, predictions]), all = range(rows), reach = inner[1] - inner[0];
  return [Math.max(all[0], inner[0] - reach), Math.min(all[1], inner[1] + reach)];
}

function visible(source) {
  const count = source.rows[0].length, ahead = source.ahead[0].length;
  const stop = Math.max(1, Math.min(count, count - offset)), start = Math.max(0, stop - shown);
  const rows = source.rows.map((column) => column.slice(start, stop));
  const xs = rows[0].map((_, i) => source.first + start + i + 1);
  return { rows, xs, ahead: offset === 0 && ahead ? source.ahead : null };
}

function drawStream(source) {
  const { rows, xs, ahead } = visible(source), chart = charts.stream;
  const [targets, predictions, lower, upper] = rows;
  const end = xs.length ? xs[xs.length - 1] : 1;
  const future = ahead ? ahead[1].map((_, i) => end + i + 1) : [];
  const [low, high] = steadyRange(ahead ? rows.map((column, i) => column.concat(ahead[i])) : rows);
  chart.begin(xs.length ? xs[0] : 0, future.length ? future[future.length - 1] : Math.max(end, (xs[0] || 0) + 10), low, high);
  chart.band(xs, lower, upper, colors.band);
  chart.marks(source.marks);
  chart.line(xs, predictions, colors.model, 1.7);
  const out = targets.map((y, i) => y !== null && lower[i] !== null && (y < lower[i] || y > upper[i]));
  const radius = xs.length > 1500 ? 0.9 : xs.length > 400 ? 1.5 : 2.2;
  chart.points(xs, targets.map((y, i) => (out[i] ? null : y)), colors.target, radius);
  chart.points(xs, targets.map((y, i) => (out[i] ? y : null)), colors.missed, Math.max(2, radius + 1.2), true);
  if (ahead) {
    chart.band(future, ahead[2], ahead[3], colors.band);
    chart.line(future, ahead[1], colors.model, 1.7, [5, 3]);
  }
  if (pointer !== null && xs.length) drawPointer(chart, source, xs, rows);
  else put("readout", "\u00a0");
  chart.end();
  chart.canvas.setAttribute("aria-label", "Target, prediction and " + percent() + " band, rows " + whole(xs[0] || 0) + " to " + whole(end)
    + "; the newest target is " + short(targets[targets.length - 1]) + ", predicted as " + short(predictions[predictions.length - 1]));
}

function drawPointer(chart, source, xs, rows) {
  const row = Math.min(Math.max(Math.round(chart.at(pointer)), xs[0]), xs[xs.length - 1]), i = row - xs[0];
  const c = chart.context;
  c.strokeStyle = colors.soft;
  c.lineWidth = 1;
  c.beginPath();
  c.moveTo(chart.x(row), chart.pad.top);
  c.lineTo(chart.x(row), chart.height - chart.pad.bottom);
  c.stroke();
  const band = rows[2][i] === null ? "" : ", band " + short(rows[2][i]) + " to " + short(rows[3][i]);
  put("readout", "row " + whole(row) + ": target " + short(rows[0][i]) + ", prediction " + short(rows[1][i]) + band);
}

// Sums over the bins that hold the newest `rolling` rows at each bin: numerator and denominator by column.
function rollingMean(bins, top, bottom) {
  const found = [];
  for (let end = 0; end < bins.length; end++) {
    let above = 0, below = 0, rows = 0;
    for (let i = end; i >= 0 && rows < rolling; i--) {
      above += bins[i][top]; below += bins[i][bottom]; rows += bins[i][0];
    }
    found.push(below > 0 ? above / below : null);
  }
  return found;
}

function drawHistory(source) {
  const bins = source.bins, xs = [];
  let row = 0;
  for (const bin of bins) xs.push((row += bin[0]));
  const right = Math.max(row, 10), root = (values) => values.map((value) => (value === null ? null : Math.sqrt(value)));
  const errors = root(rollingMean(bins, 2, 1)), naive = root(rollingMean(bins, 4, 3));
  const both = range([errors, naive]), sorted = errors.filter((value) => value > 0).sort((a, b) => a - b);
  const log = sorted.length > 5 && both[1] > 8 * sorted[sorted.length >> 1] && sorted[0] > 0;
  const [low, high] = log ? range([errors, naive], true) : [0, Math.max(both[1], 1e-300)];
  charts.error.begin(0, right, low, high, { log });
  charts.error.marks(source.marks);
  charts.error.line(xs, naive, colors.naive, 1.4);
  charts.error.line(xs, errors, colors.model, 1.9);
  charts.error.end();
  describe("error", "Rolling error", errors, "; of the last value " + short(naive[naive.length - 1]));

  const coverage = rollingMean(bins, 6, 5), least = Math.min(0.7, level - 0.2, ...coverage.filter((value) => value !== null));
  charts.coverage.begin(0, right, Math.max(0, least - 0.03), 1.005, { form: (value) => Math.round(100 * value) + " %" });
  charts.coverage.across(level, colors.goal);
  charts.coverage.marks(source.marks);
  charts.coverage.line(xs, coverage, colors.model, 1.9);
  charts.coverage.end();
  describe("coverage", "Rolling share of targets inside the " + percent() + " band", coverage, "");

  if (numbers.size === null) return;
  const sizes = bins.map((bin) => bin[7]), limit = numbers.limit;
  charts.size.begin(0, right, 0, 1.08 * Math.max(10, ...sizes, limit || 0));
  if (limit) charts.size.across(limit, colors.goal);
  charts.size.marks(source.marks);
  charts.size.line(xs, sizes, colors.model, 1.9);
  charts.size.end();
  describe("size", "Points in the dictionary", sizes, limit ? "; at most " + limit : "");
}

function describe(id, what, values, more) {
  charts[id].canvas.setAttribute("aria-label", what + ", now " + short(values[values.length - 1]) + more);
}

function draw() {
  if (dirty) {
    dirty = false;
    const source = frozen || data;
    drawStream(source);
    drawHistory(source);
  }
  requestAnimationFrame(draw);
}

// Hands on it -----------------------------------------------------------------------------------------------------------

function setPaused(paused) {
  frozen = paused ? { ...data, rows: data.rows.map((column) => column.slice()), bins: data.bins.slice() } : null;
  element("pause").setAttribute("aria-pressed", String(paused));
  element("pause").textContent = paused ? "Go on" : "Pause";
  showStatus();
  dirty = true;
}

function zoom(factor) {
  shown = Math.round(Math.min(MOST_ROWS, Math.max(20, shown * factor)));
  const choice = [...element("last").options].find((option) => Number(option.value) === shown);
  element("last").value = choice ? choice.value : "";
  dirty = true;
}

function move(rows) {
  const count = (frozen || data).rows[0].length;
  offset = Math.round(Math.min(Math.max(0, offset + rows), Math.max(0, count - shown)));
  if (offset && !frozen) setPaused(true);  // rows that move away cannot be looked at
  dirty = true;
}

function newest() { offset = 0; setPaused(false); }

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  readColors();
  dirty = true;
}

element("pause").onclick = () => (frozen ? newest() : setPaused(true));
element("closer").onclick = () => zoom(0.5);
element("wider").onclick = () => zoom(2);
element("follow").onclick = newest;
element("last").onchange = (event) => { shown = Number(event.target.value); dirty = true; };
element("theme").onclick = () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "SELECT") return;
  const onButton = event.target.tagName === "BUTTON";
  const actions = {
    "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), "0": newest, t: () => element("theme").click(),
    ArrowLeft: () => move(shown / 4), ArrowRight: () => move(-shown / 4),
  };
  if (!onButton) actions[" "] = () => element("pause").click();
  if (!actions[event.key]) return;
  actions[event.key]();
  event.preventDefault();
});

const canvas = charts.stream.canvas;
let dragged = null;
canvas.addEventListener("pointermove", (event) => {
  if (dragged !== null) {
    const perPixel = shown / canvas.clientWidth;
    move((event.clientX - dragged) * perPixel);
    if (Math.abs(event.clientX - dragged) * perPixel >= 0.5) dragged = event.clientX;
  }
  pointer = event.clientX - canvas.getBoundingClientRect().left;
  dirty = true;
});
canvas.addEventListener("pointerdown", (event) => { dragged = event.clientX; canvas.setPointerCapture(event.pointerId); });
canvas.addEventListener("pointerup", () => { dragged = null; });
canvas.addEventListener("pointerleave", () => { pointer = dragged = null; dirty = true; });
canvas.addEventListener("wheel", (event) => { zoom(event.deltaY > 0 ? 1.25 : 0.8); event.preventDefault(); }, { passive: false });
window.addEventListener("resize", () => { dirty = true; });

// The beginning ---------------------------------------------------------------------------------------------------------

function connect() {
  const events = new EventSource("events");
  events.onopen = () => { connected = true; };
  events.onmessage = (event) => receive(JSON.parse(event.data));
  events.onerror = () => {
    events.close();
    connected = false;
    showStatus();
    setTimeout(connect, 1000);
  };
}

element("last").value = String(shown);
const dark = matchMedia("(prefers-color-scheme: dark)");
setTheme(dark.matches ? "dark" : "light");
dark.addEventListener("change", (event) => setTheme(event.matches ? "dark" : "light"));
const saved = JSON.parse(element("state").textContent);
if (saved) { receive(saved); ended = true; showStatus(); } else connect();
requestAnimationFrame(draw);
