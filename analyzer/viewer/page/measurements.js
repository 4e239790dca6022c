// Measurements: statistics of tensors, tensors, gradients and what their families should do.
import { answer, queryCommand, run } from './data.js';
import { choice, commandElement, el, note, section } from './dom.js';
import { option, setOption } from './state.js';
import { Table } from './table.js';
import { valueView } from './documents.js';

function rowsTable(kind, caption, document, more = {}) {
    if (document === null || document.rows.length === 0) return note('None was recorded.');
    return new Table(document.rows, { caption, total: document.matched, rest: queryCommand(kind, '--all', '--output', kind + '.json'), ...more });
}

function gradientTable(document) {
    const states = [...new Set((document?.rows ?? []).map((row) => row.state))];
    const table = rowsTable('gradients', 'Gradients', document, {
        keep: (row) => !option('gradients.state', '') || row.state === option('gradients.state', ''),
        filters: [choice('state', [['', 'any'], ...states.map((one) => [one, one.replace('_', ' ')])], option('gradients.state', ''), (value) => { setOption('gradients.state', value); table.draw(); })],
    });
    return table.element ?? table;
}

// What each family did against what was expected of it.
function families(contract, gradients) {
    const expected = contract?.gradient_contract;
    const list = expected?.families?.rows ?? expected?.families ?? [];
    const entries = expected?.expected?.rows ?? expected?.expected ?? [];
    if (list.length === 0) return null;
    const stateOf = new Map((gradients?.rows ?? []).map((row) => [row.root + '\u0000' + row.key, row.state]));
    const rows = list.map((family) => {
        const members = entries.filter((entry) => entry.family === family.family);
        const counts = { present: 0, missing: 0, zero: 0, non_finite: 0 };
        for (const entry of members) {
            const found = stateOf.get(entry.root + '\u0000' + entry.key);
            if (found in counts) counts[found]++;
        }
        return { family: family.family, expectation: family.expectation, min_present: family.min_present, parameters: members.length, ...counts };
    });
    return new Table(rows, { caption: 'Families and what is expected of them' }).element;
}

export async function measurementsTab() {
    const [stats, tensors, gradients, overview] = await Promise.all(['tensor-stats', 'tensors', 'gradients', 'overview'].map((kind) => answer(kind)));
    const view = (kind, caption, document, more) => {
        const table = rowsTable(kind, caption, document, more);
        return [table.element ?? table, commandElement(queryCommand(kind))];
    };
    const only = () => option('stats.non_finite', '');
    const statsTable = rowsTable('tensor-stats', 'Tensor statistics', stats, {
        keep: (row) => only() === '' || Number(row.non_finite) > 0,
        filters: [choice('show', [['', 'all'], ['yes', 'with values that are not finite']], only(), (value) => { setOption('stats.non_finite', value); statsTable.draw(); })],
    });
    const contract = overview.provenance.capture_contract;
    return el('div', {},
        section('Tensor statistics', statsTable.element ?? statsTable, commandElement(queryCommand('tensor-stats'))),
        section('Gradients', families(contract, gradients), gradientTable(gradients), commandElement(queryCommand('gradients'))),
        section('Tensors', view('tensors', 'Tensors', tensors)),
        run.head.counts.gradients > 0 && contract?.gradient_contract ? valueView('gradient contract', contract.gradient_contract) : null);
}
