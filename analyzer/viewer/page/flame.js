// Call sites: a flame graph of time or bytes, by path of spans or by call stack.
import { columns, queryCommand, run } from './data.js';
import { hasPart, textOf } from './bytes.js';
import { button, choice, commandElement, download, el, note, replace } from './dom.js';
import { bytes, count, duration, percent, shortName } from './format.js';
import { CanvasPainter, colors, fitName, FONT, hueIndex, SvgPainter } from './paint.js';
import { change, onChange, option, setOption, state } from './state.js';
import { Table } from './table.js';

const ROW = 20;
const PATHS_LISTED = 2000;
const MEASURES = [['self_ns', 'time on the host'], ['bytes', 'bytes allocated'], ['peak_bytes', 'bytes live at the peak'], ['allocations', 'number of allocations']];
const trees = new Map();

async function read(part, prefix) {
    const [parent, name, number, total, self, allocations, size, peak] = await columns(part, prefix);
    const names = prefix ? run.other.names : run.names;
    const nameOf = part === 'stacks' ? await frameNames() : (index) => names[index];
    // Frames of one function differ by where they call from; boxes of one name under one parent are one box.
    const nodes = [];
    const numbered = [];
    while (!parent.done) {
        const above = numbered[parent.number()];
        const label = nameOf(name.number());
        let node = above?.byName.get(label);
        if (!node) {
            node = { name: above ? label : 'all', count: 0, total_ns: 0, self_ns: 0, allocations: 0, bytes: 0, peak_bytes: 0, children: [], byName: new Map(), parent: above ?? null, depth: above ? above.depth + 1 : 0 };
            above?.children.push(node);
            above?.byName.set(label, node);
            nodes.push(node);
        }
        numbered.push(node);
        node.count += number.number();
        node.total_ns += total.number();
        node.self_ns += self.number();
        node.allocations += allocations.number();
        node.bytes += size.number();
        node.peak_bytes += peak.number();
    }
    return nodes;
}

async function frameNames() {
    const [texts] = await columns('frames');
    const names = [''];
    while (!texts.done) names.push(textOf(texts.nextText()));
    return (index) => names[index];
}

export function callTree(part = 'tree', prefix = '') {
    const key = prefix + part;
    if (!trees.has(key)) trees.set(key, read(part, prefix));
    return trees.get(key);
}

// Sums of a measure with everything below: children come after their parents.
function inclusive(nodes, measure) {
    for (const node of nodes) node.sum = node[measure];
    for (let i = nodes.length - 1; i > 0; i--) nodes[i].parent.sum += nodes[i].sum;
}

function layout(root, width) {
    const boxes = [];
    const visit = (node, x, scale, depth) => {
        const size = node.sum * scale;
        if (size < 0.6) return;
        boxes.push({ node, x, width: size, depth });
        let at = x;
        for (const child of [...node.children].sort((a, b) => b.sum - a.sum)) {
            visit(child, at, scale, depth + 1);
            at += child.sum * scale;
        }
    };
    if (root.sum > 0) visit(root, 0, width / root.sum, 0);
    return boxes;
}

export function pathOf(node) {
    const path = [];
    for (let at = node; at.parent; at = at.parent) path.unshift(at.name);
    return path;
}

