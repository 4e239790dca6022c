// What is in a range of time, from the finest level: sums by name, and how exact they are.
import { className, run } from './data.js';
import { lanes, loadLevel } from './levels.js';

// Slices that begin in the range (of host time; device clocks as they are drawn). Where an entry stands for
// several slices only the longest of them has a name; the others are summed up for each class.
export async function statistics(from, to, layout) {
    const level = await loadLevel(0);
    const sums = new Map();
    let merged = 0;
    let total = 0;
    const add = (classNumber, name, number, ns, longest) => {
        const key = classNumber + ' ' + name;
        let sum = sums.get(key);
        if (!sum) sums.set(key, (sum = { name, class: className(classNumber), count: 0, total_ns: 0, maximum_ns: 0 }));
        sum.count += number;
        sum.total_ns += ns;
        sum.maximum_ns = Math.max(sum.maximum_ns, longest);
    };
    for (let lane = 0; lane < lanes.length; lane++) {
        const shift = layout.shiftOfLane(lane);
        const { clock } = run.head.timeline.tracks[lanes[lane].track];
        const end = level.laneFirst[lane + 1];
        for (let i = level.lowerBound(lane, from - shift); i < end && level.start[i] + shift < to; i++) {
            const classNumber = clock === undefined ? level.kind[i] : 2 + clock;
            const lasted = level.end[i] - level.start[i];
            add(classNumber, run.names[level.name[i]], 1, lasted, lasted);
            total += 1 + level.more[i];
            if (level.more[i]) {
                merged += level.more[i];
                add(classNumber, null, level.more[i], level.sum[i] - lasted, 0);
            }
        }
    }
    const rows = [...sums.values()].sort((a, b) => b.total_ns - a.total_ns);
    return { rows, merged, total, bucket: level.bucket };
}

// Time of the range in which a track was busy, by its uppermost lane; at least this much where slices were merged.
export async function busyOfTracks(from, to, layout) {
    const level = await loadLevel(0);
    return run.head.timeline.tracks.map((track) => {
        const lane = track.firstLane;
        const shift = layout.shiftOfLane(lane);
        let busy = 0;
        let exact = true;
        for (let i = level.firstVisible(lane, from - shift); i < level.laneFirst[lane + 1] && level.start[i] + shift < to; i++) {
            const begin = Math.max(level.start[i] + shift, from);
            busy += Math.max(0, Math.min(level.end[i] + shift, to) - begin) + (level.sum[i] - (level.end[i] - level.start[i]));
            exact &&= level.more[i] === 0;
        }
        return { track: layout.trackTitle(track), busy_ns: Math.min(busy, to - from), exact };
    });
}
