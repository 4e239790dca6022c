// Compare: this run beside another one, by headline and by name.
import { analyze, answer, className, costRows, run } from './data.js';
import { commandElement, el, note, section } from './dom.js';
import { callTree, pathOf } from './flame.js';
import { valueText } from './format.js';
import { Table } from './table.js';

// A change in per cent; null where there is nothing to relate it to.
function change(a, b) {
    return a === null || b === null || Number(a) === 0 ? null : (100 * (Number(b) - Number(a))) / Number(a);
}

function changeText(row) {
    const [before, after] = [Number(row.before ?? 0), Number(row.after ?? 0)];
    if (row.change === null || after === 0) return before === after ? '–' : before === 0 ? 'new' : 'gone';
    return (row.change > 0 ? '+' : row.change < 0 ? '−' : '') + Math.abs(row.change).toFixed(1) + ' %';
}

function headline(before, after) {
    const figures = [['outer_wall_time_ns', (document) => document.timing?.outer_wall_time_ns ?? null],
        ['peak_live_bytes', (document) => document.memory.logical_totals?.peak_live_bytes ?? null],
        ['total_allocated_bytes', (document) => document.memory.logical_totals?.total_allocated_bytes ?? null],
        ['storage_allocation_count', (document) => document.memory.logical_totals?.storage_allocation_count ?? null],
        ['error_count', (document) => document.health.error_count], ['warning_count', (document) => document.health.warning_count]];
    const rows = figures.map(([key, of]) => ({ what: key, before: of(before), after: of(after) })).map((row) => ({ ...row, change: change(row.before, row.after) }));
    const value = (which) => (row) => valueText(row.what, row[which]);
    return new Table(rows, {
        caption: 'Headline', columns: [{ key: 'what', value: (row) => row.what.replace(/_ns$/, '').replace(/_/g, ' ') }, { key: 'before', value: value('before') }, { key: 'after', value: value('after') },
            { key: 'change', value: changeText }],
    }).element;
}

function join(before, after) {
    const rows = new Map();
    const add = (list, head, which) => {
        for (const row of list) {
            const kind = className(row.class, head);
            const key = kind + '\u0000' + row.name;
            if (!rows.has(key)) rows.set(key, { name: row.name, class: kind, count_before: 0, count: 0, before_ns: 0, after_ns: 0 });
            const sum = rows.get(key);
            sum['count' + (which === 'before' ? '_before' : '')] += row.count;
            sum[which + '_ns'] += row.total_ns;
        }
    };
    add(before, run.other.head, 'before');
    add(after, run.head, 'after');
    return [...rows.values()].map((row) => ({ ...row, difference_ns: row.after_ns - row.before_ns, change: change(row.before_ns, row.after_ns), before: row.before_ns, after: row.after_ns }))
        .sort((a, b) => Math.abs(b.difference_ns) - Math.abs(a.difference_ns));
}

function byName(before, after) {
    return new Table(join(before, after), {
        caption: 'By name, the largest differences first',
        columns: [{ key: 'name' }, { key: 'class' }, { key: 'count_before' }, { key: 'count', label: 'count after' }, { key: 'before_ns' }, { key: 'after_ns' }, { key: 'difference_ns' }, { key: 'change', value: changeText }],
        total: undefined,
    }).element;
}

// Bytes allocated by path of spans and calls.
async function byPath() {
    const rows = new Map();
    for (const [which, nodes] of [['before', await callTree('tree', 'b-')], ['after', await callTree('tree')]])
        for (const node of nodes.filter((one) => one.allocations > 0)) {
            const path = pathOf(node).join(' › ');
            if (!rows.has(path)) rows.set(path, { name: node.name, path, allocations_before: 0, allocations: 0, before_bytes: 0, after_bytes: 0 });
            const row = rows.get(path);
            row['allocations' + (which === 'before' ? '_before' : '')] += node.allocations;
            row[which + '_bytes'] += node.bytes;
        }
    const list = [...rows.values()].map((row) => ({ ...row, difference_bytes: row.after_bytes - row.before_bytes, change: change(row.before_bytes, row.after_bytes), before: row.before_bytes, after: row.after_bytes }))
        .sort((a, b) => Math.abs(b.difference_bytes) - Math.abs(a.difference_bytes));
    return list.length === 0 ? note('No storage was recorded.') : new Table(list, {
        caption: 'Bytes allocated by path, the largest differences first',
        columns: [{ key: 'path' }, { key: 'allocations_before' }, { key: 'allocations', label: 'allocations after' }, { key: 'before_bytes' }, { key: 'after_bytes' }, { key: 'difference_bytes' }, { key: 'change', value: changeText }],
    }).element;
}

export async function compareTab() {
    if (!run.other) return note('This page shows one run. For two: ', el('code', {}, analyze('view', run.head.input, '--against', 'OTHER', '-o', 'change.html')));
    const [before, after] = await Promise.all([answer('overview', 'b-'), answer('overview')]);
    const [costsBefore, costsAfter] = await Promise.all([costRows('b-'), costRows()]);
    return el('div', {},
        note('Before: ', el('bdi', {}, run.other.head.input), ' (', el('bdi', {}, run.other.head.run.run_id), '). After: ', el('bdi', {}, run.head.input), '. One run against one: whether a difference is more than noise is what cg-analyze compare tells from several.'),
        section('Headline', headline(before, after)), section('Names', byName(costsBefore, costsAfter)), section('Memory', await byPath()),
        commandElement(analyze('compare', '--unverified-traces', '--baseline', run.other.head.input, '--candidate', run.head.input)));
}
