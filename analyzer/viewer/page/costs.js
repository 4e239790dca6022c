// Costs: sums by name, and the tables of cg-analyze's queries.
import { answer, className, costRows, queryCommand, run } from './data.js';
import { choice, el, note, section } from './dom.js';
import { documentView } from './documents.js';
import { commandElement } from './dom.js';
import { option, setOption } from './state.js';
import { Table } from './table.js';

const KINDS = [['kernels', 'Kernels'], ['copies', 'Copies'], ['api', 'Calls'], ['slowest-host', 'Slowest spans of the host'],
    ['slowest-device', 'Slowest spans of the device'], ['heaviest', 'Heaviest spans and operations'], ['activations', 'Activations'], ['spans', 'Spans one by one']];

function sums(rows) {
    const only = option('costs.class', '');
    const table = new Table(rows.map((row) => ({ ...row, class: className(row.class), average_ns: Math.floor(row.total_ns / row.count) })), {
        caption: 'Sums by name', total: run.head.costs.total, rest: queryCommand('spans'), sort: { key: 'total_ns', down: true },
        keep: (row) => !option('costs.class', '') || row.class === option('costs.class', ''),
        filters: [choice('of', [['', 'everything'], ...new Set(rows.map((row) => className(row.class)))].map((one) => (Array.isArray(one) ? one : [one, one])), only,
            (value) => { setOption('costs.class', value); table.draw(); })],
        columns: ['name', 'class', 'count', 'total_ns', 'self_ns', 'average_ns', 'minimum_ns', 'maximum_ns'].map((key) => ({ key })),
    });
    return table.element;
}

export async function costsTab() {
    const rows = await costRows();
    const views = [];
    for (const [kind, heading] of KINDS) {
        const document = await answer(kind);
        if (document === null) {
            views.push(section(heading, note('Not on the page: ', run.head.counts.spans > 0 ? 'too long for it, or without a complete capture.' : 'nothing was recorded.'), commandElement(queryCommand(kind))));
            continue;
        }
        views.push(el('section', { 'data-kind': kind }, el('h2', {}, heading), documentView(document, queryCommand(kind), heading), commandElement(queryCommand(kind))));
    }
    return el('div', {}, section('By name', note('Every span, operation and device interval of the capture is in these sums. Self time is what no slice below it on its thread covers. Device clocks are never added.'), sums(rows)), views);
}
