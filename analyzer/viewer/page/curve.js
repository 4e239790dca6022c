// The curve of live bytes: read once, drawn under the timeline and on the memory tab.
import { answer, columns, run } from './data.js';
import { bytes, duration } from './format.js';
import { parseExact, part, textOf } from './bytes.js';
import { axisSteps, colors, FONT } from './paint.js';

let reading = null;

async function read() {
    const about = parseExact(textOf(await part('memory')));
    const list = await columns('curve');
    const size = about.points_shown;
    const time = new Float64Array(size);
    const live = new Float64Array(size);
    let at = 0;
    for (let i = 0; i < size; i++) time[i] = at += list[0].number();
    at = 0;
    for (let i = 0; i < size; i++) live[i] = at += list[1].step();
    const series = (column) => {
        const values = new Float64Array(size);
        let value = 0;
        for (let i = 0; i < size && !column.done; i++) values[i] = value += column.step();
        return values;
    };
    const first = 3 + about.categories.length;
    const nameOf = (row) => (row.name === 0 ? '(no name)' : run.names[row.name]);
    const grouped = (rows, from) => rows.slice(0, about.groups_shown).map((row, i) => ({ name: nameOf(row), values: series(list[from + i]) }));
    return {
        about, time, live, size,
        category: about.categories.map((name, i) => ({ name, values: series(list[3 + i]) })).filter((one) => one.values.some((value) => value > 0)),
        span: grouped(about.by_span.rows, first),
        call: grouped(about.by_call.rows, first + about.groups_shown),
        samples: await readSamples(),
    };
}

async function readSamples() {
    const [time, device, used, free, reserved, capacity] = await columns('samples');
    const rows = [];
    let at = 0;
    const value = (column) => {
        const more = column.number();
        return more === 0 ? null : more - 1;
    };
    while (!time.done)
        rows.push({
            timestamp_ns: (at += time.number()), device: run.names[device.number()], used_bytes: value(used),
            free_bytes: value(free), reserved_bytes: value(reserved), capacity_bytes: value(capacity),
        });
    return rows;
}

export function memoryCurve() {
    reading ??= read();
    return reading;
}

// The point in force at a time; -1 before the first.
export function pointAt(curve, time) {
    let low = 0;
    let high = curve.size;
    while (low < high) {
        const middle = (low + high) >>> 1;
        if (curve.time[middle] <= time) low = middle + 1;
        else high = middle;
    }
    return low - 1;
}

// What is live at a point by the groups of a grouping; what they do not cover is "others".
export function groupsAt(curve, grouping, point) {
    if (point < 0) return [];
    const rows = curve[grouping].map((group) => ({ name: group.name, bytes: group.values[point] }));
    const rest = curve.live[point] - rows.reduce((sum, row) => sum + row.bytes, 0);
    if (rest > 0) rows.push({ name: '(others)', bytes: rest });
    return rows.filter((row) => row.bytes > 0);
}

// Draws the curve into a box; box: {x, y, width, height}; view: [from, to] in ns of host time.
export function drawCurve(painter, box, view, curve, grouping, options = {}) {
    const theme = colors();
    const scale = box.width / (view[1] - view[0]);
    const x = (time) => box.x + (time - view[0]) * scale;
    const first = Math.max(0, pointAt(curve, view[0]));
    const last = Math.min(curve.size - 1, pointAt(curve, view[1]) + 1);
    let top = 1;
    for (let i = first; i <= last; i++) top = Math.max(top, curve.live[i]);
    const samples = options.samples ? curve.samples : [];
    for (const sample of samples) if (sample.used_bytes !== null && options.scaleToUsed) top = Math.max(top, sample.used_bytes);
    const y = (value) => box.y + box.height - (value / top) * (box.height - 16);
    // One column of pixels shows the highest of its points.
    const picked = [];
    for (let i = first; i <= last && curve.size > 0; i++) {
        const pixel = Math.floor(x(curve.time[i]));
        const before = picked[picked.length - 1];
        if (before && before.pixel === pixel) {
            if (curve.live[i] > curve.live[before.point]) before.point = i;
            before.last = i;
        } else picked.push({ pixel, point: i, last: i });
    }
    const groups = curve[grouping];
    const base = new Float64Array(picked.length);
    const outline = (values) => {
        const points = [];
        picked.forEach((one, i) => {
            const left = Math.max(box.x, Math.min(x(curve.time[one.point]), box.x + box.width));
            const next = picked[i + 1];
            const right = Math.max(left, Math.min(next ? x(curve.time[next.point]) : box.x + box.width, box.x + box.width));
            const level = y(values(one.point, i));
            points.push([left, level], [right, level]);
        });
        return points;
    };
    const stack = (values, color) => {
        const lower = outline((point, i) => base[i]).reverse();
        const upper = outline((point, i) => base[i] + values(point));
        picked.forEach((one, i) => { base[i] += values(one.point); });
        if (upper.length) painter.area([...upper, ...lower], color);
    };
    groups.forEach((group, i) => stack((point) => group.values[point], theme.hues[i % theme.hues.length]));
    const covered = Float64Array.from(base);
    picked.forEach((one, i) => { covered[i] = Math.max(0, curve.live[one.point] - base[i]); });
    const index = new Map(picked.map((one, i) => [one.point, i]));
    stack((point) => covered[index.get(point)], theme.border);
    const line = outline((point) => curve.live[point]);
    if (line.length) painter.line(line, theme.text, 1);
    if (options.samples) {
        const used = samples.filter((sample) => sample.used_bytes !== null).map((sample) => [x(sample.timestamp_ns), Math.max(box.y, y(sample.used_bytes))]);
        if (used.length > 1) painter.line(used, theme.accent, 1.5);
    }
    for (const tick of axisSteps(0, top, box.height, 40).ticks.slice(1)) {
        painter.line([[box.x, y(tick)], [box.x + box.width, y(tick)]], theme.border, 0.5);
        painter.text(bytes(Math.round(tick)), box.x + 4, y(tick) - 6, theme.faint, FONT);
    }
    return { x, y, top };
}

export function curveNote(curve) {
    const { about } = curve;
    if (about.points_shown >= about.points) return null;
    return `${about.points_shown} of ${about.points} points shown: of each ${duration(about.bucket_ns)} the highest`;
}

export async function peakOf() {
    const overview = await answer('overview');
    return overview.memory.logical_totals;
}
