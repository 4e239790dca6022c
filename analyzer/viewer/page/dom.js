// Elements are made here, and text only ever becomes a text node: nothing of a trace is read as markup.
import { shortName } from './format.js';

export function el(tag, properties = {}, ...children) {
    return fill(document.createElement(tag), properties, children);
}

const SVG = 'http://www.w3.org/2000/svg';
export function svgElement(tag, properties = {}, ...children) {
    return fill(document.createElementNS(SVG, tag), properties, children);
}

function fill(element, properties, children) {
    for (const [key, value] of Object.entries(properties)) {
        if (value === null || value === undefined || value === false) continue;
        if (key.startsWith('on')) element.addEventListener(key.slice(2), value);
        else element.setAttribute(key, value === true ? (key.startsWith('aria-') ? 'true' : '') : value);
    }
    element.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
    return element;
}

export function replace(element, ...children) {
    element.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
    return element;
}

// Names of any length and direction: kept apart from the text around them, whole in the tooltip.
export function nameElement(text, most = 120, shorten = shortName) {
    const shown = shorten(text, most);
    return el('bdi', { class: 'name', title: shown === text ? null : text }, shown);
}

export function button(text, onclick, properties = {}) {
    return el('button', { type: 'button', onclick, ...properties }, text);
}

export function choice(label, options, value, onchange) {
    const select = el('select', { onchange: () => onchange(select.value) },
        options.map(([key, text]) => el('option', { value: key, selected: key === value }, text)));
    return el('label', { class: 'choice' }, label + ' ', select);
}

export function note(...children) {
    return el('p', { class: 'note' }, ...children);
}

export function section(heading, ...children) {
    const id = 'heading-' + ++section.count;
    return el('section', { 'aria-labelledby': id }, el('h2', { id }, heading), ...children);
}
section.count = 0;

export function announce(text) {
    document.getElementById('live').textContent = text;
}

export function download(name, type, text) {
    const url = URL.createObjectURL(new Blob([text], { type }));
    const link = el('a', { href: url, download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
}

// A command line with a button that copies it.
export function commandElement(line) {
    const copy = button('Copy', async () => {
        try {
            await navigator.clipboard.writeText(line);
            announce('Command copied');
        } catch {
            getSelection().selectAllChildren(code); // a page from disk may not be given the clipboard
            announce('Command selected: copy it with the keyboard');
        }
    }, { 'aria-label': 'Copy the command' });
    const code = el('code', {}, line);
    return el('div', { class: 'command' }, code, copy);
}
