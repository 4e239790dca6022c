// Memory: the curve, the live set at a time, who held the peak, storages as blocks, retained and short-lived
// ones, samples of the devices and what they leave unexplained.
import { answer, queryCommand, run } from './data.js';
import { button, choice, commandElement, download, el, note, replace, section } from './dom.js';
import { allBlocks, blockAt, isLive, paintBlocks, placeBlocks } from './blocks.js';
import { curveNote, drawCurve, groupsAt, memoryCurve, peakOf, pointAt } from './curve.js';
import { definitions, queryView, shownOf } from './documents.js';
import { bytes, count, duration, shortName, tickText } from './format.js';
import { failuresView } from './failures.js';
import { axisSteps, CanvasPainter, colors, FONT, SvgPainter } from './paint.js';
import { change, onChange, option, setOption, state } from './state.js';
import { Table } from './table.js';

const BLOCK_COLUMNS = ['storage', 'bytes', 'span', 'call', 'category', 'device', 'start_ns', 'lived_ns'].map((key) => ({ key }));

function rowsOfBlocks(curve, blocks) {
    return blocks.map((block) => ({
        ...block, name: block.span, category: curve.about.categories[block.category],
        lived_ns: block.end_ns === null ? null : block.end_ns - block.start_ns,
    }));
}

function wholeOf(curve) {
    const end = Math.max(Number(run.head.run.end_ns), curve.size ? curve.time[curve.size - 1] : 1);
    return [0, end || 1];
}

// A drawing with an axis of time that can be saved, and redrawn when something changes.
function drawing(caption, height, paint) {
    const canvas = el('canvas', { class: 'chart', role: 'img', 'aria-label': caption, style: null, height, 'data-height': height });
    canvas.style.height = height + 'px';
    const painter = new CanvasPainter(canvas);
    const draw = () => {
        if (canvas.isConnected && canvas.clientWidth > 0) paint(painter, painter.begin(colors().back));
    };
    new ResizeObserver(draw).observe(canvas);
    onChange(draw);
    const save = button('SVG', () => {
        const svg = new SvgPainter(canvas.clientWidth, height, caption);
        paint(svg, svg.begin(colors().back));
        download('memory.svg', 'image/svg+xml', svg.toString());
    }, { 'aria-label': 'Save ' + caption + ' as SVG' });
    return { canvas, draw, save };
}

function curveSection(curve, peak) {
    const view = () => state.view ?? wholeOf(curve);
    const grouping = () => option('memory.by', 'category');
    const chart = drawing('Live bytes over time', 260, (painter, size) => {
        const theme = colors();
        const box = { x: 0, y: 0, width: size.width, height: size.height - 18 };
        const { x } = drawCurve(painter, box, view(), curve, grouping(), { scaleToUsed: option('memory.used', '') === 'yes' });
        const { step, ticks } = axisSteps(...view(), size.width);
        for (const tick of ticks) painter.text(tickText(tick, step), x(tick) + 3, size.height - 8, theme.faint, FONT);
        const mark = (time, color) => { if (time >= view()[0] && time <= view()[1]) painter.line([[x(time), 0], [x(time), box.height]], color, 1.5); };
        if (peak?.peak_timestamp_ns !== null && peak?.peak_timestamp_ns !== undefined) mark(Number(peak.peak_timestamp_ns), theme.accent);
        if (state.at !== null) mark(state.at, theme.select);
    });
    chart.canvas.addEventListener('click', (event) => {
        const [from, to] = view();
        change({ at: Math.round(from + (event.offsetX / chart.canvas.clientWidth) * (to - from)) });
    });
    // The cursor by keyboard.
    const slider = el('input', { type: 'range', class: 'cursor', min: 0, max: 1000, 'aria-label': 'Time of the cursor', oninput: () => {
        const [from, to] = view();
        change({ at: Math.round(from + (slider.value / 1000) * (to - from)) });
    } });
    const placeSlider = () => {
        const [from, to] = view();
        const time = state.at ?? Number(peak?.peak_timestamp_ns ?? 0);
        slider.value = (1000 * (time - from)) / (to - from);
        slider.setAttribute('aria-valuetext', duration(time));
    };
    onChange(placeSlider);
    placeSlider();
    const legend = el('ul', { class: 'legend' });
    const drawLegend = () => replace(legend, curve[grouping()].map((group, i) => el('li', {},
        el('span', { class: 'swatch', 'data-hue': i }), el('bdi', {}, shortName(group.name, 60)))), el('li', {}, el('span', { class: 'swatch others' }), 'others'));
    const paintLegend = () => legend.querySelectorAll('[data-hue]').forEach((swatch) => { swatch.style.background = colors().hues[swatch.dataset.hue % colors().hues.length]; });
    const legends = () => { drawLegend(); paintLegend(); };
    onChange((changed) => { if (changed.has('options')) legends(); });
    legends();
    return section('Live bytes over time', el('div', { class: 'tools' },
        choice('by', [['category', 'category'], ['span', 'span'], ['call', 'call'], ['site', 'call site']], grouping(), (value) => setOption('memory.by', value)),
        choice('scale to', [['', 'live storages'], ['yes', 'memory in use on the device']], option('memory.used', ''), (value) => setOption('memory.used', value)),
        button('At the peak', () => change({ at: peak?.peak_timestamp_ns === undefined ? null : Number(peak.peak_timestamp_ns) })), chart.save),
    chart.canvas, slider, legend, curveNote(curve) ? note(curveNote(curve)) : null);
}

