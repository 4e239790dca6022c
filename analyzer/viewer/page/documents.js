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

function plain(value) {
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

// One member of a document, with its heading; `rest` is the command that shows what was left out.
export function valueView(key, value, rest) {
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

export function documentView(document, rest) {
    if (document === null || typeof document !== 'object') return note('nothing was recorded');
    if (isBounded(document)) {
        const { rows, ...others } = document;
        return el('div', {}, valueView('rows', document, rest), definitions(Object.entries(others).filter(([, value]) => plain(value))));
    }
    const simple = [];
    const rich = [];
    for (const [key, value] of Object.entries(document)) (plain(value) ? simple : rich).push([key, value]);
    return el('div', {}, simple.length ? definitions(simple) : null, rich.map(([key, value]) => valueView(key, value, rest)));
}

// The answer of a kind of query, with the command that gives it.
export function queryView(kind, heading, document) {
    const command = queryCommand(kind);
    return el('section', { 'data-kind': kind }, el('h2', {}, heading ?? title(kind.replace(/-/g, ' '))),
        document === null ? note('This answer is not on the page: it is too long for it. The command gives it.') : documentView(document, command),
        commandElement(command));
}

export function shownOf(displayed, total, command) {
    if (Number(displayed) >= Number(total)) return note(count(total) + ' shown, which is all');
    return note(count(displayed) + ' of ' + count(total) + ' shown. The rest: ', el('code', {}, command));
}
