// Drawing on a canvas or into an SVG document, with the same calls.
import { svgElement } from './dom.js';
import { shortName } from './format.js';

export class CanvasPainter {
    constructor(canvas) {
        this.canvas = canvas;
        this.context = canvas.getContext('2d');
    }
    // Makes the canvas as sharp as the screen; returns its size in CSS pixels.
    begin(background) {
        const scale = window.devicePixelRatio || 1;
        const width = this.canvas.clientWidth;
        const height = this.canvas.clientHeight;
        if (this.canvas.width !== Math.round(width * scale) || this.canvas.height !== Math.round(height * scale)) {
            this.canvas.width = Math.round(width * scale);
            this.canvas.height = Math.round(height * scale);
        }
        this.context.setTransform(scale, 0, 0, scale, 0, 0);
        this.context.fillStyle = background;
        this.context.fillRect(0, 0, width, height);
        this.context.textBaseline = 'middle';
        return { width, height };
    }
    rect(x, y, width, height, color) {
        this.context.fillStyle = color;
        this.context.fillRect(x, y, width, height);
    }
    frame(x, y, width, height, color) {
        this.context.strokeStyle = color;
        this.context.lineWidth = 2;
        this.context.strokeRect(x, y, width, height);
    }
    text(text, x, y, color, font, align = 'left') {
        this.context.font = font;
        this.context.fillStyle = color;
        this.context.textAlign = align;
        this.context.fillText(text, x, y);
    }
    // One pixel after the other, each as high as the lane: words are colours as wordOf() gives them, 0 is nothing.
    strip(words, x, y, height) {
        this.row ??= document.createElement('canvas');
        if (this.row.width < words.length) this.row.width = words.length;
        this.row.height = 1;
        const context = this.row.getContext('2d');
        context.putImageData(new ImageData(new Uint8ClampedArray(words.buffer, 0, 4 * words.length), words.length, 1), 0, 0);
        this.context.imageSmoothingEnabled = false;
        this.context.drawImage(this.row, 0, 0, words.length, 1, x, y, words.length, height);
    }
    line(points, color, width = 1) {
        this.context.strokeStyle = color;
        this.context.lineWidth = width;
        this.context.beginPath();
        points.forEach(([x, y], i) => (i ? this.context.lineTo(x, y) : this.context.moveTo(x, y)));
        this.context.stroke();
    }
    area(points, color) {
        this.context.fillStyle = color;
        this.context.beginPath();
        points.forEach(([x, y], i) => (i ? this.context.lineTo(x, y) : this.context.moveTo(x, y)));
        this.context.closePath();
        this.context.fill();
    }
    curve(x0, y0, x1, y1, color) {
        const bend = Math.max(24, Math.abs(x1 - x0) / 2);
        this.context.strokeStyle = color;
        this.context.lineWidth = 2;
        this.context.beginPath();
        this.context.moveTo(x0, y0);
        this.context.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1, y1);
        this.context.stroke();
        this.context.beginPath();
        this.context.arc(x1, y1, 3, 0, 2 * Math.PI);
        this.context.fillStyle = color;
        this.context.fill();
    }
}

const round = (value) => Math.round(value * 100) / 100;

export class SvgPainter {
    constructor(width, height, title) {
        this.size = { width, height };
        this.root = svgElement('svg', {
            xmlns: 'http://www.w3.org/2000/svg', width, height, viewBox: `0 0 ${width} ${height}`, role: 'img',
        }, svgElement('title', {}, title));
    }
    begin(background) {
        this.rect(0, 0, this.size.width, this.size.height, background);
        return this.size;
    }
    add(tag, properties, ...children) {
        this.root.append(svgElement(tag, properties, ...children));
    }
    rect(x, y, width, height, color) {
        this.add('rect', { x: round(x), y: round(y), width: round(Math.max(width, 0)), height: round(height), fill: color });
    }
    frame(x, y, width, height, color) {
        this.add('rect', { x: round(x), y: round(y), width: round(width), height: round(height), fill: 'none', stroke: color, 'stroke-width': 2 });
    }
    text(text, x, y, color, font, align = 'left') {
        const size = /([\d.]+)px/.exec(font)[1];
        this.add('text', {
            x: round(x), y: round(y), fill: color, 'font-size': size, 'font-family': 'sans-serif',
            'dominant-baseline': 'central', 'text-anchor': { left: 'start', center: 'middle', right: 'end' }[align],
        }, clean(text));
    }
    strip(words, x, y, height) {
        for (let i = 0, end; i < words.length; i = end) {
            for (end = i + 1; end < words.length && words[end] === words[i]; end++);
            if (words[i]) this.rect(x + i, y, end - i, height, cssOf(words[i]));
        }
    }
    line(points, color, width = 1) {
        this.add('polyline', { points: pointText(points), fill: 'none', stroke: color, 'stroke-width': width });
    }
    area(points, color) {
        this.add('polygon', { points: pointText(points), fill: color });
    }
    curve(x0, y0, x1, y1, color) {
        const bend = Math.max(24, Math.abs(x1 - x0) / 2);
        this.add('path', {
            d: `M${round(x0)} ${round(y0)}C${round(x0 + bend)} ${round(y0)} ${round(x1 - bend)} ${round(y1)} ${round(x1)} ${round(y1)}`,
            fill: 'none', stroke: color, 'stroke-width': 2,
        });
    }
    toString() {
        return new XMLSerializer().serializeToString(this.root);
    }
}