// The sample in force at a time, by device.
function samplesAt(curve, time) {
    const found = new Map();
    for (const sample of curve.samples) if (sample.timestamp_ns <= time) found.set(sample.device, sample);
    return [...found.values()];
}

function cursorSection(curve, blocks, peak) {
    const place = el('div');
    const draw = () => {
        const time = state.at ?? Number(peak?.peak_timestamp_ns ?? 0);
        const point = pointAt(curve, time);
        const live = point < 0 ? 0 : curve.live[point];
        const set = blocks.filter((block) => isLive(block, time)).sort((a, b) => b.bytes - a.bytes);
        const shown = set.reduce((sum, block) => sum + block.bytes, 0);
        const devices = samplesAt(curve, time).map((sample) => ({
            device: sample.device, used_bytes: sample.used_bytes, reserved_bytes: sample.reserved_bytes,
            unattributed_bytes: sample.used_bytes === null ? null : sample.used_bytes - live, age_ns: time - sample.timestamp_ns,
        }));
        replace(place, state.at === null ? note('At the peak. Click on the curve for another time.') : null, definitions([['time_ns', time], ['live_bytes', live], ['storages_listed', set.length], ['listed_bytes', shown]]),
            live - shown > 0 ? note(bytes(live - shown) + ' more are in storages that the page does not keep one by one.') : null,
            new Table(groupsAt(curve, option('memory.by', 'category'), point), { caption: 'Live at this time, by ' + option('memory.by', 'category') }).element,
            new Table(rowsOfBlocks(curve, set), { caption: 'Storages live at this time', columns: BLOCK_COLUMNS, sort: { key: 'bytes', down: true } }).element,
            devices.length ? new Table(devices, { caption: 'Devices at this time: in use, and what live storages do not explain' }).element : null);
    };
    onChange((changed) => { if (changed.has('at') || changed.has('options')) draw(); });
    draw();
    return section('Live set at the cursor', place);
}

function contributors(curve) {
    const tables = ['by_span', 'by_call', 'by_site', 'by_category'].map((key) => {
        const { rows, displayed, total } = curve.about[key];
        const named = rows.map((row) => {
            const { name, category, frame, ...rest } = row;
            return { name: category ?? frame ?? (name === 0 ? '(no name)' : run.names[name]), ...rest };
        });
        return new Table(named, {
            caption: 'Held the peak, ' + key.replace('_', ' ').replace('site', 'call site'), total, rest: queryCommand('memory'),
            columns: ['name', 'bytes_at_peak', 'storages_at_peak', 'allocated_bytes', 'allocations'].map((one) => ({ key: one })),
            sort: { key: 'bytes_at_peak', down: true }, displayed,
        }).element;
    });
    return section('Peak contributors', tables);
}

