// Graph: who calls the selected name and whom it calls; what feeds it and what it feeds.
import { columns, labelWords, queryCommand, run } from './data.js';
import { commandElement, download, el, note, replace, section, svgElement, button } from './dom.js';
import { callTree } from './flame.js';
import { count, duration, shortName } from './format.js';
import { colors, hueIndex } from './paint.js';
import { change, onChange, state } from './state.js';
import { Table } from './table.js';

const SHOWN = 10;
const BOX = { width: 190, height: 26, gap: 10 };

async function calls() {
    const edges = new Map();
    for (const node of (await callTree('tree')).slice(1)) {
        if (!node.parent?.parent) continue;
        const key = node.parent.name + '\u0000' + node.name;
        const edge = edges.get(key) ?? { from: node.parent.name, to: node.name, kind: 'call', count: 0, total_ns: 0 };
        edge.count += node.count;
        edge.total_ns += node.total_ns;
        edges.set(key, edge);
    }
    return [...edges.values()];
}

async function feeds() {
    const [from, to, number] = await columns('feeds');
    const edges = [];
    while (!from.done) edges.push({ from: run.names[from.number()], to: run.names[to.number()], kind: 'data', count: number.number(), total_ns: null });
    return edges;
}

let reading = null;
function allEdges() {
    reading ??= Promise.all([calls(), feeds()]).then((lists) => lists.flat());
    return reading;
}

function box(name, x, y, center) {
    const theme = colors();
    const select = () => change({ name });
    return svgElement('g', {
        tabindex: 0, role: 'button', class: 'node', 'aria-label': shortName(name, 200), onclick: select,
        onkeydown: (event) => { if (event.key === 'Enter' || event.key === ' ') { event.preventDefault(); select(); } },
    }, svgElement('title', {}, name),
    svgElement('rect', { x, y, width: BOX.width, height: BOX.height, rx: 4, fill: center ? theme.strong[hueIndex(name)] : theme.hues[hueIndex(name)] }),
    svgElement('text', { x: x + 8, y: y + BOX.height / 2, 'dominant-baseline': 'central', 'font-size': 12, fill: center && !theme.dark ? '#fff' : theme.onHue }, shortName(name, 26)));
}

function sideOf(edges, kind, end, name) {
    const all = edges.filter((edge) => edge.kind === kind && edge[end === 'from' ? 'to' : 'from'] === name).sort((a, b) => (b.total_ns ?? 0) - (a.total_ns ?? 0) || b.count - a.count);
    return { all, shown: all.slice(0, SHOWN).map((edge) => ({ name: edge[end], edge })) };
}

function drawGraph(name, edges) {
    const theme = colors();
    const before = [...sideOf(edges, 'call', 'from', name).shown, ...sideOf(edges, 'data', 'from', name).shown];
    const after = [...sideOf(edges, 'call', 'to', name).shown, ...sideOf(edges, 'data', 'to', name).shown];
    const rows = Math.max(before.length, after.length, 1);
    const height = rows * (BOX.height + BOX.gap) + BOX.gap;
    const width = 3 * BOX.width + 2 * 150;
    const middle = height / 2 - BOX.height / 2;
    const yOf = (list, i) => height / 2 - (list.length * (BOX.height + BOX.gap) - BOX.gap) / 2 + i * (BOX.height + BOX.gap);
    // The figures stand at the outer end, where the lines are apart.
    const arrow = (x0, y0, x1, y1, edge, outer) => [
        svgElement('path', {
            d: `M${x0} ${y0}C${x0 + 70} ${y0} ${x1 - 70} ${y1} ${x1} ${y1}`, fill: 'none', stroke: edge.kind === 'call' ? theme.text : theme.accent,
            'stroke-width': 1.4, 'stroke-dasharray': edge.kind === 'data' ? '5 4' : null,
        }),
        svgElement('text', { x: outer === 'left' ? x0 + 6 : x1 - 6, y: (outer === 'left' ? y0 : y1) - 5, 'text-anchor': outer === 'left' ? 'start' : 'end', 'font-size': 10, fill: theme.faint },
            `${count(edge.count)} ×` + (edge.total_ns === null ? '' : ' ' + duration(edge.total_ns))),
    ];
    const center = BOX.width + 150;
    return svgElement('svg', { class: 'graph', viewBox: `0 0 ${width} ${height}`, width, height, role: 'group', 'aria-label': 'Neighbours of ' + shortName(name, 200), xmlns: 'http://www.w3.org/2000/svg' },
        before.map((one, i) => arrow(BOX.width, yOf(before, i) + BOX.height / 2, center, middle + BOX.height / 2, one.edge, 'left')),
        after.map((one, i) => arrow(center + BOX.width, middle + BOX.height / 2, center + BOX.width + 150, yOf(after, i) + BOX.height / 2, one.edge, 'right')),
        before.map((one, i) => box(one.name, 0, yOf(before, i), false)), box(name, center, middle, true),
        after.map((one, i) => box(one.name, center + BOX.width + 150, yOf(after, i), false)));
}

function busiest(edges) {
    const neighbours = new Map();
    for (const edge of edges) for (const name of [edge.from, edge.to]) neighbours.set(name, (neighbours.get(name) ?? 0) + 1);
    return [...neighbours].reduce((best, one) => (one[1] > best[1] ? one : best))[0];
}

export async function graphTab() {
    const edges = await allEdges();
    const place = el('div');
    const draw = () => {
        if (edges.length === 0) return replace(place, note('No call and no data edge was recorded.'));
        const name = state.name ?? busiest(edges);
        const near = edges.filter((edge) => edge.from === name || edge.to === name);
        const sides = [['call', 'from'], ['call', 'to'], ['data', 'from'], ['data', 'to']].map(([kind, end]) => sideOf(edges, kind, end, name).all.length);
        const drawn = sides.reduce((sum, size) => sum + Math.min(size, SHOWN), 0);
        const total = sides.reduce((sum, size) => sum + size, 0);
        const graph = drawGraph(name, edges);
        replace(place, state.name === null ? note('Nothing is selected: this name has the most neighbours.') : null,
            el('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': 'Graph' }, graph),
            el('div', { class: 'tools' }, el('span', { class: 'count' }, drawn < total ? `${drawn} of ${total} neighbours drawn, the rest is in the table` : `${total} ${total === 1 ? 'neighbour' : 'neighbours'}`),
                button('SVG', () => download('graph.svg', 'image/svg+xml', new XMLSerializer().serializeToString(graph)), { 'aria-label': 'Save the graph as SVG' })),
            note('Solid: calls. Dashed: data. To the left who calls or feeds, to the right who is called or fed.'),
            new Table(near, { caption: 'Edges of the selection', columns: ['from', 'to', 'kind', 'count', 'total_ns'].map((key) => ({ key })), select: (row) => ({ name: row.from === name ? row.to : row.from }) }).element,
            commandElement(queryCommand('spans', ...labelWords(name))));
    };
    onChange((changed) => { if (changed.has('name') && state.tab === 'graph') draw(); });
    graphTab.draw = draw;
    draw();
    const { total } = run.head.feeds;
    return section('Callers, callees and data', place, Number(total) > Number(run.head.feeds.displayed) ? note(`${run.head.feeds.displayed} of ${total} data edges are on the page.`) : null);
}
