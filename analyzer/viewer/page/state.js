// What is selected and shown, in one place: every view reads it and is told of changes; the address keeps it.

export const state = {
    tab: 'overview',
    name: null, // the selected name: of spans, operations, kernels, labels
    slice: null, // a slice of the timeline: kind and row, such as "op:17"
    from: null, // the selected range of host time, ns
    to: null,
    view: null, // what the timeline shows: [from, to]
    at: null, // the time under the memory cursor
    search: '',
    options: {}, // of the tabs, by name
};

const listeners = new Set();
let silent = false;

export function onChange(listener) {
    listeners.add(listener);
}

export function change(what) {
    const before = { ...state };
    Object.assign(state, what);
    const changed = new Set(Object.keys(what).filter((key) => before[key] !== state[key]));
    if (changed.size === 0) return;
    if (!silent) writeHash(changed.has('tab'));
    for (const listener of listeners) listener(changed);
}

export function option(name, initial) {
    return state.options[name] ?? initial;
}

export function setOption(name, value) {
    change({ options: { ...state.options, [name]: value } });
}

let timer = 0;
function writeHash(push) {
    clearTimeout(timer);
    const write = () => {
        const fields = new URLSearchParams();
        fields.set('tab', state.tab);
        for (const key of ['name', 'slice', 'from', 'to', 'at', 'search'])
            if (state[key] !== null && state[key] !== '') fields.set(key, String(state[key]).slice(0, 4096));
        if (state.view) fields.set('view', state.view.map((time) => Math.round(time)).join('-'));
        for (const [key, value] of Object.entries(state.options)) fields.set('o.' + key, value);
        const hash = '#' + fields;
        if (hash === location.hash) return;
        if (push) history.pushState(null, '', hash);
        else history.replaceState(null, '', hash);
    };
    // A browser takes only so many changes of the address in a second.
    if (push) write();
    else timer = setTimeout(write, 150);
}

function numberOf(fields, key) {
    const value = fields.has(key) ? Number(fields.get(key)) : NaN;
    return Number.isFinite(value) ? value : null;
}

export function readHash(tabs) {
    const fields = new URLSearchParams(location.hash.slice(1));
    const view = (fields.get('view') ?? '').split('-').map(Number);
    const options = {};
    for (const [key, value] of fields) if (key.startsWith('o.')) options[key.slice(2)] = value;
    silent = true;
    change({
        tab: tabs.includes(fields.get('tab')) ? fields.get('tab') : tabs[0],
        name: fields.get('name'),
        slice: /^(span|op|interval):\d+$/.test(fields.get('slice') ?? '') ? fields.get('slice') : null,
        from: numberOf(fields, 'from'),
        to: numberOf(fields, 'to'),
        at: numberOf(fields, 'at'),
        search: fields.get('search') ?? '',
        view: view.length === 2 && view[0] < view[1] ? view : null,
        options,
    });
    silent = false;
}
