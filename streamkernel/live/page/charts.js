"use strict";
// Charts on a canvas: axes, lines, bands, points and marks. All numbers that are null are gaps.

const colors = {};

function readColors() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["panel", "ink", "soft", "line", "grid", "model", "band", "target", "missed", "naive", "drift", "tuning", "goal"])
    colors[name] = style.getPropertyValue("--" + name).trim();
}

function ticks(low, high, most) {
  const raw = (high - low) / Math.max(1, most);
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((unit) => unit * power).find((unit) => unit >= raw * 0.999);
  const found = [];
  for (let value = Math.ceil(low / step - 1e-9) * step; value <= high + 1e-9 * step; value += step)
    found.push(Math.abs(value) < step * 1e-6 ? 0 : value);
  return found;
}

function logTicks(low, high, most) {
  const found = [];
  for (let power = Math.floor(Math.log10(low)); power <= Math.ceil(Math.log10(high)); power++)
    for (const unit of [1, 2, 5]) found.push(unit * 10 ** power);
  const inside = found.filter((value) => value >= low * 0.999 && value <= high * 1.001);
  const tens = inside.filter((value) => Math.abs(Math.log10(value) % 1) < 1e-9);
  return inside.length > most && tens.length > 1 ? tens : inside;
}

function short(value) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size >= 1e6 || size < 1e-3)) return value.toExponential(2).replace("e+", "e");
  return String(Number(value.toPrecision(4)));
}

function whole(value) {
  return Math.round(value).toLocaleString("en-US").replaceAll(",", "\u202f");
}

class Chart {
  constructor(id) {
    this.canvas = document.getElementById(id);
    this.context = this.canvas.getContext("2d");
  }

  // Begin a drawing: x from `left` to `right`, y from `low` to `high`.
  begin(left, right, low, high, options = {}) {
    const scale = window.devicePixelRatio || 1, box = this.canvas.getBoundingClientRect();
    const width = Math.round(box.width * scale), height = Math.round(box.height * scale);
    if (this.canvas.width !== width || this.canvas.height !== height) Object.assign(this.canvas, { width, height });
    this.width = box.width;
    this.height = box.height;
    Object.assign(this, { left, right: Math.max(right, left + 1e-9), low, high, log: options.log });
    const c = this.context;
    c.setTransform(scale, 0, 0, scale, 0, 0);
    c.clearRect(0, 0, this.width, this.height);
    c.font = "12px " + getComputedStyle(document.body).fontFamily;
    const form = options.form || short;
    const up = (this.log ? logTicks : ticks)(low, high, Math.max(2, Math.floor(this.height / 55)));
    this.pad = { left: Math.max(34, ...up.map((value) => c.measureText(form(value)).width + 12)), right: 8, top: 8, bottom: 22 };
    c.lineWidth = 1;
    c.textBaseline = "middle";
    c.textAlign = "right";
    for (const value of up) {
      const y = Math.round(this.y(value)) + 0.5;
      c.strokeStyle = colors.grid;
      c.beginPath();
      c.moveTo(this.pad.left, y);
      c.lineTo(this.width - this.pad.right, y);
      c.stroke();
      c.fillStyle = colors.soft;
      c.fillText(form(value), this.pad.left - 7, y);
    }
    c.textAlign = "center";
    c.textBaseline = "alphabetic";
    for (const value of ticks(left, this.right, Math.max(2, Math.floor(this.width / 110)))) {
      if (value !== Math.round(value)) continue;
      const half = c.measureText(whole(value)).width / 2;
      c.fillText(whole(value), Math.min(Math.max(this.x(value), half), this.width - half), this.height - 5);
    }
    c.save();
    c.beginPath();
    c.rect(this.pad.left, this.pad.top - 4, this.width - this.pad.left - this.pad.right, this.height - this.pad.top - this.pad.bottom + 8);
    c.clip();
  }

  end() { this.context.restore(); }

  x(value) { return this.pad.left + (value - this.left) / (this.right - this.left) * (this.width - this.pad.left - this.pad.right); }

  y(value) {
    const at = this.log ? Math.log(value / this.low) / Math.log(this.high / this.low) : (value - this.low) / (this.high - this.low);
    return this.height - this.pad.bottom - at * (this.height - this.pad.top - this.pad.bottom);
  }

  // The row under a point of the canvas.
  at(pixel) { return this.left + (pixel - this.pad.left) / (this.width - this.pad.left - this.pad.right) * (this.right - this.left); }

  line(xs, ys, color, width = 1.6, dash = []) {
    const c = this.context;
    c.strokeStyle = color;
    c.lineWidth = width;
    c.lineJoin = "round";
    c.setLineDash(dash);
    c.beginPath();
    let drawn = false;
    for (let i = 0; i < xs.length; i++) {
      if (ys[i] === null || !Number.isFinite(ys[i])) { drawn = false; continue; }
      if (drawn) c.lineTo(this.x(xs[i]), this.y(ys[i]));
      else c.moveTo(this.x(xs[i]), this.y(ys[i]));
      drawn = true;
    }
    c.stroke();
    c.setLineDash([]);
  }

  band(xs, lower, upper, color) {
    const c = this.context;
    c.fillStyle = color;
    for (let i = 0; i < xs.length;) {
      if (!(lower[i] <= upper[i]) || lower[i] === null) { i++; continue; }
      let j = i;
      while (j < xs.length && lower[j] !== null && lower[j] <= upper[j]) j++;
      c.beginPath();
      for (let k = i; k < j; k++) c.lineTo(this.x(xs[k]), this.y(upper[k]));
      for (let k = j - 1; k >= i; k--) c.lineTo(this.x(xs[k]), this.y(lower[k]));
      c.fill();
      i = j;
    }
  }

  points(xs, ys, color, radius, diamond = false) {
    const c = this.context;
    c.fillStyle = color;
    c.beginPath();
    for (let i = 0; i < xs.length; i++) {
      if (ys[i] === null || !Number.isFinite(ys[i])) continue;
      const x = this.x(xs[i]), y = this.y(ys[i]);
      if (diamond) {
        c.moveTo(x, y - radius); c.lineTo(x + radius, y); c.lineTo(x, y + radius); c.lineTo(x - radius, y); c.closePath();
      } else if (radius < 1) c.rect(x - radius, y - radius, 2 * radius, 2 * radius);
      else { c.moveTo(x + radius, y); c.arc(x, y, radius, 0, 7); }
    }
    c.fill();
  }

  across(value, color) { this.line([this.left, this.right], [value, value], color, 1.4, [6, 4]); }

  marks(marks) {
    const c = this.context;
    for (const [kind, dash] of [["tuning", [2, 3]], ["drift", []]])
      for (const row of marks[kind] || []) {
        if (row < this.left || row > this.right) continue;
        const x = this.x(row);
        c.strokeStyle = c.fillStyle = colors[kind];
        c.globalAlpha = kind === "drift" ? 0.9 : 0.65;
        c.lineWidth = kind === "drift" ? 1.8 : 1.2;
        c.setLineDash(dash);
        c.beginPath();
        c.moveTo(x, this.pad.top - 4);
        c.lineTo(x, this.height - this.pad.bottom);
        c.stroke();
        c.setLineDash([]);
        if (kind === "drift") {
          c.beginPath();
          c.moveTo(x - 5, this.pad.top - 4); c.lineTo(x + 5, this.pad.top - 4); c.lineTo(x, this.pad.top + 4);
          c.fill();
        }
        c.globalAlpha = 1;
      }
  }
}