export async function flameTab() {
    const place = el('div');
    const canvas = el('canvas', {
        class: 'chart', tabindex: 0, role: 'application', 'aria-roledescription': 'flame graph',
        'aria-label': 'Flame graph. Arrow keys move between boxes, Enter zooms in, Escape zooms out. The same is in the table below.',
    });
    const painter = new CanvasPainter(canvas);
    const status = el('p', { class: 'note', role: 'status' });
    let nodes;
    let root;
    let focus;
    let boxes = [];
    const source = () => option('flame.by', hasPart('stacks') ? 'stacks' : 'tree');
    const measure = () => option('flame.measure', hasPart('stacks') ? 'bytes' : 'self_ns');
    const text = (value) => (measure() === 'self_ns' ? duration(value) : measure() === 'allocations' ? count(value) : bytes(value));
    const paint = (target, size) => {
        const theme = colors();
        boxes = layout(root, size.width);
        for (const { node, x, width, depth } of boxes) {
            const y = depth * ROW;
            const marked = node.name === state.name && node.parent;
            target.rect(x, y, Math.max(width - 0.5, 0.5), ROW - 1, marked ? theme.strong[hueIndex(node.name)] : node.parent ? theme.hues[hueIndex(node.name)] : theme.border);
            if (node === focus) target.frame(x + 1, y + 1, Math.max(width - 2, 1), ROW - 2, theme.select);
            if (width > 26) target.text(fitName(node.name, width - 8, ` ${text(node.sum)}`), x + 4, y + ROW / 2, node.parent ? theme.onHue : theme.text, FONT);
        }
        if (boxes.length === 0) target.text('Nothing of this measure was recorded.', 8, 16, theme.faint, FONT);
    };
    const draw = () => {
        if (!canvas.isConnected || !root) return;
        const deepest = layout(root, canvas.clientWidth || 800).reduce((most, box) => Math.max(most, box.depth), 0);
        canvas.style.height = Math.min(Math.max((deepest + 1) * ROW, 120), 1200) + 'px';
        paint(painter, painter.begin(colors().back));
    };
    const describe = (node) => replace(status, el('bdi', {}, shortName(node.name, 200)), ` · ${text(node.sum)} with what is below (${percent(node.sum, nodes[0].sum)}), ${text(node[measure()])} itself, ${count(node.count)} ×`);
    const at = (event) => boxes.find((box) => box.depth === Math.floor(event.offsetY / ROW) && event.offsetX >= box.x && event.offsetX < box.x + box.width)?.node;
    canvas.addEventListener('pointermove', (event) => { const node = at(event); if (node) describe(node); });
    canvas.addEventListener('click', (event) => {
        const node = at(event);
        if (!node) return;
        root = focus = node;
        change({ name: node.parent ? node.name : null });
        draw();
    });
    canvas.addEventListener('keydown', (event) => {
        const node = focus ?? root;
        const siblings = node.parent?.children.filter((one) => one.sum > 0).sort((a, b) => b.sum - a.sum) ?? [node];
        const moves = {
            ArrowUp: () => node.parent, ArrowDown: () => [...node.children].sort((a, b) => b.sum - a.sum)[0],
            ArrowLeft: () => siblings[siblings.indexOf(node) - 1], ArrowRight: () => siblings[siblings.indexOf(node) + 1],
            Enter: () => { root = node; change({ name: node.parent ? node.name : null }); return node; }, Escape: () => (root = nodes[0]),
        };
        if (!moves[event.key]) return;
        event.preventDefault();
        const next = moves[event.key]();
        if (next) {
            focus = next;
            if (next.depth < root.depth) root = next;
            describe(next);
            draw();
        }
    });
    const table = el('div');
    const load = async () => {
        nodes = await callTree(source());
        inclusive(nodes, measure());
        root = focus = nodes[0];
        const below = { self_ns: 'with_below_ns', bytes: 'with_below_bytes', peak_bytes: 'with_below_bytes', allocations: 'with_below' }[measure()];
        const rows = nodes.slice(1).sort((a, b) => b.sum - a.sum).slice(0, PATHS_LISTED).map((node) => ({
            name: node.name, path: pathOf(node).join(' › '), [below]: node.sum, count: node.count, self_ns: node.self_ns, allocations: node.allocations, allocated_bytes: node.bytes, bytes_at_peak: node.peak_bytes,
        }));
        const keys = ['name', 'path', below, 'count', 'self_ns', 'allocations', 'allocated_bytes', 'bytes_at_peak'];
        replace(table, new Table(rows, { caption: 'Paths', total: nodes.length - 1, columns: keys.map((key) => ({ key })) }).element);
        draw();
        describe(root);
    };
    const sources = [['tree', 'path of spans and calls']];
    if (hasPart('stacks')) sources.unshift(['stacks', 'call stack']);
    const controls = el('div', { class: 'tools' },
        choice('of', MEASURES, measure(), (value) => { setOption('flame.measure', value); load(); }),
        choice('by', sources, source(), (value) => { setOption('flame.by', value); load(); }),
        button('Whole', () => { root = focus = nodes[0]; draw(); describe(root); }),
        button('SVG', () => {
            const svg = new SvgPainter(canvas.clientWidth, canvas.clientHeight, 'Flame graph');
            paint(svg, svg.begin(colors().back));
            download('flame.svg', 'image/svg+xml', svg.toString());
        }, { 'aria-label': 'Save the flame graph as SVG' }));
    new ResizeObserver(draw).observe(canvas);
    onChange(draw);
    await load();
    replace(place, controls, status, canvas,
        Number(run.head.merged_paths) > 0 ? note(`${count(run.head.merged_paths)} spans and calls on rarer paths count for the path above them.`) : null,
        hasPart('stacks') ? null : note('No call stacks were recorded: the paths are those of spans and calls.'), table,
        commandElement(queryCommand('heaviest')));
    return place;
}
