// Allocations that failed for want of memory: what was asked for, what there was, and who held it.
import { partsBar } from './bars.js';
import { queryCommand } from './data.js';
import { definitions, documentView } from './documents.js';
import { button, el, nameElement, note } from './dom.js';
import { bytes, duration, valueText } from './format.js';
import { change } from './state.js';
import { Table } from './table.js';

const VERDICTS = {
    more_than_free: 'More was asked for than was free.',
    fits_in_free: 'Less was asked for than was free: free memory in pieces, or a limit of something else.',
    not_known: 'What was free is not known.',
};

function asked(failure) {
    return (failure.requested_bytes === null ? 'An unknown size' : bytes(failure.requested_bytes)) + ' asked for by ';
}

// What the device held when the call failed, as its sample and the live storages say.
function deviceBar(failure) {
    const sample = failure.device_memory;
    if (!sample || sample.used_bytes === null || sample.free_bytes === null) return null;
    const live = Math.min(Number(failure.live.bytes), Number(sample.used_bytes));
    const others = Number(sample.used_bytes) - live;
    return partsBar('The device at that time', [
        { text: 'live storages', value: live, shown: bytes(live), hue: 0 },
        { text: 'in use, in no storage', value: others, shown: bytes(others), hue: 1 },
        { text: 'free', value: sample.free_bytes, shown: bytes(sample.free_bytes) }]);
}

const OWNERS = [['by_call_site', 'Alive then, by call site'], ['by_span', 'Alive then, by span'], ['by_category', 'Alive then, by category']];
const OWNER_COLUMNS = ['name', 'bytes', 'share_of_live', 'storages', 'frames'].map((key) => ({ key }));

function owners(live) {
    return OWNERS.map(([key, caption]) => new Table(live[key].rows, {
        caption, total: live[key].total, rest: queryCommand('oom'), sort: { key: 'bytes', down: true },
        columns: OWNER_COLUMNS.filter((column) => column.key !== 'frames' || key === 'by_call_site'),
    }).element);
}

function table(rows, caption, keys, total) {
    return rows.length ? new Table(rows, { caption, total, rest: queryCommand('oom'), columns: keys.map((key) => ({ key })) }).element : null;
}

function failureView(failure) {
    const { live, last_events: events, device_memory: sample, pool, live_of_framework: framework } = failure;
    return el('section', { class: 'inner failure' },
        el('h3', {}, asked(failure), nameElement(failure.operation ?? failure.api ?? 'an unnamed call'), ' in ',
            nameElement(failure.span_path?.length ? valueText('span_path', failure.span_path) : 'no span', 400), ` at ${duration(failure.timestamp_ns)}`),
        el('p', {}, el('strong', { class: 'bad' }, VERDICTS[failure.verdict] ?? failure.verdict)),
        deviceBar(failure),
        definitions([['requested_bytes', failure.requested_bytes], ['live_bytes', live.bytes], ['live_storages', live.storages],
            ...Object.entries(sample ?? {}).filter(([, value]) => value !== null).map(([key, value]) => [key === 'timestamp_ns' ? 'sampled_at_ns' : key, value]),
            ...(pool ? [['held_back_by_pools_bytes', pool.held_back_bytes]] : []), ['device', failure.device], ['thread', failure.tid]]),
        failure.frames?.length ? definitions([['frames', failure.frames]]) : null,
        owners(live),
        table(live.largest.rows, 'Largest storages alive then', ['storage_id', 'bytes', 'category', 'age_ns', 'operation', 'span_path', 'frames'], live.largest.total),
        framework ? [el('h4', {}, 'Within those: what a framework’s allocator had given out'), owners(framework)] : null,
        table([...events].reverse(), 'What happened before it, the latest first', ['timestamp_ns', 'event', 'name', 'bytes', 'duration_ns', 'error', 'tid'], events.length));
}

export function failuresView(document, command) {
    const { rows, ...others } = document;
    if (rows.length === 0) return note('No allocation failed for want of memory.');
    return el('div', {}, rows.map(failureView),
        Number(document.matched) > rows.length ? note(`${rows.length} of ${document.matched} shown. The rest: `, el('code', {}, command)) : null,
        documentView(Object.fromEntries(Object.entries(others).filter(([key]) => ['definition', 'suspects'].includes(key)))));
}

// The same in a sentence each, for the overview; null when none failed.
export function failuresBanner(bounded) {
    if (!bounded || Number(bounded.total) === 0) return null;
    const lines = bounded.rows.map((failure) => el('li', {}, asked(failure), nameElement(failure.operation ?? 'a call'), ' in ', nameElement(failure.span ?? 'no span', 400),
        failure.free_bytes === null ? null : `, with ${bytes(failure.free_bytes)} free`,
        failure.largest_owner ? ['; most was held by ', nameElement(failure.largest_owner), ` (${bytes(failure.largest_owner_bytes)} of ${bytes(failure.live_bytes)})`] : null));
    return el('div', { class: 'banner', role: 'note' },
        el('strong', { class: 'bad' }, Number(bounded.total) === 1 ? 'An allocation failed for want of memory' : `${bounded.total} allocations failed for want of memory`),
        el('ul', {}, lines), button('Who held the memory', () => change({ tab: 'memory' }), { class: 'link' }));
}
