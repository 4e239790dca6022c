// How a page behaves in headless Chromium. usage: node bench.mjs PAGE; prints one JSON object:
// first_paint_ms, ready_ms (from navigation), frames_per_second (of 60 pans and zooms on the timeline), heap_bytes.
import { launch, open } from './browser.mjs';

const MOVES = 60;
const browser = await launch(['--enable-precise-memory-info']);
const page = await open(browser, process.argv[2], { hash: '#tab=timeline' });
const result = await page.evaluate(async (moves) => {
    const paint = performance.getEntriesByName('first-contentful-paint')[0];
    const ready = performance.now();
    const canvas = document.querySelector('canvas.lanes');
    const frame = () => new Promise((done) => requestAnimationFrame(done));
    canvas.focus();
    // Once over the ground, so that the finer levels are there: then what is measured is moving, not unpacking.
    for (let i = 0; i < 24; i++) {
        canvas.dispatchEvent(new KeyboardEvent('keydown', { key: 'w', bubbles: true }));
        await frame();
    }
    await new Promise((done) => setTimeout(done, 4000));
    for (let i = 0; i < 24; i++) canvas.dispatchEvent(new KeyboardEvent('keydown', { key: 's', bubbles: true }));
    await frame();
    await frame();
    const keys = ['w', 'w', 'd', 'w', 'a', 'w', 'w', 'd', 's', 'a', 's', 'w'];
    const begin = performance.now();
    for (let i = 0; i < moves; i++) {
        canvas.dispatchEvent(new KeyboardEvent('keydown', { key: keys[i % keys.length], bubbles: true }));
        await frame();
    }
    await frame();
    const took = performance.now() - begin;
    return { first_paint_ms: paint ? paint.startTime : null, ready_ms: ready, frames_per_second: (1000 * (moves + 1)) / took, heap_bytes: performance.memory.usedJSHeapSize };
}, MOVES);
console.log(JSON.stringify({ ...result, faults: page.faults }));
await browser.close();
