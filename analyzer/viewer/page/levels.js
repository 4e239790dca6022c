// Levels of detail of the timeline (analyzer/viewer/levels.h): level 0 is the finest.
import { forget } from './bytes.js';
import { columns, run } from './data.js';

export const KINDS = ['span', 'op', 'interval'];

class Level {
    constructor(bucket, entries) {
        this.bucket = bucket;
        this.count = entries;
        this.start = new Float64Array(entries);
        this.end = new Float64Array(entries);
        this.sum = new Float64Array(entries); // of the durations of all that the entry stands for
        this.name = new Uint32Array(entries);
        this.more = new Uint32Array(entries); // slices that it stands for beside itself
        this.row = new Uint32Array(entries);
        this.kind = new Uint8Array(entries);
        this.laneFirst = null;
    }
    // The first entry of a lane that begins at or after a time.
    lowerBound(lane, time) {
        let low = this.laneFirst[lane];
        let high = this.laneFirst[lane + 1];
        while (low < high) {
            const middle = (low + high) >>> 1;
            if (this.start[middle] < time) low = middle + 1;
            else high = middle;
        }
        return low;
    }
    // The first entry of a lane that reaches beyond a time.
    firstVisible(lane, time) {
        const at = this.lowerBound(lane, time);
        return at > this.laneFirst[lane] && this.end[at - 1] > time ? at - 1 : at;
    }
}

// Lanes of all tracks, in the order of the columns.
export const lanes = [];
export function listLanes() {
    lanes.length = 0;
    run.head.timeline.tracks.forEach((track, number) => {
        track.firstLane = lanes.length;
        for (let depth = 0; depth < track.lanes; depth++) lanes.push({ track: number, depth });
    });
}

async function decode(number) {
    const about = run.head.timeline.levels[number];
    const level = new Level(about.bucket_ns, about.entries);
    const [entries, start, length, name, more, rest, row] = await columns('level-' + number);
    level.laneFirst = new Uint32Array(lanes.length + 1);
    let at = 0;
    for (let lane = 0; lane < lanes.length; lane++) {
        const device = run.head.timeline.tracks[lanes[lane].track].clock !== undefined;
        let time = 0;
        let rowNumber = 0;
        for (let left = entries.number(); left > 0; left--, at++) {
            time += start.number();
            const lasted = length.number();
            const coded = name.number();
            level.start[at] = time;
            level.end[at] = time + lasted;
            level.name[at] = Math.floor(coded / 2);
            level.kind[at] = device ? 2 : coded % 2;
            level.more[at] = more.number();
            level.sum[at] = lasted + (level.more[at] ? rest.number() : 0);
            rowNumber += row.step();
            level.row[at] = rowNumber;
        }
        level.laneFirst[lane + 1] = at;
    }
    forget('level-' + number);
    return level;
}

const loading = new Map();
const loaded = [];

export function levelCount() {
    return run.head.timeline.levels.length;
}

export function loadLevel(number) {
    if (!loading.has(number))
        loading.set(number, decode(number).then((level) => (loaded[number] = level)));
    return loading.get(number);
}

// The level whose buckets are not wider than so many ns: it if it is there, else the nearest that is; `wanted`
// is the one to load.
export function levelFor(nsPerPixel) {
    let wanted = levelCount() - 1;
    while (wanted > 0 && run.head.timeline.levels[wanted].bucket_ns > nsPerPixel) wanted--;
    let level = loaded[wanted];
    for (let other = wanted + 1; !level && other < levelCount(); other++) level = loaded[other];
    for (let other = wanted - 1; !level && other >= 0; other--) level = loaded[other];
    return { level, wanted, there: level !== undefined && level === loaded[wanted] };
}

// ---- what level 0 tells beyond the bars ----

let detailColumns = null;
async function details() {
    detailColumns ??= columns('details');
    return detailColumns;
}

// How many entries of this kind stand before an entry of level 0.
function ordinal(level, kind, entry) {
    let before = 0;
    for (let i = 0; i < entry; i++) if (level.kind[i] === kind) before++;
    return before;
}

function nth(column, place, step) {
    column.at = 0;
    let value = 0;
    for (let i = 0; i <= place; i++) value = step ? value + column.step() : column.number();
    return value;
}

export async function spanDetail(entry) {
    const level = await loadLevel(0);
    const [ids, parent] = await details();
    const place = ordinal(level, 0, entry);
    ids.at = 0;
    ids.text = new Uint8Array(0);
    ids.skipTexts(place);
    const id = new TextDecoder().decode(ids.nextText());
    return { id, parent: nth(parent, place, true) - 1 };
}

export async function opDetail(entry) {
    const level = await loadLevel(0);
    const [, , size, error, api, span] = await details();
    const place = ordinal(level, 1, entry);
    const [bytesMore, errorMore] = [nth(size, place), nth(error, place)];
    return {
        bytes: bytesMore ? bytesMore - 1 : null, error: errorMore ? errorMore - 1 : null,
        api: run.names[nth(api, place)], span: nth(span, place, true) - 1,
    };
}

export async function intervalDetail(entry) {
    const level = await loadLevel(0);
    const [, , , , , , issuer, issuedAt, size] = await details();
    const place = ordinal(level, 2, entry);
    const bytesMore = nth(size, place);
    return {
        issuer: nth(issuer, place, true) - 1, issuedAt: nth(issuedAt, place, true),
        bytes: bytesMore ? bytesMore - 1 : null,
    };
}

// Entries of level 0 whose work an operation issued.
export async function issuedBy(opRow) {
    const level = await loadLevel(0);
    const [, , , , , , issuer] = await details();
    issuer.at = 0;
    const found = [];
    let row = 0;
    for (let entry = 0; entry < level.count; entry++) {
        if (level.kind[entry] !== 2) continue;
        row += issuer.step();
        if (row - 1 === opRow) found.push(entry);
    }
    return found;
}

// The entry of level 0 with this kind and row; -1 when it was merged into a longer one.
export async function findSlice(kind, row) {
    const level = await loadLevel(0);
    for (let entry = 0; entry < level.count; entry++)
        if (level.row[entry] === row && level.kind[entry] === kind) return entry;
    return -1;
}

export function laneOf(level, entry) {
    let low = 0;
    let high = lanes.length - 1;
    while (low < high) {
        const middle = (low + high + 1) >>> 1;
        if (level.laneFirst[middle] <= entry) low = middle;
        else high = middle - 1;
    }
    return low;
}

// When a slice begins, on its own clock and exactly.
export function startOf(level, entry) {
    const { clock } = run.head.timeline.tracks[lanes[laneOf(level, entry)].track];
    return clock === undefined ? level.start[entry] : BigInt(run.head.timeline.clocks[clock].first_ns) + BigInt(level.start[entry]);
}
