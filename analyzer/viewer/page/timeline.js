// Timeline: threads, streams and the memory curve on one axis of time.
import { analyze, run } from './data.js';
import { announce, button, download, el, note, replace, section } from './dom.js';
import { bytes, count, duration, shortName, tickText } from './format.js';
import { curveNote, drawCurve, groupsAt, memoryCurve, pointAt } from './curve.js';
import { HEADER, LANE, Layout, RULER, wholeRange } from './lanes.js';
import { findSlice, KINDS, lanes, laneOf, levelCount, levelFor, loadLevel, startOf } from './levels.js';
import { axisSteps, CanvasPainter, colors, fitName, fitNamed, fitText, FONT, hueIndex, SvgPainter } from './paint.js';
import { statistics, busyOfTracks } from './ranges.js';
import { sliceView, flowsOf } from './slices.js';
import { change, onChange, state } from './state.js';
import { Table } from './table.js';

const BYTES_OF_SLICE = 14; // of a page, about
let timeline = null;

class Timeline {
    constructor(curve) {
        this.layout = new Layout();
        this.whole = wholeRange();
        this.curve = curve;
        this.scroll = 0;
        this.flows = [];
        this.selected = null; // {entry, lane} of level 0
        this.frames = 0;
        this.matching = new Uint8Array(0); // by name: does the search find it
        this.build();
    }
    get view() {
        return state.view ?? this.whole;
    }
    get gutter() {
        return this.canvas.clientWidth < 600 ? 84 : 168;
    }

    // ---- elements ----

    build() {
        this.canvas = el('canvas', {
            class: 'lanes', tabindex: 0, role: 'application', 'aria-roledescription': 'timeline',
            'aria-label': 'Timeline. W and S zoom, A and D move, arrow keys scroll, comma and full stop go to the slice before and after, Enter zooms to it, Escape clears.',
        });
        this.memory = el('canvas', { class: 'memory', 'aria-hidden': true });
        this.tip = el('div', { class: 'tip', hidden: true });
        this.found = el('span', { class: 'count', role: 'status' });
        this.search = el('input', {
            type: 'search', placeholder: 'Search names', 'aria-label': 'Search names on the timeline', value: state.search,
            oninput: () => change({ search: this.search.value }),
            onkeydown: (event) => { if (event.key === 'Enter') this.nextFound(event.shiftKey ? -1 : 1); },
        });
        this.detail = el('div', { class: 'detail', 'aria-live': 'polite' });
        this.levelNote = el('p', { class: 'note', 'data-role': 'level' });
        this.range = el('div', { class: 'range' });
        this.painter = new CanvasPainter(this.canvas);
        this.memoryPainter = new CanvasPainter(this.memory);
        this.fitHeight();
        const tool = (text, label, action) => button(text, action, { 'aria-label': label, title: label });
        this.element = el('div', {},
            el('div', { class: 'tools' },
                tool('+', 'Zoom in (W)', () => this.zoom(0.5)), tool('−', 'Zoom out (S)', () => this.zoom(2)),
                tool('◂', 'Move left (A)', () => this.pan(-0.3)), tool('▸', 'Move right (D)', () => this.pan(0.3)),
                tool('Fit', 'Show everything', () => this.show(...this.whole)),
                this.search, tool('▴', 'Previous found', () => this.nextFound(-1)), tool('▾', 'Next found', () => this.nextFound(1)), this.found,
                tool('SVG', 'Save what is shown as SVG', () => this.exportSvg())),
            el('div', { class: 'stage' }, this.canvas, this.memory, this.tip),
            this.levelNote, this.detail, this.range);
        this.listen();
    }
    listen() {
        const { canvas } = this;
        canvas.addEventListener('wheel', (event) => this.wheel(event), { passive: false });
        this.memory.addEventListener('wheel', (event) => this.wheel(event), { passive: false });
        canvas.addEventListener('pointerdown', (event) => this.press(event));
        canvas.addEventListener('pointermove', (event) => this.hover(event));
        canvas.addEventListener('pointerleave', () => { this.tip.hidden = true; });
        canvas.addEventListener('dblclick', (event) => this.zoomToSliceAt(event));
        canvas.addEventListener('keydown', (event) => this.key(event));
        this.memory.addEventListener('pointermove', (event) => this.hoverMemory(event));
        this.memory.addEventListener('pointerleave', () => { this.tip.hidden = true; });
        this.memory.addEventListener('click', (event) => change({ at: Math.round(this.timeAt(event.offsetX)), tab: 'memory' }));
        new ResizeObserver(() => this.request()).observe(canvas);
        window.addEventListener('resize', () => this.fitHeight());
        onChange((changed) => {
            if (changed.has('search')) this.searchChanged();
            if (changed.has('slice')) this.followSelection();
            if (changed.has('from') || changed.has('to') || changed.has('view')) this.rangeChanged();
            this.request();
        });
    }

