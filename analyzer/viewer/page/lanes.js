// Where the tracks stand on the timeline: threads, then the streams of each device clock; and the mapping
// between times and pixels. A device clock has its own time; it is drawn shifted so that no work begins before
// the call that issued it, or, where no call is known, with its first work at the left end.
import { count, duration } from './format.js';
import { run } from './data.js';
import { lanes } from './levels.js';

export const LANE = 18;
export const HEADER = 22;
export const RULER = 24;
export const MANY_LANES = 12; // further lanes of a track are folded until it is opened

export class Layout {
    constructor() {
        this.open = new Set();
        this.closed = new Set();
        this.build();
    }
    trackTitle(track) {
        if (track.rest) return 'all further ' + (track.clock === undefined ? 'threads' : 'streams');
        if (track.clock !== undefined) return /^stream/.test(track.stream) ? track.stream : 'stream ' + track.stream;
        return track.tid === undefined ? 'host (thread not recorded)' : 'thread ' + track.tid;
    }
    clockTitle(number) {
        const clock = run.head.timeline.clocks[number];
        const shift = clock.shift_ns;
        return `${clock.device} · clock ${clock.clock_id} · ` + (clock.joined
            ? `drawn ${shift < 0 ? '−' : '+'}${duration(Math.abs(shift))}: no work before its launch`
            : 'not aligned with host time');
    }
    // Rows from top to bottom: {y, height, title, track, lanes} or headings of clocks.
    build() {
        const { tracks } = run.head.timeline;
        this.rows = [];
        this.yOfLane = new Float64Array(lanes.length).fill(-1);
        let y = 0;
        let clock;
        tracks.forEach((track, number) => {
            if (track.clock !== undefined && track.clock !== clock) {
                clock = track.clock;
                this.rows.push({ y, height: HEADER, title: this.clockTitle(clock), clock });
                y += HEADER;
            }
            const folded = this.closed.has(number);
            const shown = folded ? 0 : this.open.has(number) ? track.lanes : Math.min(track.lanes, MANY_LANES);
            const row = {
                y, height: HEADER + shown * LANE, track: number, shown,
                title: this.trackTitle(track), about: count(track.slices) + (shown < track.lanes ? ` · ${shown} of ${track.lanes} levels shown` : ''),
            };
            for (let depth = 0; depth < shown; depth++) this.yOfLane[track.firstLane + depth] = y + HEADER + depth * LANE;
            this.rows.push(row);
            y += row.height + 4;
        });
        this.height = y;
    }
    // Opens all levels of a track, then folds it, then shows the first ones again.
    toggle(number) {
        const track = run.head.timeline.tracks[number];
        if (this.closed.has(number)) this.closed.delete(number);
        else if (track.lanes > MANY_LANES && !this.open.has(number)) this.open.add(number);
        else {
            this.open.delete(number);
            this.closed.add(number);
        }
        this.build();
    }
    rowAt(y) {
        return this.rows.find((row) => y >= row.y && y < row.y + row.height);
    }
    laneAt(y) {
        const row = this.rowAt(y);
        if (!row || row.track === undefined || y < row.y + HEADER) return -1;
        const depth = Math.floor((y - row.y - HEADER) / LANE);
        return depth < row.shown ? run.head.timeline.tracks[row.track].firstLane + depth : -1;
    }
    // What is added to the times of a lane to have host time: those of a device clock count from its first work.
    shiftOfLane(lane) {
        const { clock } = run.head.timeline.tracks[lanes[lane].track];
        return clock === undefined ? 0 : run.head.timeline.clocks[clock].origin_ns;
    }
}

// The whole of the time that the timeline has.
export function wholeRange() {
    let from = 0;
    let to = Number(run.head.run.end_ns) || 0;
    for (const clock of run.head.timeline.clocks) {
        from = Math.min(from, clock.origin_ns);
        to = Math.max(to, clock.origin_ns + Number(clock.length_ns));
    }
    return to > from ? [from, to] : [from, from + 1];
}
