// Any document of cg-analyze as headings, values and tables: kinds of query that the page knows nothing of are
// shown too.
import { queryCommand } from './data.js';
import { commandElement, el, nameElement, note } from './dom.js';
import { count, title, unitOf, valueText } from './format.js';
import { Table } from './table.js';

function isRows(value) {
    return Array.isArray(value) && value.length > 0 && value.every((item) => item !== null && typeof item === 'object' && !Array.isArray(item));
}

// A list that is cut: {displayed, rows, total, truncated}.
function isBounded(value) {
    return value !== null && typeof value === 'object' && Array.isArray(value.rows);
}

function plain(value, key) {
    return key !== 'suspects' && plainValue(value);
}

function plainValue(value) {
    return value === null || typeof value !== 'object' || (Array.isArray(value) ? !isRows(value) : !isFamily(value) && Object.values(value).every((inner) => inner === null || typeof inner !== 'object'));
}

export function definitions(entries) {
    return el('dl', { class: 'facts' }, entries.map(([key, value]) => {
        const number = typeof value === 'number' || typeof value === 'bigint';
        const text = valueText(key, value);
        return el('div', {}, el('dt', {}, title(key)),
            el('dd', { 'data-key': key, 'data-value': number ? String(value) : null, title: number && unitOf(key) ? String(value) : null },
                typeof value === 'string' ? nameElement(text, 400) : text));
    }));
}

// What members say in sentences: a paragraph each, however long.
function sentences(key, value) {
    if (key === 'definition' && typeof value === 'string') return note(value);
    if (key === 'notes' && Array.isArray(value)) return value.map((line) => note(line));
    return null;
}

// A kind that left no record out says so in a line.
function nothingSuspect(key, value) {
    if (key !== 'suspects' || value === null || typeof value !== 'object') return null;
    const tallies = value.count === undefined ? Object.values(value) : [value];
    if (!tallies.every((tally) => Number(tally?.count) === 0)) return null;
    return note(`Of ${count(tallies.reduce((sum, tally) => sum + Number(tally.records), 0))} records none was left out as suspect.`);
}

// Of a page of rows: the table's own line says how many there are.
const PAGING = new Set(['displayed', 'limit', 'matched', 'next_offset', 'offset', 'truncated', 'total']);

// Members that are one value each, then the sentences.
function values(entries) {
    const facts = entries.filter(([key, value]) => sentences(key, value) === null);
    return [facts.length ? definitions(facts) : null, entries.map(([key, value]) => sentences(key, value) ?? [])];
}

// One member of a document, with its heading; `rest` is the command that shows what was left out.
export function valueView(key, value, rest) {
    const nothing = nothingSuspect(key, value);
    if (nothing) return nothing;
    if (isRows(value)) return new Table(value, { caption: title(key), rest }).element;
    if (isBounded(value)) {
        if (value.rows.length === 0) return note(title(key) + ': none' + (value.reason ? ' (' + value.reason + ')' : ''));
        if (value.rows.every((row) => typeof row === 'string') && value.rows.length <= 20 && !value.truncated)
            return el('section', { class: 'inner' }, el('h3', {}, title(key)), el('ul', {}, value.rows.map((row) => el('li', {}, nameElement(row, 400)))));
        const rows = value.rows.map((row) => (row !== null && typeof row === 'object' ? row : { value: row }));
        const total = value.matched ?? value.total ?? value.population_total ?? rows.length;
        return new Table(rows, { caption: title(key), total, rest }).element;
    }
    if (Array.isArray(value) || typeof value !== 'object' || value === null) return definitions([[key, value]]);
    if (isFamily(value))
        return new Table(Object.entries(value).map(([name, inner]) => ({ what: title(name), ...inner })), { caption: title(key), rest }).element;
    return el('section', { class: 'inner' }, el('h3', {}, title(key)), documentView(value, rest));
}

// An object whose members all have the same members: a table with a row for each.
function isFamily(value) {
    const members = Object.values(value);
    if (members.length < 2 || members.some((member) => member === null || typeof member !== 'object' || Array.isArray(member))) return false;
    const keys = Object.keys(members[0]).join();
    return keys !== '' && members.every((member) => Object.keys(member).join() === keys && Object.values(member).every((inner) => inner === null || typeof inner !== 'object'));
}

// heading: what the rows of a document are called that is a page of rows.
export function documentView(document, rest, heading = 'rows') {
    if (document === null || typeof document !== 'object') return note('nothing was recorded');
    if (isBounded(document)) {
        const others = Object.entries(document).filter(([key]) => key !== 'rows' && !PAGING.has(key));
        return el('div', {}, valueView(heading, document, rest), values(others.filter(([key, value]) => plain(value, key))),
            others.filter(([key, value]) => !plain(value, key)).map(([key, value]) => valueView(key, value, rest)));
    }
    const simple = [];
    const rich = [];
    for (const [key, value] of Object.entries(document)) (plain(value, key) ? simple : rich).push([key, value]);
    return el('div', {}, values(simple), rich.map(([key, value]) => valueView(key, value, rest)));
}

// The answer of a kind of query, with the command that gives it.
export function queryView(kind, heading, document, view = documentView) {
    const command = queryCommand(kind);
    const text = heading ?? title(kind.replace(/-/g, ' '));
    return el('section', { 'data-kind': kind }, el('h2', {}, text),
        document === null ? note('This answer is not on the page: it is too long for it. The command gives it.') : view(document, command, text),
        commandElement(command));
}

export function shownOf(displayed, total, command) {
    if (Number(displayed) >= Number(total)) return note(count(total) + ' shown, which is all');
    return note(count(displayed) + ' of ' + count(total) + ' shown. The rest: ', el('code', {}, command));
}
