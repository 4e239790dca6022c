// Storages as blocks: address or order of allocation by time; and lists made of them.
import { columns, run } from './data.js';
import { textOf } from './bytes.js';
import { bytes, tickText } from './format.js';
import { axisSteps, colors, fitNamed, FONT, hueIndex } from './paint.js';

let reading = null;

async function read() {
    const [start, lived, size, category, span, call, device, address, storage] = await columns('blocks');
    const blocks = [];
    let time = 0;
    let place = 0;
    while (!size.done) {
        time += start.step();
        const lasted = lived.number();
        const coded = category.number();
        place += address.step();
        blocks.push({
            storage: textOf(storage.nextText()), bytes: size.number(), start_ns: time, end_ns: lasted === 0 ? null : time + lasted - 1,
            category: coded % 8, preexisting: coded >= 8, span: run.names[span.number()] || null, call: run.names[call.number()] || null,
            device: run.names[device.number()], address: place,
        });
    }
    return blocks;
}

export function allBlocks() {
    reading ??= read();
    return reading;
}

export function isLive(block, time) {
    return block.start_ns <= time && (block.end_ns === null || block.end_ns > time);
}

export function endOf(block) {
    return block.end_ns ?? Number(run.head.run.end_ns);
}

// Puts blocks one above the other: by address where addresses are known (the gaps between far parts of memory
// taken out), else each on the lowest place that is free while it lives.
export function placeBlocks(blocks) {
    const known = blocks.filter((block) => block.address > 0);
    if (known.length === blocks.length && blocks.length > 0) return placeByAddress(blocks);
    return placeByTime(blocks);
}

function placeByAddress(blocks) {
    const order = [...blocks].sort((a, b) => a.address - b.address);
    let top = 0;
    let reached = 0;
    let shift = 0;
    for (const block of order) {
        if (block.address > reached) shift += block.address - reached - (reached ? Math.min(block.address - reached, block.bytes) * 0.1 : 0);
        block.y = block.address - shift;
        reached = Math.max(reached, block.address + block.bytes);
        top = Math.max(top, block.y + block.bytes);
    }
    return { top, by: 'address (unused stretches taken out)' };
}

function placeByTime(blocks) {
    const order = [...blocks].sort((a, b) => a.start_ns - b.start_ns);
    const free = []; // free stretches, by place
    const live = []; // by end
    let top = 0;
    for (const block of order) {
        for (let i = live.length - 1; i >= 0; i--)
            if (endOf(live[i]) <= block.start_ns) {
                free.push({ y: live[i].y, bytes: live[i].bytes });
                live.splice(i, 1);
            }
        if (live.length > 2000) live.shift();
        const hole = free.findIndex((one) => one.bytes >= block.bytes);
        if (hole >= 0) {
            block.y = free[hole].y;
            if (free[hole].bytes > block.bytes) free[hole] = { y: block.y + block.bytes, bytes: free[hole].bytes - block.bytes };
            else free.splice(hole, 1);
        } else {
            block.y = top;
            top += block.bytes;
        }
        if (free.length > 200) free.shift();
        live.push(block);
    }
    return { top, by: 'the lowest free place (addresses were not recorded)' };
}

export function paintBlocks(painter, size, blocks, place, view, selected) {
    const theme = colors();
    const bottom = size.height - 18;
    const x = (time) => ((time - view[0]) / (view[1] - view[0])) * size.width;
    const y = (value) => bottom - (value / (place.top || 1)) * (bottom - 4);
    for (const block of blocks) {
        const left = Math.max(0, x(block.start_ns));
        const right = Math.min(size.width, x(endOf(block)));
        if (right < 0 || left > size.width) continue;
        const height = Math.max(1, y(block.y) - y(block.y + block.bytes));
        const chosen = selected !== null && (block.span === selected || block.call === selected);
        painter.rect(left, y(block.y + block.bytes), Math.max(right - left, 1), Math.max(height - 0.5, 0.8),
            chosen ? theme.strong[hueIndex(block.span ?? '')] : selected !== null ? theme.border : theme.hues[hueIndex(block.span ?? '')]);
        if (height > 13 && right - left > 50)
            painter.text(fitNamed(`${bytes(block.bytes)} `, block.span ?? '', right - left - 8), left + 4, y(block.y + block.bytes / 2), theme.onHue, FONT);
    }
    const { step, ticks } = axisSteps(view[0], view[1], size.width);
    for (const tick of ticks) {
        painter.text(tickText(tick, step), x(tick) + 3, size.height - 8, theme.faint, FONT);
        painter.line([[x(tick), bottom], [x(tick), bottom + 5]], theme.faint);
    }
    return { x, y };
}

export function blockAt(blocks, place, view, size, px, py) {
    const time = view[0] + (px / size.width) * (view[1] - view[0]);
    const bottom = size.height - 18;
    const at = ((bottom - py) / (bottom - 4)) * (place.top || 1);
    return blocks.find((block) => isLive(block, time) && block.y <= at && at < block.y + block.bytes) ?? null;
}
