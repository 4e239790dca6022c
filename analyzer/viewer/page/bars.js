// A whole as a bar of its parts, with what each is below it.
import { el } from './dom.js';
import { percent } from './format.js';

// parts: [{ text, value, shown, hue }]; hue 0 to 6, none: what is left over. Parts of 0 are only told.
export function partsBar(label, parts) {
    const whole = parts.reduce((sum, part) => sum + Number(part.value), 0);
    const segments = parts.filter((part) => Number(part.value) > 0).map((part) => {
        const segment = el('div', { class: 'segment', 'data-part': part.hue ?? 'rest', title: `${part.text}: ${part.shown}` });
        segment.style.flexGrow = Number(part.value) / whole;
        return segment;
    });
    const told = parts.map((part) => el('li', {}, el('span', { class: 'swatch', 'data-part': part.hue ?? 'rest' }), part.text + ' ',
        el('strong', {}, part.shown), whole > 0 ? ' (' + percent(part.value, whole) + ')' : null));
    return el('figure', { class: 'parts' }, el('figcaption', {}, label), el('div', { class: 'bar', 'aria-hidden': true }, segments), el('ul', { class: 'legend' }, told));
}
