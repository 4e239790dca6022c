// Tables: sorted by any column, searched, a part of the rows at a time, as CSV; usable by keyboard alone.
import { button, download, el, nameElement, note, replace } from './dom.js';
import { title, unitOf, valueText } from './format.js';
import { change, onChange, state } from './state.js';

const ROWS_AT_A_TIME = 100;
const FEW_ROWS = 8; // are found by eye
const live = new Set();

// Rows that stand for the selected name are marked in every table that is on the page.
onChange((changed) => {
    if (changed.has('name')) for (const table of live) if (table.element.isConnected) table.mark();
});

function compare(a, b) {
    if (a === b) return 0;
    if (a === null || a === undefined) return 1;
    if (b === null || b === undefined) return -1;
    if (typeof a === 'object' || typeof b === 'object') return String(valueText('', a)).localeCompare(valueText('', b));
    return a < b ? -1 : 1;
}

function csvCell(value) {
    const text = value === null || value === undefined ? '' : typeof value === 'object' ? JSON.stringify(value) : String(value);
    // A spreadsheet would run a text that begins like a formula.
    const safe = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? "'" + text : text;
    return /[",\n\r]/.test(safe) ? '"' + safe.replace(/"/g, '""') + '"' : safe;
}

export function csvText(columns, rows) {
    const lines = [columns.map((column) => csvCell(column.key))];
    for (const row of rows) lines.push(columns.map((column) => csvCell(row[column.key])));
    return lines.map((line) => line.join(',')).join('\r\n') + '\r\n';
}

// What a row is called, for selection.
export function rowName(row) {
    return row.name ?? row.label ?? row.key ?? row.semantic_key ?? null;
}

function columnsOfRows(rows) {
    const keys = new Set();
    for (const row of rows.slice(0, 200)) for (const key of Object.keys(row)) keys.add(key);
    const first = ['name', 'label', 'root', 'key', 'class', 'id'];
    const rank = (key) => (first.includes(key) ? first.indexOf(key) : first.length);
    return [...keys].sort((a, b) => rank(a) - rank(b)).map((key) => ({ key }));
}

export class Table {
    // options: caption, columns [{key, label, value, wide}], sort {key, down}, total (rows there are beyond those
    // given), rest (the command that shows them), select (row => change), filters [element]
    constructor(rows, options = {}) {
        this.rows = rows;
        this.options = options;
        this.columns = options.columns ?? columnsOfRows(rows);
        this.sort = options.sort ?? null;
        this.shown = ROWS_AT_A_TIME;
        this.find = '';
        this.body = el('tbody');
        this.head = el('tr');
        this.count = el('span', { class: 'count', role: 'status' });
        this.more = el('div', { class: 'more' });
        const search = el('input', {
            type: 'search', placeholder: 'Find', 'aria-label': 'Find in ' + options.caption,
            oninput: () => { this.find = search.value.toLowerCase(); this.shown = ROWS_AT_A_TIME; this.draw(); },
        });
        this.element = el('div', { class: 'table' },
            el('div', { class: 'tools' }, rows.length > FEW_ROWS || options.filters ? search : null, options.filters ?? [], this.count,
                button('CSV', () => download(fileName(options.caption) + '.csv', 'text/csv', csvText(this.columns, this.visible())),
                    { 'aria-label': 'Save ' + options.caption + ' as CSV' })),
            el('div', { class: 'scroll', tabindex: 0, role: 'region', 'aria-label': options.caption },
                el('table', {}, el('caption', {}, options.caption), el('thead', {}, this.head), this.body)),
            this.more);
        live.add(this);
        this.draw();
    }
    setRows(rows, total) {
        this.rows = rows;
        this.options.total = total;
        this.draw();
    }
    matches(row) {
        if (this.options.keep && !this.options.keep(row)) return false;
        if (!this.find) return true;
        return this.columns.some((column) => {
            const value = row[column.key];
            return value !== null && value !== undefined && typeof value !== 'object' && String(value).toLowerCase().includes(this.find);
        });
    }
    visible() {
        const rows = this.rows.filter((row) => this.matches(row));
        if (!this.sort) return rows;
        const { key, down } = this.sort;
        return rows.sort((a, b) => {
            const order = compare(a[key], b[key]);
            const absent = (a[key] ?? null) === null || (b[key] ?? null) === null;
            return down && !absent ? -order : order;
        });
    }
    sortBy(key) {
        const numeric = this.rows.some((row) => typeof row[key] === 'number' || typeof row[key] === 'bigint');
        this.sort = this.sort?.key === key ? { key, down: !this.sort.down } : { key, down: numeric };
        this.draw();
        this.head.querySelector('[data-key="' + CSS.escape(key) + '"]')?.focus();
    }
    drawHead() {
        this.numeric = new Set(this.columns.map((column) => column.key).filter((key) => this.rows.some((row) => typeof row[key] === 'number' || typeof row[key] === 'bigint')));
        replace(this.head, this.columns.map((column) => {
            const active = this.sort?.key === column.key;
            const text = column.label ?? title(column.key);
            return el('th', { scope: 'col', class: this.numeric.has(column.key) ? 'number' : null, 'aria-sort': active ? (this.sort.down ? 'descending' : 'ascending') : null },
                button(text + (active ? (this.sort.down ? ' ▾' : ' ▴') : ''), () => this.sortBy(column.key), { 'data-key': column.key }));
        }));
    }
    cell(column, row) {
        const value = column.value ? column.value(row) : valueText(column.key, row[column.key]);
        const raw = row[column.key];
        const number = typeof raw === 'number' || typeof raw === 'bigint';
        if (value instanceof Node) return el('td', {}, value);
        const exact = number && unitOf(column.key) ? String(raw) + (unitOf(column.key) === 'ns' ? ' ns' : ' bytes') : null;
        const kind = this.numeric.has(column.key) ? 'number' : column.wide || Array.isArray(raw) ? 'wide' : null;
        return el('td', { class: kind, title: exact, 'data-key': column.key, 'data-value': number ? String(raw) : null },
            typeof raw === 'string' ? nameElement(value, column.wide ? 1000 : 120) : value);
    }
    drawRow(row) {
        const name = rowName(row);
        const select = () => change(this.options.select ? this.options.select(row) : { name: state.name === name ? null : name });
        if (name === null && !this.options.select) return el('tr', {}, this.columns.map((column) => this.cell(column, row)));
        return el('tr', {
            tabindex: 0, class: 'selectable', 'data-name': name, 'aria-selected': name !== null && name === state.name ? 'true' : 'false',
            onclick: select, onkeydown: (event) => this.keys(event, select),
        }, this.columns.map((column) => this.cell(column, row)));
    }
    keys(event, select) {
        const row = event.currentTarget;
        if (event.key === 'Enter' || event.key === ' ') select();
        else if (event.key === 'ArrowDown') row.nextElementSibling?.focus();
        else if (event.key === 'ArrowUp') row.previousElementSibling?.focus();
        else return;
        event.preventDefault();
        event.stopPropagation();
    }
    mark() {
        for (const row of this.body.children)
            if (row.dataset.name !== undefined) row.setAttribute('aria-selected', String(row.dataset.name === state.name));
    }
    draw() {
        const rows = this.visible();
        const some = rows.slice(0, this.shown);
        this.drawHead();
        replace(this.body, some.map((row) => this.drawRow(row)));
        const total = this.options.total ?? this.rows.length;
        const all = Number(total) === rows.length && some.length === rows.length;
        this.count.textContent = all ? `${rows.length} ${rows.length === 1 ? 'row' : 'rows'}` : `${some.length} of ${this.find ? rows.length + ' found, ' : ''}${total} shown`;
        replace(this.more,
            some.length < rows.length ? button('Show more', () => { this.shown *= 4; this.draw(); }) : null,
            Number(total) > this.rows.length && this.options.rest ? note('The page holds ' + this.rows.length + ' of ' + total + '. All of them: ', el('code', {}, this.options.rest)) : null);
    }
}

export function fileName(text) {
    return text.toLowerCase().replace(/[^a-z0-9]+/g, '-').replace(/^-|-$/g, '') || 'table';
}
