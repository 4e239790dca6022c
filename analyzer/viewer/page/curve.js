// The curve of live bytes: read once, drawn under the timeline and on the memory tab.
import { answer, columns, run } from './data.js';
import { bytes, duration } from './format.js';
import { parseExact, part, textOf } from './bytes.js';
import { byteSteps, colors, FONT } from './paint.js';

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
    const nameOf = (row) => row.frame ?? (row.name === 0 ? '(no name)' : run.names[row.name]);
    const grouped = (rows, from) => rows.slice(0, about.groups_shown).map((row, i) => ({ name: nameOf(row), values: series(list[from + i]) }));
    return {
        about, time, live, size,
        category: about.categories.map((name, i) => ({ name, values: series(list[3 + i]) })).filter((one) => one.values.some((value) => value > 0)),
        span: grouped(about.by_span.rows, first),
        call: grouped(about.by_call.rows, first + about.groups_shown),
        site: grouped(about.by_site.rows, first + 2 * about.groups_shown),
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

// Memory in use on the device, by samples: the highest of each column of pixels.
function drawUsed(painter, box, x, y, samples) {
    const points = [];
    for (const sample of samples) {
        const at = [Math.min(Math.max(Math.floor(x(sample.timestamp_ns)), box.x), box.x + box.width), y(sample.used_bytes)];
        const before = points[points.length - 1];
        if (before && before[0] === at[0]) before[1] = Math.min(before[1], at[1]);
        else points.push(at);
    }
    if (points.length > 1) painter.line(points, colors().accent, 1.5);
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
    const samples = options.scaleToUsed ? curve.samples.filter((sample) => sample.used_bytes !== null) : [];
    for (const sample of samples) top = Math.max(top, sample.used_bytes);
    const y = (value) => box.y + box.height - (value / top) * (box.height - 16);
    // Each column of pixels shows the highest of what was in force in it: its points, and what the one before
    // left behind.
    const picked = [];
    let force = -1;
    for (let i = first; i <= last && curve.size > 0;) {
        const pixel = Math.max(box.x, Math.floor(x(curve.time[i])));
        let highest = force >= 0 && curve.live[force] > curve.live[i] ? force : i;
        for (force = i++; i <= last && Math.floor(x(curve.time[i])) <= pixel; force = i++)
            if (curve.live[i] > curve.live[highest]) highest = i;
        picked.push({ left: pixel, point: highest });
        if (force !== highest && (i > last || Math.floor(x(curve.time[i])) > pixel + 1)) picked.push({ left: pixel + 1, point: force });
    }
    const limit = box.x + box.width;
    const groups = curve[grouping];
    const base = new Float64Array(picked.length);
    const outline = (values) => {
        const points = [];
        picked.forEach((one, i) => {
            const left = Math.min(one.left, limit);
            const right = Math.min(picked[i + 1]?.left ?? limit, limit);
            const level = y(values(one.point, i));
            points.push([left, level], [right, level]);
        });
        return points;
    };
    const stack = (values, color) => {
        const lower = outline((point, i) => base[i]).reverse();
        const upper = outline((point, i) => base[i] + values(point, i));
        picked.forEach((one, i) => { base[i] += values(one.point, i); });
        if (upper.length) painter.area([...upper, ...lower], color);
    };
    groups.forEach((group, i) => stack((point) => group.values[point], theme.hues[i % theme.hues.length]));
    const covered = Float64Array.from(base, (sum, i) => Math.max(0, curve.live[picked[i].point] - sum));
    stack((point, i) => covered[i], theme.border);
    const line = outline((point) => curve.live[point]);
    if (line.length && picked.length < box.width / 3) painter.line(line, theme.faint, 0.75); // else it is all strokes
    if (options.scaleToUsed) drawUsed(painter, box, x, y, samples);
    for (const tick of byteSteps(top, box.height)) {
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
