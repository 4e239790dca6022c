// The run: its head, names and documents.
import { columnsOf, hasPart, parseExact, part, textOf } from './bytes.js';
import { shellWord } from './format.js';

export const run = { head: null, names: [], cut: new Map(), other: null };

async function readNames(prefix) {
    const [texts, cut] = columnsOf(await part(prefix + 'names'));
    const names = [''];
    const lengths = new Map();
    while (!texts.done) {
        names.push(textOf(texts.nextText()));
        const length = cut.number();
        if (length) lengths.set(names.length - 1, length);
    }
    return { names, lengths };
}

async function readHead(prefix) {
    return parseExact(textOf(await part(prefix + 'head')));
}

export async function openRun() {
    run.head = await readHead('');
    const { names, lengths } = await readNames('');
    run.names = names;
    run.cut = new Set([...lengths.keys()].map((number) => names[number]));
    if (run.head.compared) {
        const other = await readNames('b-');
        run.other = { head: await readHead('b-'), names: other.names };
    }
}

// What `cg-analyze` printed for a question; null when the page has no answer to it.
export async function answer(name, prefix = '') {
    const key = prefix + 'doc-' + name;
    return hasPart(key) ? parseExact(textOf(await part(key))) : null;
}

export async function columns(name, prefix = '') {
    return columnsOf(await part(prefix + name));
}

export function analyze(...words) {
    return ['cg-analyze', ...words.map((word) => shellWord(String(word)))].join(' ');
}

export function queryCommand(kind, ...words) {
    return analyze('query', run.head.input, '--kind', kind, ...words);
}

// How rows of this name are asked for; names that were cut are used as beginnings.
export function labelWords(name) {
    return run.cut.has(name) ? ['--label-prefix', name] : ['--label', name];
}

// Rows of the sums by name (analyzer/viewer/costs.h).
export async function costRows(prefix = '') {
    const [name, kind, number, total, self, shortest, longest] = await columns('costs', prefix);
    const names = prefix ? run.other.names : run.names;
    const rows = [];
    while (!name.done)
        rows.push({
            name: names[name.number()], class: kind.number(), count: number.number(), total_ns: total.number(),
            self_ns: self.number(), minimum_ns: shortest.number(), maximum_ns: longest.number(),
        });
    return rows;
}

export function className(number, head = run.head) {
    if (number === 0) return 'spans';
    if (number === 1) return 'operations';
    const clock = head.timeline.clocks[number - 2];
    return 'device ' + (clock ? clock.device + ' · ' + clock.clock_id : number - 2);
}
