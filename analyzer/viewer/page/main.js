// The page: tabs, theme, the address, keys.
import { openRun, run } from './data.js';
import { announce, button, el, note, replace } from './dom.js';
import { shortName } from './format.js';
import { compareTab } from './compare.js';
import { costsTab } from './costs.js';
import { flameTab } from './flame.js';
import { gpuTab } from './gpu.js';
import { graphTab } from './graph.js';
import { listLanes } from './levels.js';
import { measurementsTab } from './measurements.js';
import { memoryTab } from './memory.js';
import { overviewTab, statusOf } from './overview.js';
import { readTheme } from './paint.js';
import { selectionBar } from './selection.js';
import { change, onChange, readHash, state } from './state.js';
import { timelineProbe, timelineTab } from './timeline.js';

const TABS = [['overview', 'Overview', overviewTab], ['timeline', 'Timeline', timelineTab], ['memory', 'Memory', memoryTab],
    ['callsites', 'Call sites', flameTab], ['costs', 'Costs', costsTab], ['graph', 'Graph', graphTab],
    ['measurements', 'Measurements', measurementsTab], ['gpu', 'GPU', gpuTab], ['compare', 'Compare', compareTab]];

const panels = new Map();

function buildTabs() {
    const list = el('div', { role: 'tablist', 'aria-label': 'Views', class: 'tabs' });
    for (const [key, text] of TABS)
        list.append(button(text, () => change({ tab: key }), { role: 'tab', id: 'tab-' + key, 'aria-controls': 'panel-' + key }));
    list.addEventListener('keydown', (event) => {
        const keys = TABS.map(([key]) => key);
        const at = keys.indexOf(state.tab);
        const to = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: keys.length - 1 }[event.key];
        if (to === undefined) return;
        event.preventDefault();
        change({ tab: keys[(to + keys.length) % keys.length] });
        document.getElementById('tab-' + state.tab).focus();
    });
    return list;
}

async function showTab() {
    const { tab } = state;
    for (const [key] of TABS) {
        const selected = key === tab;
        const control = document.getElementById('tab-' + key);
        control.setAttribute('aria-selected', String(selected));
        control.tabIndex = selected ? 0 : -1;
        if (selected) control.scrollIntoView({ block: 'nearest', inline: 'nearest' });
        const panel = panels.get(key);
        if (panel) panel.hidden = !selected;
    }
    if (!panels.has(tab)) {
        const panel = el('div', { role: 'tabpanel', id: 'panel-' + tab, 'aria-labelledby': 'tab-' + tab, tabindex: -1, class: 'panel' }, note('…'));
        panels.set(tab, panel);
        document.getElementById('panels').append(panel);
        const view = TABS.find(([key]) => key === tab)[2];
        try {
            replace(panel, await view());
        } catch (error) {
            replace(panel, note('This view could not be made: ' + error.message));
            throw error;
        }
    } else if (tab === 'timeline') timelineProbe()?.request();
    else if (tab === 'graph') graphTab.draw?.();
    document.documentElement.dataset.shown = tab;
}

function themeButton() {
    const order = ['auto', 'light', 'dark'];
    const set = (theme) => {
        document.documentElement.dataset.theme = theme;
        control.textContent = { auto: '◐', light: '☀', dark: '☾' }[theme];
        control.setAttribute('aria-label', 'Theme: ' + theme);
        repaint();
    };
    const control = button('◐', () => set(order[(order.indexOf(document.documentElement.dataset.theme) + 1) % 3]), { class: 'theme', 'aria-label': 'Theme: auto' });
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', repaint);
    return control;
}

// Canvases and legends do not follow the style sheet: the views that have them are made anew.
function repaint() {
    readTheme();
    window.dispatchEvent(new Event('resize'));
    timelineProbe()?.request();
    change({ options: { ...state.options } });
}

function header() {
    const status = statusOf(run.head);
    const { entrypoint, run_id: runId, device, devices, phase } = run.head.run;
    const named = devices.find((each) => each.device === device);
    return el('header', {}, el('h1', {}, el('bdi', {}, shortName(entrypoint, 120))),
        el('span', { class: 'badge ' + status.class }, status.word),
        el('span', { class: 'faint' }, phase + ' · ', el('bdi', {}, shortName(device, 60)), named ? [' (', el('bdi', {}, shortName(named.name, 80)), ')'] : null, ' · ', el('bdi', {}, shortName(runId, 80))), themeButton());
}

const KEY_OF_TAB = /^[1-9]$/;
function globalKeys(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    if (KEY_OF_TAB.test(event.key)) change({ tab: TABS[Number(event.key) - 1][0] });
    else if (event.key === '/') {
        document.querySelector('.panel:not([hidden]) input[type=search]')?.focus();
        event.preventDefault();
    } else if (event.key === 'Escape') change({ name: null, slice: null, from: null, to: null });
}

async function start() {
    document.documentElement.dataset.theme = 'auto';
    await openRun();
    document.title = `${shortName(run.head.run.entrypoint, 100)} – cgtrace`;
    listLanes();
    readTheme();
    readHash(TABS.map(([key]) => key));
    replace(document.getElementById('page'), header(), buildTabs(), selectionBar(), el('main', { id: 'panels' }));
    onChange((changed) => { if (changed.has('tab')) showTab(); });
    window.addEventListener('hashchange', () => readHash(TABS.map(([key]) => key)));
    document.addEventListener('keydown', globalKeys);
    await showTab();
    announce(statusOf(run.head).word);
    document.documentElement.dataset.ready = 'yes';
}

start().catch((error) => {
    replace(document.getElementById('page'), note('This page cannot be shown: ' + error.message));
    throw error;
});