function blocksSection(curve, blocks) {
    const place = placeBlocks(blocks);
    const view = () => state.view ?? wholeOf(curve);
    const chart = drawing('Storages by time and place', 300, (painter, size) => paintBlocks(painter, size, blocks, place, view(), state.name));
    const tip = el('p', { class: 'note', role: 'status' }, 'Point at a block to see its storage.');
    chart.canvas.addEventListener('pointermove', (event) => {
        const size = { width: chart.canvas.clientWidth, height: chart.canvas.clientHeight };
        const block = blockAt(blocks, place, view(), size, event.offsetX, event.offsetY);
        if (block) replace(tip, el('bdi', {}, shortName(block.storage, 80)), ` · ${bytes(block.bytes)} · `, el('bdi', {}, shortName(block.span ?? '', 80)),
            ` · from ${duration(block.start_ns)}` + (block.end_ns === null ? ', never freed' : `, for ${duration(block.end_ns - block.start_ns)}`));
    });
    chart.canvas.addEventListener('click', (event) => {
        const size = { width: chart.canvas.clientWidth, height: chart.canvas.clientHeight };
        const block = blockAt(blocks, place, view(), size, event.offsetX, event.offsetY);
        change({ name: block?.span ?? null });
    });
    return section('Storages as blocks', el('div', { class: 'tools' }, chart.save), chart.canvas, tip, note('Height is size; the place is ' + place.by + '.'),
        shownOf(run.head.blocks.displayed, run.head.blocks.total, queryCommand('memory')));
}

function lifetimesSection(curve, blocks) {
    const retained = blocks.filter((block) => block.end_ns === null);
    const short = blocks.filter((block) => block.end_ns !== null).sort((a, b) => (a.end_ns - a.start_ns) - (b.end_ns - b.start_ns)).slice(0, 1000);
    const list = (rows, caption, sort) => new Table(rowsOfBlocks(curve, rows), { caption, columns: BLOCK_COLUMNS, sort }).element;
    return section('Retained and short-lived',
        retained.length ? list(retained, 'Never freed in the capture', { key: 'bytes', down: true }) : note('Every storage that the page keeps was freed.'),
        short.length ? list(short, 'Freed soonest', { key: 'lived_ns', down: false }) : null);
}

const KINDS_OF_MEMORY = [['peak', 'At the peak'], ['leaks', 'Leaks'], ['temporaries', 'Temporaries'], ['churn', 'Churn'], ['ledger', 'Ledger']];

async function furtherKinds() {
    const kinds = KINDS_OF_MEMORY.filter(([kind]) => run.head.documents.includes(kind));
    return Promise.all(kinds.map(async ([kind, heading]) => queryView(kind, heading, await answer(kind))));
}

export async function memoryTab() {
    const curve = await memoryCurve();
    const peak = await peakOf();
    const outOfMemory = await answer('oom');
    const failed = queryView('oom', 'Out of memory', outOfMemory, failuresView);
    const first = Number(outOfMemory?.matched) > 0;
    if (!curve.about.present && curve.samples.length === 0)
        return el('div', {}, note('Neither storages nor samples of device memory were recorded.'), failed);
    const blocks = await allBlocks();
    const samples = curve.samples.length ? new Table(curve.samples, { caption: 'Samples of device memory', total: curve.about.samples, rest: queryCommand('memory') }).element : null;
    return el('div', {},
        peak ? definitions(Object.entries(peak)) : null,
        first ? failed : null,
        curve.size ? curveSection(curve, peak) : null,
        curve.size ? cursorSection(curve, blocks, peak) : null,
        curve.about.present ? contributors(curve) : null,
        blocks.length ? blocksSection(curve, blocks) : null,
        blocks.length ? lifetimesSection(curve, blocks) : null,
        samples ? section('Physical memory', samples) : note('The memory in use on the devices was not sampled.'),
        await furtherKinds(), first ? null : failed, note(count(curve.about.storages) + ' storages in all.'), commandElement(queryCommand('memory')));
}
