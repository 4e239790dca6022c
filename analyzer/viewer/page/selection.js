// The line below the tabs: what is selected, and the command that asks for the same.
import { analyze, costRows, className, labelWords, queryCommand, run } from './data.js';
import { button, commandElement, el, nameElement, replace } from './dom.js';
import { count, duration } from './format.js';
import { change, onChange, state } from './state.js';

let rowsByName = null;
async function sumsOf(name) {
    if (!rowsByName) {
        rowsByName = new Map();
        for (const row of await costRows()) {
            if (!rowsByName.has(row.name)) rowsByName.set(row.name, []);
            rowsByName.get(row.name).push(row);
        }
    }
    return rowsByName.get(name) ?? [];
}

export function selectionCommand() {
    // Spans are nodes of the graph, which only complete and valid captures have.
    const kind = run.head.run.valid && run.head.run.outcome === 'complete' ? 'spans' : 'labels';
    if (state.name !== null) return queryCommand(kind, ...labelWords(state.name));
    const tabs = { memory: 'memory', costs: 'kernels', graph: 'spans', measurements: 'tensor-stats', gpu: 'gpu-status' };
    return tabs[state.tab] ? queryCommand(tabs[state.tab]) : analyze('overview', run.head.input);
}

export function selectionBar() {
    const text = el('div', { class: 'what' });
    const command = el('div');
    const bar = el('aside', { class: 'selection', 'aria-label': 'Selection' }, text, command);
    let turn = 0;
    const draw = async () => {
        const mine = ++turn;
        const name = state.name;
        const rows = name === null ? [] : await sumsOf(name);
        if (mine !== turn) return;
        replace(text, name === null ? el('span', { class: 'faint' }, 'Nothing selected') : [
            el('strong', {}, nameElement(name, 80)), ' ',
            rows.map((row) => el('span', { class: 'sum' }, `${className(row.class)}: ${count(row.count)} ×, ${duration(row.total_ns)} in all `)),
            button('Clear', () => change({ name: null, slice: null }), { 'aria-label': 'Clear the selection' }),
        ], state.from === null ? null : [
            el('span', { class: 'sum' }, ` range ${duration(state.to - state.from)} from ${duration(state.from)} `),
            button('Clear range', () => change({ from: null, to: null })),
        ]);
        replace(command, commandElement(selectionCommand()));
    };
    onChange(draw);
    draw();
    return bar;
}
