// GPU: what the devices did by the trace's own intervals, then what the reports of Nsight Systems say, on
// their own clocks.
import { answer } from './data.js';
import { el, note, section } from './dom.js';
import { documentView, queryView } from './documents.js';
import { title } from './format.js';
import { idleView } from './idle.js';
import { Table } from './table.js';

// How many there are of each kind of record, then the rows; which rules there are is told when one is broken.
function suspectsView(document, command, heading) {
    const { records, rules, clocks, definition, ...page } = document;
    const kinds = Object.entries(records).map(([kind, { rules: broken, ...sums }]) => ({ record: title(kind), ...sums }));
    const some = Number(document.total) > 0;
    return el('div', {}, some ? documentView(page, command, heading) : note('No record breaks a rule that no run can break.'),
        new Table(kinds, { caption: 'Suspect of all records', columns: ['record', 'records', 'count', 'share', 'duration_ns', 'share_of_time', 'bytes', 'share_of_bytes'].map((key) => ({ key })) }).element,
        some ? new Table(rules, { caption: 'Rules', columns: ['rule', 'record', 'meaning'].map((key) => ({ key, wide: key === 'meaning' })) }).element : null,
        clocks.length ? new Table(clocks, { caption: 'Suspect intervals by clock' }).element : null, note(definition));
}

const OWN = [['idle', 'Busy and idle', idleView], ['suspects', 'Suspect records', suspectsView]];
const REPORTS = [['gpu-status', 'Reports of Nsight Systems'], ['gpu-kernels', 'Kernels of the reports'], ['gpu-phases', 'Phases'], ['gpu-correlation', 'Correlation'],
    ['gpu-attribution-gaps', 'What is not attributed']];

async function views(kinds) {
    return Promise.all(kinds.map(async ([kind, heading, view]) => queryView(kind, heading, await answer(kind), view)));
}

export async function gpuTab() {
    const status = await answer('gpu-status');
    const reports = await views(REPORTS);
    const missing = status?.status === 'unavailable'
        ? section('Reports of Nsight Systems', note('None: ' + status.reason + '.'), el('details', {}, el('summary', {}, 'What each kind of query says'), reports)) : reports;
    return el('div', {}, await views(OWN), missing);
}
