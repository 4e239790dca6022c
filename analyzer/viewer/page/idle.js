// Where the time of each device went, and what it waited for.
import { partsBar } from './bars.js';
import { definitions, documentView, valueView } from './documents.js';
import { el, nameElement, note } from './dom.js';
import { duration, percent, title } from './format.js';
import { Table } from './table.js';

const VERDICTS = { launch_bound: ['Launch-bound', 'launching'], input_bound: ['Input-bound', 'the input'] };

function verdictLine(verdict) {
    const [word, cause] = VERDICTS[verdict.verdict] ?? [title(verdict.verdict), 'it'];
    if (verdict.is === null) return el('li', {}, `${word}: not known.`);
    return el('li', {}, el('strong', { class: verdict.is ? 'bad' : 'good' }, `${word}: ${verdict.is ? 'yes' : 'no'}`),
        `. The device waited ${duration(verdict.idle_ns)} for ${cause}, ${percent(verdict.share_of_window, 1)} of the time (yes from ${percent(verdict.yes_from_share, 1)}).`);
}

function clockView(clock, meanings, window) {
    const causes = clock.causes.map((one) => ({ ...one, cause: title(one.cause), meaning: meanings.get(one.cause) }));
    const idle = causes.length ? causes.map((one, i) => ({ text: 'idle: ' + one.cause, value: one.idle_ns, shown: duration(one.idle_ns), hue: i + 1 }))
        : [{ text: 'idle', value: clock.idle_ns, shown: duration(clock.idle_ns) }];
    const { intervals, gaps, longest_gap_ns, anchor_uncertainty_ns, busy_may_be_less_by_ns } = clock;
    return el('section', { class: 'inner' }, el('h3', {}, nameElement(clock.device), ' · ', nameElement(clock.clock_id)),
        partsBar(`Of ${duration(window.duration_ns)} of ${window.of}`, [{ text: 'busy', value: clock.busy_ns, shown: duration(clock.busy_ns), hue: 0 }, ...idle]),
        causes.length ? el('ul', {}, clock.verdicts.map(verdictLine))
            : note('What it waited for is not known: without anchors of its clock, times of the device and of the host cannot be compared.'),
        definitions(Object.entries({ intervals, gaps, longest_gap_ns, busy_may_be_less_by_ns, anchor_uncertainty_ns }).filter(([, value]) => value !== null && value !== undefined)),
        causes.length ? new Table(causes, { caption: 'What the device waited for', columns: ['cause', 'idle_ns', 'share_of_idle', 'share_of_window', 'meaning'].map((key) => ({ key, wide: key === 'meaning' })) }).element : null,
        ['launch_delay', 'queue_depth'].map((key) => (clock[key] ? valueView(key, clock[key]) : null)),
        clock.overlap?.length ? new Table(clock.overlap, { caption: 'While other work computed', columns: ['work', 'total_ns', 'while_computing_ns', 'share'].map((key) => ({ key })) }).element : null);
}

export function idleView(document) {
    const meanings = new Map(document.cause_meanings.map((one) => [one.cause, one.meaning]));
    const { definition, notes, options, suspects, untimed_calls } = document;
    if (document.clocks.length === 0) return note('No work of a device was recorded.');
    return el('div', {}, document.clocks.map((clock) => clockView(clock, meanings, document.window)),
        documentView({ untimed_calls, options, suspects, notes, definition }));
}