    // As high as the tracks need, within the window.
    fitHeight() {
        const most = Math.min(Math.max(window.innerHeight * 0.58, 200), 640);
        this.canvas.style.height = Math.round(Math.min(Math.max(this.layout.height + RULER + 6, 140), most)) + 'px';
    }

    // ---- mapping ----

    get nsPerPixel() {
        return (this.view[1] - this.view[0]) / Math.max(1, this.canvas.clientWidth - this.gutter);
    }
    timeAt(x) {
        return this.view[0] + (x - this.gutter) * this.nsPerPixel;
    }
    show(from, to) {
        const least = 20;
        const [first, last] = this.whole;
        const margin = (last - first) * 0.02;
        let width = Math.min(Math.max(to - from, least), (last - first) + 2 * margin);
        let begin = Math.min(Math.max((from + to) / 2 - width / 2, first - margin), last + margin - width);
        change({ view: [begin, begin + width] });
    }
    zoom(factor, center = (this.view[0] + this.view[1]) / 2) {
        const [from, to] = this.view;
        this.show(center - (center - from) * factor, center + (to - center) * factor);
    }
    pan(part) {
        const width = (this.view[1] - this.view[0]) * part;
        this.show(this.view[0] + width, this.view[1] + width);
    }
    scrollTo(y) {
        this.scroll = Math.max(0, Math.min(y, this.layout.height - (this.canvas.clientHeight - RULER) + 8));
        this.request();
    }

    // ---- pointer and keys ----

