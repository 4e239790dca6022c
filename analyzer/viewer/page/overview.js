// Overview: what the run is, whether it can be relied on, and the headline numbers.
import { analyze, answer, queryCommand, run } from './data.js';
import { button, commandElement, el, nameElement, note, section } from './dom.js';
import { bytes, count, duration, shortText, title, valueText } from './format.js';
import { definitions, queryView, valueView } from './documents.js';
import { failuresBanner } from './failures.js';
import { change } from './state.js';
import { Table } from './table.js';

export function statusOf(head) {
    if (!head.run.valid) return { word: 'Structurally invalid', class: 'bad' };
    if (head.run.outcome !== 'complete') return { word: 'Failed capture', class: 'warn' };
    return { word: 'Complete capture', class: 'good' };
}

function card(label, value, exact, tab) {
    return el('button', { type: 'button', class: 'card', title: exact, onclick: () => change({ tab }) },
        el('span', { class: 'value', 'data-card': label, 'data-value': exact === null ? null : exact.split(' ')[0] }, value), el('span', { class: 'label' }, label));
}

function cards(overview) {
    const memory = overview.memory.logical_totals;
    const wall = overview.timing?.outer_wall_time_ns ?? null;
    const peak = memory?.peak_live_bytes ?? null;
    const counts = run.head.counts;
    return el('div', { class: 'cards' },
        card('wall time of the measured region', duration(wall), wall === null ? null : wall + ' ns', 'timeline'),
        card('peak of live storages', bytes(peak), peak === null ? null : peak + ' bytes', 'memory'),
        card('storages allocated', count(memory?.storage_allocation_count), String(memory?.storage_allocation_count ?? ''), 'memory'),
        card('spans', count(counts.spans), String(counts.spans), 'timeline'),
        card('operations', count(counts.operations), String(counts.operations), 'costs'),
        card('device intervals', count(counts.device_intervals), String(counts.device_intervals), 'timeline'),
        card('health errors', count(overview.health.error_count), String(overview.health.error_count), 'overview'));
}

const LEVEL_MARK = { complete: '●', partial: '◐', unavailable: '○', invalid: '✕' };

function matrix(capabilities) {
    const rows = Object.entries(capabilities).map(([key, value]) => ({ capability: title(key), level: value.level, source: value.source, reason: value.reason }));
    return new Table(rows, {
        caption: 'Capabilities', columns: [{ key: 'capability' },
            { key: 'level', value: (row) => el('span', { class: 'level ' + row.level }, (LEVEL_MARK[row.level] ?? '') + ' ' + row.level) },
            { key: 'source' }, { key: 'reason' }],
    }).element;
}

function listOf(heading, bounded, item) {
    return section(heading, bounded.total === 0 ? note('none') : el('ul', {}, bounded.rows.map((row) => el('li', {}, item(row)))),
        bounded.truncated ? note(`${bounded.displayed} of ${bounded.total} shown. The rest: `, el('code', {}, analyze('summary', run.head.input))) : null);
}

async function healthView() {
    const health = await answer('health');
    if (health === null) return note('The issues are too many for the page: ', el('code', {}, analyze('summary', run.head.input)));
    return health.issues?.length ? new Table(health.issues, { caption: 'Health issues' }).element : note('No issue was found.');
}

// Kinds of query that no other tab shows.
const SHOWN_ELSEWHERE = new Set(['overview', 'health', 'slowest-host', 'slowest-device', 'heaviest', 'spans', 'tensors', 'tensor-stats', 'gradients',
    'capabilities', 'gpu-status', 'gpu-correlation', 'gpu-phases', 'gpu-kernels', 'gpu-attribution-gaps', 'kernels', 'copies', 'api', 'activations',
    'oom', 'leaks', 'temporaries', 'peak', 'churn', 'ledger', 'idle', 'suspects']);

async function furtherAnswers() {
    const kinds = run.head.documents.filter((kind) => !SHOWN_ELSEWHERE.has(kind));
    return Promise.all(kinds.map(async (kind) => queryView(kind, undefined, (await answer(kind))?.result ?? (await answer(kind)))));
}

export async function overviewTab() {
    const overview = await answer('overview');
    const status = statusOf(run.head);
    const { tags, capture_contract, comparison_identity, ...provenance } = overview.provenance;
    return el('div', {},
        el('p', { class: 'status ' + status.class, role: 'status' }, el('strong', {}, status.word),
            run.head.run.reason ? [': ', nameElement(run.head.run.reason, 400, shortText)] : null),
        overview.timing_unavailable_reason ? note(overview.timing_unavailable_reason) : null,
        failuresBanner(overview.out_of_memory),
        cards(overview),
        section('What the capture can say', matrix(overview.capabilities)),
        listOf('Findings', overview.findings, (row) => [el('span', { class: 'level ' + row.qualification }, row.qualification ?? ''), ' ', row.summary ?? valueText('', row)]),
        listOf('Evidence gaps', overview.gaps, (row) => row),
        overview.timing ? section('Slowest spans of the host', valueView('slowest_host_spans', overview.timing.slowest_host_spans, queryCommand('slowest-host'))) : null,
        section('Health', definitions(Object.entries(overview.health)), await healthView()),
        section('Run', definitions(Object.entries(provenance)), valueView('capture_contract', capture_contract),
            comparison_identity ? valueView('comparison_identity', comparison_identity) : null,
            Object.keys(tags ?? {}).length ? valueView('tags', tags) : null),
        await furtherAnswers(),
        commandElement(analyze('overview', run.head.input)));
}