function pointText(points) {
    return points.map(([x, y]) => round(x) + ',' + round(y)).join(' ');
}

// XML has no place for most control characters.
function clean(text) {
    return text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd');
}

// ---- colours ----

// A colour as ImageData has it on little-endian machines, from #rrggbb; and back.
export function wordOf(css) {
    const value = parseInt(css.slice(1), 16);
    return (0xff000000 | ((value & 255) << 16) | (value & 0xff00) | (value >> 16)) >>> 0;
}

function cssOf(word) {
    return '#' + [word & 255, (word >> 8) & 255, (word >> 16) & 255].map((part) => part.toString(16).padStart(2, '0')).join('');
}

function fromHsl(hue, saturation, lightness) {
    const reach = saturation * Math.min(lightness, 1 - lightness);
    const part = (offset) => {
        const place = (offset + hue / 30) % 12;
        return Math.round(255 * (lightness - reach * Math.max(-1, Math.min(place - 3, 9 - place, 1)))).toString(16).padStart(2, '0');
    };
    return '#' + part(0) + part(8) + part(4);
}

const HUES = [210, 28, 140, 265, 190, 340, 95, 235, 10, 165, 300, 50];
let theme = null;

export function readTheme() {
    const style = getComputedStyle(document.documentElement);
    const value = (name) => style.getPropertyValue('--' + name).trim();
    const dark = value('dark') === '1';
    theme = {
        dark, back: value('back'), raised: value('raised'), text: value('text'), faint: value('faint'),
        border: value('border'), accent: value('accent'), select: value('select'),
        hues: HUES.map((hue) => (dark ? fromHsl(hue, 0.38, 0.42) : fromHsl(hue, 0.52, 0.72))),
        strong: HUES.map((hue) => (dark ? fromHsl(hue, 0.48, 0.58) : fromHsl(hue, 0.52, 0.46))),
    };
    theme.hueWords = theme.hues.map(wordOf);
    theme.strongWords = theme.strong.map(wordOf);
    theme.borderWord = wordOf(theme.border);
    theme.onHue = dark ? '#f4f6f8' : '#14181c';
    return theme;
}

export function colors() {
    return theme ?? readTheme();
}

const hueOfName = new Map();
export function hueIndex(name) {
    let index = hueOfName.get(name);
    if (index === undefined) {
        let hash = 2166136261;
        for (let i = 0; i < name.length && i < 256; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 16777619);
        index = (hash >>> 0) % HUES.length;
        hueOfName.set(name, index);
    }
    return index;
}

// The beginning of a text, no character cut in two.
export function cutText(text, length) {
    const code = text.charCodeAt(length - 1);
    return text.slice(0, code >= 0xd800 && code < 0xdc00 ? length - 1 : length);
}

export const FONT = '11px system-ui, sans-serif';

// Letters in so many pixels, by the width of an average one.
function lettersIn(width) {
    return Math.floor(width / 6.3);
}

// At most so many pixels of a text.
export function fitText(text, width) {
    const letters = lettersIn(width);
    if (letters < 2) return '';
    return text.length <= letters ? text : cutText(text, letters - 1) + '…';
}

// The same of a name, and of what stands behind it where the whole of both fits.
export function fitName(name, width, behind = '') {
    const letters = lettersIn(width);
    if (letters < 2) return '';
    return name.length + behind.length <= letters ? name + behind : shortName(name, letters);
}

// The same of a name and what stands before it, which is always shown first.
export function fitNamed(before, name, width) {
    const letters = lettersIn(width) - before.length;
    return letters < 2 ? fitText(before.trimEnd(), width) : before + shortName(name, letters);
}

// Round steps of an axis: about one label every so many pixels.
export function axisSteps(from, to, pixels, every = 110) {
    const raw = ((to - from) / Math.max(pixels, 1)) * every;
    const power = 10 ** Math.floor(Math.log10(raw || 1));
    const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= raw) ?? power * 10;
    const ticks = [];
    for (let tick = Math.ceil(from / step) * step; tick <= to && ticks.length < 200; tick += step) ticks.push(tick);
    return { step, ticks };
}

// The same for bytes, from the first step above 0 on: round in the unit that they are written in.
export function byteSteps(top, pixels, every = 40) {
    const raw = (top / Math.max(pixels, 1)) * every;
    let unit = 1;
    while (raw >= 1000 * unit) unit *= 1024;
    const size = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1024].map((factor) => factor * unit).find((one) => one >= raw) ?? raw;
    const ticks = [];
    for (let tick = size; tick <= top && ticks.length < 50; tick += size) ticks.push(tick);
    return ticks;
}
