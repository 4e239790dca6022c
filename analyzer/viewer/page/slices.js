// One slice in words, and the arrows between calls and the work that they issued.
import { className, queryCommand, run } from './data.js';
import { button, commandElement, el, nameElement } from './dom.js';
import { bytes, count, duration } from './format.js';
import { findSlice, intervalDetail, issuedBy, lanes, laneOf, opDetail, spanDetail, startOf } from './levels.js';
import { change } from './state.js';

const FLOWS_MAX = 40;

// Arrows of a slice: from its call to the work, or from the call to each work that it issued.
export async function flowsOf(level, entry) {
    const lane = laneOf(level, entry);
    if (level.kind[entry] === 1)
        return (await issuedBy(level.row[entry])).slice(0, FLOWS_MAX).map((work) => ({
            from: level.start[entry], fromLane: lane, to: level.start[work], toLane: laneOf(level, work), work,
        }));
    if (level.kind[entry] !== 2) return [];
    const { issuer } = await intervalDetail(entry);
    const call = issuer < 0 ? -1 : await findSlice(1, issuer);
    if (call < 0) return [];
    return [{ from: level.start[call], fromLane: laneOf(level, call), to: level.start[entry], toLane: lane, call }];
}

async function linesOf(level, entry, timeline) {
    const kind = level.kind[entry];
    if (kind === 0) {
        const { id, parent } = await spanDetail(entry);
        const above = parent < 0 ? -1 : await findSlice(0, parent);
        return [['id', id], above < 0 ? null : ['in', link(level, above, timeline)]];
    }
    if (kind === 1) {
        const detail = await opDetail(entry);
        const span = detail.span < 0 ? -1 : await findSlice(0, detail.span);
        const work = await issuedBy(level.row[entry]);
        return [detail.api ? ['call', detail.api] : null, detail.bytes === null ? null : ['bytes', bytes(detail.bytes)],
            detail.error ? ['error', String(detail.error)] : null, span < 0 ? null : ['in', link(level, span, timeline)],
            work.length ? ['issued', [link(level, work[0], timeline), work.length > 1 ? ` and ${count(work.length - 1)} more` : '']] : null];
    }
    const detail = await intervalDetail(entry);
    const call = detail.issuer < 0 ? -1 : await findSlice(1, detail.issuer);
    const { clock } = run.head.timeline.tracks[lanes[laneOf(level, entry)].track];
    return [['clock', className(2 + clock).replace(/^device /, '')], detail.bytes === null ? null : ['bytes', bytes(detail.bytes)],
        call < 0 ? null : ['issued by', link(level, call, timeline)]];
}

function link(level, entry, timeline) {
    return button([], () => timeline.select(entry), { class: 'link' }).appendChild(nameElement(run.names[level.name[entry]], 60)).parentElement;
}

export async function sliceView(level, entry, layout, timeline) {
    const name = run.names[level.name[entry]];
    const facts = [['start', duration(startOf(level, entry))], ['duration', duration(level.end[entry] - level.start[entry])],
        level.more[entry] ? ['stands for', `${count(level.more[entry] + 1)} slices, ${duration(level.sum[entry])} together`] : null,
        ...(await linesOf(level, entry, timeline))].filter(Boolean);
    const command = level.kind[entry] === 2 ? queryCommand('kernels') : queryCommand('spans', '--label', name);
    return el('section', { 'aria-label': 'Selected slice' },
        el('h3', {}, nameElement(name, 300), ' ', button('Select all of this name', () => change({ name })),
            ' ', button('Zoom to it', () => timeline.zoomToSelected())),
        el('dl', { class: 'facts' }, facts.map(([key, value]) => el('div', {}, el('dt', {}, key), el('dd', {}, value)))),
        commandElement(command));
}