    wheel(event) {
        event.preventDefault();
        const unit = event.deltaMode === 1 ? 16 : 1;
        if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
            this.pan(((event.deltaX || event.deltaY) * unit) / (this.canvas.clientWidth - this.gutter));
        } else if (event.offsetX < this.gutter && event.currentTarget === this.canvas) {
            this.scrollTo(this.scroll + event.deltaY * unit);
        } else {
            this.zoom(1.0015 ** (event.deltaY * unit), this.timeAt(Math.max(event.offsetX, this.gutter)));
        }
    }
    press(event) {
        if (event.button !== 0) return;
        this.canvas.focus({ preventScroll: true });
        const begin = { x: event.offsetX, y: event.offsetY, view: this.view, scroll: this.scroll };
        const selecting = event.offsetY < RULER || event.shiftKey;
        let moved = false;
        const move = (now) => {
            const dx = now.offsetX - begin.x;
            const dy = now.offsetY - begin.y;
            moved ||= Math.abs(dx) + Math.abs(dy) > 3;
            if (!moved) return;
            if (selecting) {
                const times = [this.timeAt(begin.x), this.timeAt(now.offsetX)].sort((a, b) => a - b);
                change({ from: Math.round(times[0]), to: Math.round(times[1]) });
            } else {
                const shift = dx * ((begin.view[1] - begin.view[0]) / (this.canvas.clientWidth - this.gutter));
                this.show(begin.view[0] - shift, begin.view[1] - shift);
                this.scrollTo(begin.scroll - dy);
            }
        };
        const release = (now) => {
            this.canvas.removeEventListener('pointermove', move);
            if (!moved && selecting) change({ from: null, to: null });
            else if (!moved) this.click(now);
        };
        this.canvas.setPointerCapture(event.pointerId);
        this.canvas.addEventListener('pointermove', move);
        this.canvas.addEventListener('pointerup', release, { once: true });
    }
    key(event) {
        const keys = {
            w: () => this.zoom(0.6), s: () => this.zoom(1 / 0.6), a: () => this.pan(-0.2), d: () => this.pan(0.2),
            ArrowUp: () => this.scrollTo(this.scroll - 3 * LANE), ArrowDown: () => this.scrollTo(this.scroll + 3 * LANE),
            ArrowLeft: () => this.pan(-0.05), ArrowRight: () => this.pan(0.05), Home: () => this.show(...this.whole),
            ',': () => this.neighbour(-1), '.': () => this.neighbour(1), Enter: () => this.zoomToSelected(),
            Escape: () => change({ slice: null, name: null, from: null, to: null }),
        };
        const action = keys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
        if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
        event.preventDefault();
        action();
    }

    // ---- slices under the pointer ----

    hit(event) {
        const lane = this.layout.laneAt(event.offsetY - RULER + this.scroll);
        if (lane < 0 || event.offsetX < this.gutter || event.offsetY < RULER) return null;
        const { level } = levelFor(this.nsPerPixel);
        if (!level) return null;
        const time = this.timeAt(event.offsetX) - this.layout.shiftOfLane(lane);
        const reach = 2 * this.nsPerPixel;
        let best = null;
        let distance = Infinity;
        for (let i = level.firstVisible(lane, time - reach); i < level.laneFirst[lane + 1] && level.start[i] <= time + reach; i++) {
            const away = time < level.start[i] ? level.start[i] - time : Math.max(0, time - level.end[i]);
            if (away < distance) [best, distance] = [i, away];
        }
        return best === null || distance > reach ? null : { level, entry: best, lane };
    }
    async click(event) {
        const row = this.layout.rowAt(event.offsetY - RULER + this.scroll);
        if (event.offsetX < this.gutter) {
            if (row?.track !== undefined) this.layout.toggle(row.track);
            this.fitHeight();
            return this.request();
        }
        const found = this.hit(event);
        if (!found) return change({ slice: null, name: null });
        const { level, entry } = found;
        const host = level.kind[entry] !== 2;
        change({ slice: KINDS[level.kind[entry]] + ':' + level.row[entry], name: run.names[level.name[entry]], at: host ? level.start[entry] : state.at });
    }
    hover(event) {
        const found = event.buttons ? null : this.hit(event);
        this.tip.hidden = !found;
        if (!found) return;
        const { level, entry } = found;
        const more = level.more[entry];
        replace(this.tip, el('strong', {}, el('bdi', {}, shortName(run.names[level.name[entry]], 60))),
            ' ' + duration(level.end[entry] - level.start[entry]) + (more ? ` · stands for ${count(more + 1)} slices, ${duration(level.sum[entry])} together` : ''));
        this.placeTip(event, this.canvas);
    }
    hoverMemory(event) {
        const point = pointAt(this.curve, this.timeAt(event.offsetX));
        this.tip.hidden = point < 0;
        if (point < 0) return;
        replace(this.tip, el('strong', {}, bytes(this.curve.live[point]) + ' live'),
            groupsAt(this.curve, 'category', point).map((row) => el('div', {}, row.name + ' ' + bytes(row.bytes))));
        this.placeTip(event, this.memory);
    }
    placeTip(event, canvas) {
        const left = Math.min(event.offsetX + 14, Math.max(0, canvas.clientWidth - this.tip.offsetWidth - 4));
        this.tip.style.left = left + 'px';
        this.tip.style.top = canvas.offsetTop + event.offsetY + 18 + 'px';
    }
    async zoomToSliceAt(event) {
        const found = this.hit(event);
        if (!found) return;
        const shift = this.layout.shiftOfLane(found.lane);
        this.zoomTo(found.level.start[found.entry] + shift, found.level.end[found.entry] + shift);
    }
    zoomTo(from, to) {
        const margin = Math.max((to - from) * 0.2, 10);
        this.show(from - margin, to + margin);
    }
    async zoomToSelected() {
        if (!this.selected) return;
        const level = await loadLevel(0);
        const shift = this.layout.shiftOfLane(this.selected.lane);
        this.zoomTo(level.start[this.selected.entry] + shift, level.end[this.selected.entry] + shift);
    }

    // ---- selection ----

    async followSelection() {
        const wanted = state.slice;
        this.selected = null;
        this.flows = [];
        if (!wanted) return replace(this.detail);
        const [kind, row] = wanted.split(':');
        const entry = await findSlice(KINDS.indexOf(kind), Number(row));
        if (state.slice !== wanted) return;
        if (entry < 0) {
            replace(this.detail, note('The selected slice is not kept by itself on this page: a longer one stands for it.'));
            return;
        }
        const level = await loadLevel(0);
        this.selected = { entry, lane: laneOf(level, entry) };
        this.flows = await flowsOf(level, entry);
        replace(this.detail, await sliceView(level, entry, this.layout, this));
        this.reveal(this.selected.lane);
        this.request();
    }
    // Scrolls a lane into the canvas, unfolding its track if need be.
    reveal(lane) {
        if (this.layout.yOfLane[lane] < 0) {
            this.layout.closed.delete(lanes[lane].track);
            this.layout.open.add(lanes[lane].track);
            this.layout.build();
            this.fitHeight();
        }
        const y = this.layout.yOfLane[lane];
        const height = this.canvas.clientHeight - RULER;
        if (y < this.scroll || y + LANE > this.scroll + height) this.scrollTo(y - height / 2);
    }
    async select(entry, show = true) {
        const level = await loadLevel(0);
        change({ slice: KINDS[level.kind[entry]] + ':' + level.row[entry], name: run.names[level.name[entry]] });
        if (!show) return;
        const shift = this.layout.shiftOfLane(laneOf(level, entry));
        const [from, to] = [level.start[entry] + shift, level.end[entry] + shift];
        if (from < this.view[0] || to > this.view[1]) this.zoomTo(from - (this.view[1] - this.view[0]) / 3, to + (this.view[1] - this.view[0]) / 3);
    }
    async neighbour(direction) {
        const level = await loadLevel(0);
        let next;
        if (this.selected) {
            const { entry, lane } = this.selected;
            next = entry + direction;
            if (next < level.laneFirst[lane] || next >= level.laneFirst[lane + 1]) return announce('No further slice on this level');
        } else {
            const lane = lanes.findIndex((_, i) => this.layout.yOfLane[i] >= 0 && level.lowerBound(i, this.view[0]) < level.laneFirst[i + 1]);
            if (lane < 0) return;
            next = level.firstVisible(lane, this.view[0]);
        }
        await this.select(next);
        announce(`${run.names[level.name[next]]}, ${duration(level.end[next] - level.start[next])}, at ${duration(startOf(level, next))}`);
    }

    // ---- search ----

    searchChanged() {
        this.search.value = state.search;
        const text = state.search.toLowerCase();
        this.matching = new Uint8Array(run.names.length);
        let names = 0;
        if (text) run.names.forEach((name, i) => { if (i > 0 && name.toLowerCase().includes(text)) names += this.matching[i] = 1; });
        this.found.textContent = text ? `${names} names` : '';
        if (text) this.countFound(text);
    }
    async countFound(text) {
        const level = await loadLevel(0);
        let slices = 0;
        for (let i = 0; i < level.count; i++) slices += this.matching[level.name[i]];
        if (state.search.toLowerCase() === text) this.found.textContent = `${count(slices)} slices`;
    }
    async nextFound(direction) {
        if (!state.search) return;
        const level = await loadLevel(0);
        const from = this.selected ? level.start[this.selected.entry] + this.layout.shiftOfLane(this.selected.lane) : -Infinity;
        let best = -1;
        let bestTime = direction > 0 ? Infinity : -Infinity;
        for (let lane = 0; lane < lanes.length; lane++) {
            const shift = this.layout.shiftOfLane(lane);
            for (let i = level.laneFirst[lane]; i < level.laneFirst[lane + 1]; i++) {
                if (!this.matching[level.name[i]] || i === this.selected?.entry) continue;
                const time = level.start[i] + shift;
                if (direction > 0 ? time >= from && time < bestTime : time <= from && time > bestTime) [best, bestTime] = [i, time];
            }
        }
        if (best >= 0) this.select(best);
        else announce('Nothing further is found');
    }

    // ---- range ----

    rangeChanged() {
        clearTimeout(this.rangeTimer);
        this.rangeTimer = setTimeout(() => this.drawRange(), 120);
    }
    async drawRange() {
        const [from, to] = state.from === null ? this.view : [state.from, state.to];
        const mine = (this.rangeTurn = (this.rangeTurn ?? 0) + 1);
        const sums = await statistics(from, to, this.layout);
        const busy = await busyOfTracks(from, to, this.layout);
        if (mine !== this.rangeTurn) return;
        const rows = sums.rows.map((row) => ({ ...row, name: row.name ?? '(shorter ones, names not kept)' }));
        const columns = ['name', 'class', 'count', 'total_ns', 'maximum_ns'].map((key) => ({ key }));
        if (!this.rangeTable) {
            this.rangeTable = new Table(rows, { caption: 'Slices that begin in the range', columns });
            this.busyTable = new Table(busy, { caption: 'Busy time in the range', columns: [{ key: 'track' }, { key: 'busy_ns' }, { key: 'share' }] });
            this.rangeHead = el('p', { class: 'note', role: 'status' });
            replace(this.range, section('Range', this.rangeHead, el('div', { class: 'columns' }, this.rangeTable.element, this.busyTable.element)));
        }
        this.rangeTable.setRows(rows, rows.length);
        this.busyTable.setRows(busy.map((row) => ({ ...row, share: ((100 * row.busy_ns) / (to - from)).toFixed(1) + ' %' + (row.exact ? '' : ' or more') })), busy.length);
        this.rangeHead.textContent = `${state.from === null ? 'In view' : 'Selected'}: ${duration(Math.round(to - from))} from ${duration(Math.round(from))}, ` +
            `${count(sums.total)} slices` + (sums.merged ? `; ${count(sums.total - sums.merged)} of ${count(sums.total)} with their names` : '');
    }

    // ---- drawing ----

    request() {
        if (this.pending) return;
        this.pending = true;
        requestAnimationFrame(() => {
            this.pending = false;
            if (this.element.isConnected && state.tab === 'timeline') this.draw();
        });
    }
    draw() {
        const begin = performance.now();
        const size = this.painter.begin(colors().back);
        this.paint(this.painter, size);
        const below = this.memoryPainter.begin(colors().back);
        this.paintMemory(this.memoryPainter, below);
        this.frames++;
        this.lastDraw = performance.now() - begin;
    }
    paint(painter, size) {
        const { level, wanted, there } = levelFor(this.nsPerPixel);
        if (!there && levelCount() > 0) loadLevel(wanted).then(() => this.request());
        if (level) {
            this.noteLevel(level);
            for (const row of this.layout.rows) if (row.track !== undefined) this.paintTrack(painter, size, row, level);
        }
        this.paintRange(painter, size);
        this.paintTitles(painter, size);
        if (level) this.paintFlows(painter);
        this.paintRuler(painter, size);
    }
    noteLevel(level) {
        const { slices, untimed } = run.head.timeline;
        const hidden = slices - level.count;
        this.levelNote.textContent = `${count(level.count)} of ${count(slices)} slices shown` +
            (level.bucket && hidden > 0 ? ` at this zoom: of those that begin within ${duration(level.bucket)} of one another the longest, with their number` : '') +
            (untimed ? `; ${count(untimed)} operations have no time` : '') +
            (run.head.timeline.levels[0].bucket_ns ? `. The page holds ${count(run.head.timeline.levels[0].entries)}; all of them: ` + analyze('view', run.head.input, '--max-size', Math.ceil((slices * BYTES_OF_SLICE) / 1e6) * 1e6, '-o', 'large.html') : '');
    }
    paintTrack(painter, size, row, level) {
        const track = run.head.timeline.tracks[row.track];
        const top = RULER - this.scroll;
        if (top + row.y > size.height || top + row.y + row.height < RULER) return;
        for (let depth = 0; depth < row.shown; depth++) {
            const lane = track.firstLane + depth;
            const y = top + this.layout.yOfLane[lane];
            if (y + LANE < RULER || y > size.height) continue;
            this.paintLane(painter, size, level, lane, y);
        }
    }
    // Names are looked up once, not for each bar.
    hueOf(number) {
        this.hues ??= Uint8Array.from(run.names, (name) => hueIndex(name) + 1);
        return this.hues[number] - 1;
    }
    numberOf(name) {
        if (this.lastName !== name) [this.lastName, this.lastNumber] = [name, run.names.indexOf(name)];
        return this.lastNumber;
    }
    paintLane(painter, size, level, lane, y) {
        const theme = colors();
        const [viewFrom, viewTo] = this.view;
        const shift = this.layout.shiftOfLane(lane);
        const perNs = 1 / this.nsPerPixel;
        const { gutter } = this;
        const searching = state.search !== '';
        const selected = state.name === null ? -1 : this.numberOf(state.name);
        const last = level.laneFirst[lane + 1];
        // Bars of less than a pixel or two go into a strip: one drawing, however many they are.
        const strip = new Uint32Array(Math.max(1, Math.ceil(size.width - gutter)));
        let striped = false;
        for (let i = level.firstVisible(lane, viewFrom - shift); i < last; i++) {
            const start = level.start[i] + shift;
            if (start > viewTo) break;
            const left = Math.max(gutter, gutter + (start - viewFrom) * perNs);
            const right = Math.min(size.width, gutter + (level.end[i] + shift - viewFrom) * perNs);
            const width = Math.max(right - left, 1);
            const number = level.name[i];
            const marked = number === selected || (searching && this.matching[number] === 1);
            const dimmed = searching && !marked;
            const hue = this.hueOf(number);
            if (width < 2) {
                const pixel = Math.min(Math.floor(left - gutter), strip.length - 1);
                if (strip[pixel] === 0 || marked) strip[pixel] = marked ? theme.strongWords[hue] : dimmed ? theme.borderWord : theme.hueWords[hue];
                striped = true;
                continue;
            }
            painter.rect(left, y + 1, width > 3 ? width - 0.5 : width, LANE - 2, marked ? theme.strong[hue] : dimmed ? theme.border : theme.hues[hue]);
            if (width > 24) {
                const text = fitName(run.names[number], width - 8);
                if (text) painter.text(text, left + 4, y + LANE / 2, dimmed ? theme.faint : marked && !theme.dark ? '#fff' : theme.onHue, FONT);
            }
        }
        if (striped) painter.strip(strip, gutter, y + 1, LANE - 2);
        if (this.selected?.lane === lane) this.paintSelected(painter, size, y);
    }
    paintSelected(painter, size, y) {
        const [kind, row] = (state.slice ?? ':').split(':');
        const { level } = levelFor(0);
        if (!level || !this.selected) return;
        const { entry, lane } = this.selected;
        if (KINDS[level.kind[entry]] !== kind || level.row[entry] !== Number(row)) return;
        const shift = this.layout.shiftOfLane(lane);
        const left = this.gutter + (level.start[entry] + shift - this.view[0]) / this.nsPerPixel;
        const right = this.gutter + (level.end[entry] + shift - this.view[0]) / this.nsPerPixel;
        if (right < this.gutter || left > size.width) return;
        painter.frame(Math.max(left, this.gutter) - 1, y, Math.max(Math.min(right, size.width) - Math.max(left, this.gutter), 1) + 2, LANE, colors().select);
    }
    paintFlows(painter) {
        const x = (time) => Math.min(Math.max(this.gutter + (time - this.view[0]) / this.nsPerPixel, this.gutter), this.canvas.clientWidth);
        const y = (lane) => RULER - this.scroll + this.layout.yOfLane[lane] + LANE / 2;
        for (const flow of this.flows) {
            if (this.layout.yOfLane[flow.fromLane] < 0 || this.layout.yOfLane[flow.toLane] < 0) continue;
            painter.curve(x(flow.from + this.layout.shiftOfLane(flow.fromLane)), y(flow.fromLane),
                x(flow.to + this.layout.shiftOfLane(flow.toLane)), y(flow.toLane), colors().accent);
        }
    }
    paintRange(painter, size) {
        if (state.from === null) return;
        const left = Math.max(this.gutter, this.gutter + (state.from - this.view[0]) / this.nsPerPixel);
        const right = Math.min(size.width, this.gutter + (state.to - this.view[0]) / this.nsPerPixel);
        if (right <= left) return;
        painter.line([[left, 0], [left, size.height]], colors().select, 1.5);
        painter.line([[right, 0], [right, size.height]], colors().select, 1.5);
        painter.rect(left, RULER - 4, right - left, 4, colors().select);
    }
    paintRuler(painter, size) {
        const theme = colors();
        painter.rect(0, 0, size.width, RULER - 4, theme.raised);
        const { step, ticks } = axisSteps(...this.view, size.width - this.gutter);
        for (const tick of ticks) {
            const x = this.gutter + (tick - this.view[0]) / this.nsPerPixel;
            painter.line([[x, RULER - 8], [x, RULER - 4]], theme.faint);
            painter.text(tickText(tick, step), x + 3, RULER / 2 - 2, theme.faint, FONT);
        }
        painter.rect(0, 0, this.gutter, RULER - 4, theme.raised);
        painter.text('host time', 6, RULER / 2 - 2, theme.faint, FONT);
        const { measured } = run.head;
        if (!measured) return;
        const left = Math.max(this.gutter, this.gutter + (measured.start_ns - this.view[0]) / this.nsPerPixel);
        const right = Math.min(size.width, this.gutter + (Number(measured.start_ns) + Number(measured.duration_ns) - this.view[0]) / this.nsPerPixel);
        if (right > left) painter.rect(left, 0, right - left, 3, theme.accent);
    }
    paintTitles(painter, size) {
        const theme = colors();
        const top = RULER - this.scroll;
        painter.rect(0, RULER - 4, this.gutter - 1, size.height, theme.raised);
        for (const row of this.layout.rows) {
            const y = top + row.y;
            if (y + row.height < RULER || y > size.height) continue;
            if (row.clock !== undefined) {
                painter.rect(0, y, size.width, HEADER - 2, theme.raised);
                painter.text(fitText(row.title, size.width - 12), 6, y + HEADER / 2, theme.faint, FONT);
                continue;
            }
            const mark = this.layout.closed.has(row.track) ? '▸ ' : '▾ ';
            painter.text(fitNamed(mark, row.title, this.gutter - 8), 6, y + HEADER / 2, theme.text, 'bold ' + FONT);
            if (row.shown > 0) painter.text(fitText(row.about, this.gutter - 8), 14, y + HEADER + LANE / 2, theme.faint, FONT);
            painter.line([[0, y + row.height + 2], [size.width, y + row.height + 2]], theme.border, 0.5);
        }
    }
    paintMemory(painter, size) {
        const theme = colors();
        if (this.curve.size > 0)
            drawCurve(painter, { x: this.gutter, y: 0, width: size.width - this.gutter, height: size.height }, this.view, this.curve, 'category');
        painter.rect(0, 0, this.gutter - 1, size.height, theme.raised);
        painter.text('live memory', 6, 12, theme.text, 'bold ' + FONT);
        painter.text(this.curve.size > 0 ? fitText('by category', this.gutter - 8) : 'not recorded', 6, 28, theme.faint, FONT);
        const small = curveNote(this.curve);
        if (small) painter.text(fitText(small, size.width - this.gutter - 10), size.width - 6, size.height - 8, theme.faint, FONT, 'right');
        painter.line([[0, 0.5], [size.width, 0.5]], theme.border);
        const cursor = state.at === null ? -1 : this.gutter + (state.at - this.view[0]) / this.nsPerPixel;
        if (cursor >= this.gutter && cursor <= size.width) painter.line([[cursor, 0], [cursor, size.height]], theme.select, 1.5);
    }
    exportSvg() {
        const { width, height } = this.painter.begin(colors().back);
        this.draw();
        const below = this.memory.clientHeight;
        const upper = new SvgPainter(width, height, 'Timeline of ' + run.head.run.entrypoint);
        upper.begin(colors().back);
        this.paint(upper, { width, height });
        const lower = new SvgPainter(width, below, 'Live memory');
        lower.begin(colors().back);
        this.paintMemory(lower, { width, height: below });
        lower.root.setAttribute('y', height);
        upper.root.setAttribute('height', height + below);
        upper.root.setAttribute('viewBox', `0 0 ${width} ${height + below}`);
        upper.root.append(lower.root);
        download('timeline.svg', 'image/svg+xml', upper.toString());
    }
}

export async function timelineTab() {
    if (run.head.timeline.slices === 0 && run.head.counts.memory_events === 0) return note('Nothing with a time was recorded.');
    if (!timeline) {
        timeline = new Timeline(await memoryCurve());
        await loadLevel(levelCount() - 1);
        timeline.searchChanged();
        timeline.followSelection();
    }
    timeline.drawRange();
    timeline.request();
    return timeline.element;
}

export function timelineProbe() {
    return timeline;
}
