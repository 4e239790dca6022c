// Values as people write them; the same steps as cg-analyze's tables (analyzer/cmd/units.h).

const TIME = [['ns', 1], ['µs', 1e3], ['ms', 1e6], ['s', 1e9]];
const BYTES = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB', 'EiB'];

function figures(value) {
    const size = Math.abs(value);
    return value.toFixed(size >= 100 ? 1 : size >= 10 ? 2 : 3);
}

export function duration(ns) {
    if (ns === null || ns === undefined) return '–';
    const value = Number(ns);
    const [unit, scale] = TIME.findLast(([, least]) => Math.abs(value) >= least) ?? TIME[0];
    return scale === 1 ? String(ns) + ' ns' : figures(value / scale) + ' ' + unit;
}

// A time on an axis, with as many figures as tell it from its neighbours.
export function tickText(ns, step) {
    const [unit, scale] = TIME.findLast(([, least]) => Math.abs(ns) >= least) ?? TIME[0];
    const figuresNeeded = Math.max(0, Math.ceil(-Math.log10(step / scale) - 1e-9));
    return (ns / scale).toFixed(Math.min(figuresNeeded, 9)) + ' ' + unit;
}

export function bytes(count) {
    if (count === null || count === undefined) return '–';
    let value = Number(count);
    let step = 0;
    for (; Math.abs(value) >= 1024 && step < BYTES.length - 1; step++) value /= 1024;
    return (step === 0 ? String(count) : figures(value)) + ' ' + BYTES[step];
}

export function count(value) {
    if (value === null || value === undefined) return '–';
    return String(value).replace(/\B(?=(\d{3})+$)/g, '\u202f');
}

export function percent(part, whole) {
    return Number(whole) === 0 ? '–' : ((100 * Number(part)) / Number(whole)).toFixed(1) + ' %';
}

export function unitOf(key) {
    if (/(^|_)ns$/.test(key)) return 'ns';
    if (/bytes_per_second$/.test(key)) return 'rate';
    if (/(^|_)bytes($|_)/.test(key)) return 'bytes';
    if (/(^|_)share($|_)/.test(key)) return 'share';
    return '';
}

// Paths go from the outside in, frames from the inside out.
const SEPARATORS = { span_path: ' / ', frames: ' ← ' };

// A value of a document, with the unit that its key names.
export function valueText(key, value) {
    if (value === null || value === undefined) return '–';
    if (typeof value === 'boolean') return value ? 'yes' : 'no';
    if (typeof value === 'number' || typeof value === 'bigint') {
        const unit = unitOf(key);
        if (unit === 'ns') return duration(value);
        if (unit === 'rate') return bytes(value) + '/s';
        if (unit === 'bytes') return bytes(value);
        if (unit === 'share') return percent(value, 1);
        return Number.isInteger(Number(value)) ? count(value) : String(Number(Number(value).toPrecision(5)));
    }
    if (Array.isArray(value) && value.length === 0) return 'none';
    if (Array.isArray(value)) return value.map((item) => valueText('', item)).join(SEPARATORS[key] ?? ', ');
    if (typeof value === 'object')
        return Object.entries(value).map(([inner, item]) => title(inner) + ' ' + valueText(inner, item)).join(', ');
    return value;
}

// A key as a heading: "host_self_time_ns" is "host self time".
export function title(key) {
    return String(key).replace(/_ns$/, '').replace(/_/g, ' ');
}

// A name of at most so many letters: its middle goes, as on a terminal, since names of one program begin alike and
// differ at their ends. No code point is cut in two, and no mark loses what it combines with.
export function shortName(text, most) {
    if (text.length <= most) return text;
    const head = Math.floor((most - 1) / 3);
    const tail = most - 1 - head;
    if (text.length <= 2 * most && Array.from(text).length <= most) return text;
    const begin = Array.from(text.slice(0, 2 * head)).slice(0, head).join('');
    const end = Array.from(text.slice(-2 * tail)).slice(-tail).join('');
    return begin + '…' + end.replace(/^[\p{M}\u200d]+/u, '');
}

export function shortText(text, most) {
    const letters = Array.from(text.length > 4 * most ? text.slice(0, 4 * most) : text);
    return letters.length <= most && text.length <= 4 * most ? text : letters.slice(0, most).join('') + '…';
}

export function shellWord(text) {
    return /^[\w@%+=:,./-]+$/.test(text) && text !== '' ? text : "'" + text.replace(/'/g, "'\\''") + "'";
}
