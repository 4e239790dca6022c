// The page in a real browser. usage: node page_test.mjs CONFIG.json (made by t_viewer.py); prints TAP.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { launch, open, show, TABS } from './browser.mjs';

const config = JSON.parse(readFileSync(process.argv[2], 'utf8'));
let number = 0;

function ok(condition, name, why = '') {
    console.log(`${condition ? 'ok' : 'not ok'} ${++number} - ${name}`);
    if (!condition) for (const line of String(why).split('\n').slice(0, 30)) console.log('# ' + line);
}
function equal(found, expected, name) {
    const [a, b] = [found, expected].map((value) => JSON.stringify(value));
    ok(a === b, name, `got      ${a}\nexpected ${b}`);
}

const browser = await launch();
const path = (name) => config.pages[name];
const shown = (page, selector = '') => page.locator('.panel:not([hidden]) ' + selector);
const settle = (page) => page.waitForTimeout(250);
// The address is written a moment after what it tells.
const hash = async (page) => { await settle(page); return page.evaluate(() => new URLSearchParams(location.hash.slice(1)).toString()); };

// A table of the visible tab as rows of exact values where cells have one, else of their text.
async function table(page, caption, within = '') {
    return page.evaluate(([wanted, place]) => {
        const all = [...document.querySelectorAll(`.panel:not([hidden]) ${place} table`)];
        const found = all.find((one) => one.caption.textContent === wanted);
        if (!found) return 'no table ' + wanted + ' among ' + all.map((one) => one.caption.textContent).join('; ');
        const keys = [...found.tHead.querySelectorAll('button')].map((button) => button.dataset.key);
        return [...found.tBodies[0].rows].map((row) => Object.fromEntries([...row.cells].map((cell, i) => [keys[i], cell.dataset.value === undefined ? cell.textContent : Number(cell.dataset.value)])));
    }, [caption, within]);
}

async function fact(page, key) {
    return shown(page, `dd[data-key="${key}"]`).first().getAttribute('data-value');
}

async function noFaults(page, what) {
    equal([page.faults, page.requests], [[], []], `${what}: no error, no request`);
    await page.context().close();
}

// ---- every page, every tab ----

async function everyTab(name) {
    const page = await open(browser, path(name));
    for (const tab of TABS) {
        await show(page, tab);
        await settle(page);
        const text = await shown(page).innerText();
        ok(text.trim().length > 10 && !text.includes('could not be made'), `${name}: ${tab} has something to say`, text.slice(0, 300));
        if (config.screenshots) await page.screenshot({ path: join(config.screenshots, `${name}-${tab}.png`), fullPage: true });
        const nameless = await page.evaluate(() => [...document.querySelectorAll('.panel:not([hidden]) :is(button, input, select, canvas, table, svg[role], [role=region])')]
            .filter((one) => !(one.getAttribute('aria-label') || one.textContent.trim() || one.labels?.length || one.getAttribute('aria-hidden') || one.caption)).map((one) => one.outerHTML.slice(0, 120)));
        equal(nameless, [], `${name}: ${tab}: everything that is used or read has a name`);
    }
    const twice = await page.evaluate(() => { const ids = [...document.querySelectorAll('[id]')].map((one) => one.id); return ids.filter((id, i) => ids.indexOf(id) !== i); });
    equal(twice, [], `${name}: no id twice`);
    await noFaults(page, name);
}

for (const name of Object.keys(config.pages)) await everyTab(name);

// ---- status ----

for (const [name, word] of [['small', 'Complete capture'], ['failed', 'Failed capture'], ['invalid', 'Structurally invalid']]) {
    const page = await open(browser, path(name));
    equal(await page.locator('.badge').innerText(), word, `${name}: its status`);
    if (name === 'failed') ok((await shown(page).innerText()).includes('killed by signal 9'), 'failed: why');
    await page.context().close();
}

// ---- the figures are those of the queries ----

{
    const page = await open(browser, path('small'));
    const card = (label) => page.locator(`[data-card="${label}"]`).getAttribute('data-value');
    equal([await card('wall time of the measured region'), await card('peak of live storages'), await card('storages allocated')],
        [config.overview.timing.outer_wall_time_ns, config.overview.memory.logical_totals.peak_live_bytes, config.overview.memory.logical_totals.storage_allocation_count].map(String), 'overview: headline numbers');
    // By hand: 4096 at 120, 5120 at 150, 7168 at 360, then 3072, 1024.
    equal(await card('peak of live storages'), '7168', 'overview: the peak worked out by hand');
    await show(page, 'costs');
    await shown(page, '[data-kind=kernels] table').first().waitFor();
    const keys = ['name', 'count', 'total_ns', 'average_ns', 'minimum_ns', 'maximum_ns'];
    const pick = (rows) => rows.map((row) => keys.map((key) => row[key]));
    for (const kind of ['kernels', 'copies', 'api'])
        for (const list of ['by_device_time', 'by_host_time'])
            equal(pick(await table(page, list.replaceAll('_', ' '), `[data-kind=${kind}]`)), pick(config[kind][list].rows), `costs: ${kind} ${list}`);
    // gemm: two launches, 10 and 30 ns; two kernels, 300 and 500 ns.
    const sums = await table(page, 'Sums by name');
    equal(sums.filter((row) => row.name === 'gemm').map((row) => [row.class, row.count, row.total_ns, row.self_ns]).sort(), [['device cuda:0 · gpu', 2, 800, 800], ['operations', 2, 40, 40]], 'costs: sums of gemm by hand');
    // forward: 100 ns less its calls of 10 and 20.
    equal(sums.filter((row) => row.name === 'forward').map((row) => [row.total_ns, row.self_ns]), [[100, 70]], 'costs: self time by hand');
    await show(page, 'memory');
    for (const key of ['peak_live_bytes', 'peak_timestamp_ns', 'storage_allocation_count', 'matched_storage_free_count', 'total_allocated_bytes'])
        equal(await fact(page, key), String(config.overview.memory.logical_totals[key]), `memory: ${key}`);
    const point = config.memory.logical.timeline.find((one) => one.timestamp_ns === 360);
    equal([await fact(page, 'live_bytes'), point.live_bytes], ['7168', 7168], 'memory: live at the cursor, which stands at the peak');
    equal((await table(page, 'Live at this time, by category')).map((row) => [row.name, row.bytes]), [['parameter', 1024], ['activation', 6144]], 'memory: by category at the cursor');
    equal(point.live_bytes_by_category, { activation: 6144, parameter: 1024 }, 'memory: which is what the query says');
    equal((await table(page, 'Storages live at this time')).map((row) => row.bytes), [4096, 2048, 1024], 'memory: the live set at the cursor');
    equal((await table(page, 'Held the peak, by call site')).map((row) => [row.name, row.bytes_at_peak]), [['run_layer', 4096], ['(no call stack)', 3072]], 'memory: by call site');
    equal((await table(page, 'Never freed in the capture')).map((row) => [row.storage, row.bytes]), [['b', 1024]], 'memory: what is never freed');
    await shown(page, 'input.cursor').press('ArrowRight');
    ok(/at=\d+/.test(await hash(page)), 'memory: the cursor moves by keyboard');
    await shown(page, 'button:text("At the peak")').click();
    await page.selectOption('.panel:not([hidden]) select >> nth=0', 'span');
    await settle(page);
    equal((await table(page, 'Live at this time, by span')).map((row) => [row.name, row.bytes]), [['forward', 5120], ['backward', 2048]], 'memory: by span at the cursor');
    await noFaults(page, 'figures');
}

// ---- out of memory ----

{
    const page = await open(browser, path('starved'));
    // 900000 asked for at 370 with 880000 free by the sample at 400; alive are 4096 (which has a stack), 2048 and 1024.
    const banner = (await shown(page, '.banner').innerText()).replace(/\s+/g, ' ');
    ok(['An allocation failed', '878.9 KiB asked for by cuMemAlloc in', '/ backward', 'with 859.4 KiB free', 'run_layer (4.000 KiB of 7.000 KiB)'].every((words) => banner.includes(words)), 'the overview says what failed', banner);
    await shown(page, '.banner button').click();
    await page.waitForFunction(() => document.documentElement.dataset.shown === 'memory');
    equal(await shown(page, 'section h2').first().innerText(), 'Out of memory', 'its button leads to who held the memory, which stands first there');
    const failure = shown(page, '.failure');
    ok((await failure.innerText()).includes('More was asked for than was free.'), 'and why it failed');
    equal(await failure.locator('.parts li').allInnerTexts(), ['live storages 7.000 KiB (0.7 %)', 'in use, in no storage 110.2 KiB (11.3 %)', 'free 859.4 KiB (88.0 %)'], 'what the device held');
    const held = async (caption) => (await table(page, caption)).map((row) => [row.name ?? row.storage_id, row.bytes]);
    equal(await held('Alive then, by call site'), [['run_layer', 4096], ['cuMemAlloc', 3072]], 'who held it, by call site');
    equal((await held('Alive then, by span')).map(([name, size]) => [name.split(' / ').at(-1), size]), [['forward', 5120], ['backward', 2048]], 'by span');
    equal(await held('Alive then, by category'), [['activation', 6144], ['parameter', 1024]], 'by category');
    equal(await held('Largest storages alive then'), [['a', 4096], ['c', 2048], ['b', 1024]], 'the largest ones');
    equal((await table(page, 'What happened before it, the latest first')).slice(0, 2).map((row) => [row.event, row.bytes]), [['alloc', 2048], ['operation', 4096]], 'what came before');
    await noFaults(page, 'out of memory');
}

// ---- busy and idle ----

{
    const page = await open(browser, path('small'), { hash: '#tab=gpu' });
    const idle = shown(page, '[data-kind=idle]');
    await idle.locator('.parts').waitFor();
    // 300, 80, 500 and 2000 ns that do not overlap.
    ok((await idle.locator('.parts li').first().innerText()).startsWith('busy 2.880 µs'), 'busy by hand', await idle.innerText());
    ok((await idle.innerText()).includes('without anchors of its clock'), 'no cause where the clocks cannot be compared');
    ok((await shown(page, '[data-kind=suspects]').innerText()).includes('No record breaks a rule'), 'no suspects');
    await noFaults(page, 'busy and idle');
}

// The command that the page gives for a selected name, and the rows that it shows of it.
{
    const page = await open(browser, path('small'), { hash: '#tab=costs&name=gemm' });
    await shown(page, '[data-kind=spans] table').first().waitFor();
    const line = await page.locator('.selection code').innerText();
    ok(line.endsWith('--kind spans --label gemm'), 'a command for the selection', line);
    const words = line.split(' ').slice(1);
    const rows = JSON.parse(execFileSync(config.program, words, { encoding: 'utf8' })).result.rows;
    const mine = (await table(page, 'Spans one by one', '[data-kind=spans]')).filter((row) => row.name === 'gemm');
    equal(mine.map((row) => row.id).sort(), rows.map((row) => row.id).sort(), 'its rows are those on the page');
    equal(await shown(page, 'tr[aria-selected=true]').evaluateAll((all) => [...new Set(all.map((row) => row.dataset.name))]), ['gemm'], 'which are marked');
    await noFaults(page, 'selection command');
}

// ---- selection everywhere ----

{
    const page = await open(browser, path('small'));
    await show(page, 'costs');
    await shown(page, 'tr[data-name=relu]').first().click();
    ok((await hash(page)).includes('name=relu'), 'a row selects its name');
    ok((await page.locator('.selection').innerText()).includes('relu'), 'the bar says so');
    await show(page, 'graph');
    ok((await shown(page, 'svg.graph').getAttribute('aria-label')).includes('relu'), 'the graph stands at it');
    // forward calls relu; gemm feeds it.
    equal((await table(page, 'Edges of the selection')).map((row) => [row.from, row.to, row.kind, row.count]).sort(), [['forward', 'relu', 'call', 1], ['gemm', 'relu', 'data', 1]], 'its edges by hand');
    await shown(page, 'svg.graph g.node[aria-label=gemm]').press('Enter');
    ok((await hash(page)).includes('name=gemm'), 'a node of the graph selects by keyboard');
    await show(page, 'callsites');
    await page.keyboard.press('Escape');
    ok(!(await hash(page)).includes('name='), 'Escape clears the selection');
    await page.selectOption('.panel:not([hidden]) select >> nth=0', 'bytes');
    await page.selectOption('.panel:not([hidden]) select >> nth=1', 'stacks');
    await settle(page);
    // The storage of 4096 bytes has a stack, that of 1024 has none.
    equal((await table(page, 'Paths')).map((row) => [row.name, row.with_below_bytes]).slice(0, 2), [['main', 4096], ['run_layer', 4096]], 'bytes by call stack');
    await shown(page, 'canvas').click({ position: { x: 60, y: 30 } });
    ok((await hash(page)).includes('name=main'), 'a box of the flame graph selects');
    await noFaults(page, 'selection');
}

// ---- timeline ----

{
    const page = await open(browser, path('small'));
    await page.keyboard.press('2');
    await page.waitForFunction(() => document.documentElement.dataset.shown === 'timeline');
    const canvas = shown(page, 'canvas.lanes');
    await canvas.focus();
    const view = async () => new URLSearchParams(await hash(page)).get('view')?.split('-').map(Number) ?? null;
    await page.keyboard.press('w');
    const first = await view();
    await page.keyboard.press('w');
    const second = await view();
    ok(second[1] - second[0] < first[1] - first[0], 'W zooms in', JSON.stringify([first, second]));
    await page.keyboard.press('d');
    const third = await view();
    ok(third[0] > second[0] && Math.abs((third[1] - third[0]) - (second[1] - second[0])) < 3, 'D moves right', JSON.stringify(third));
    const box = await canvas.boundingBox();
    await page.mouse.move(box.x + 600, box.y + 60);
    await page.mouse.wheel(0, 240);
    const fourth = await view();
    ok(fourth[1] - fourth[0] > third[1] - third[0], 'the wheel zooms out', JSON.stringify(fourth));
    await page.keyboard.press('Home');
    await page.keyboard.press('.');
    await shown(page, '.detail h3').waitFor();
    ok(/slice=(span|op)/.test(await hash(page)), 'full stop selects a slice', await hash(page));
    await page.keyboard.press('Escape');
    await settle(page);
    ok(!(await hash(page)).includes('slice='), 'Escape clears it');
    // Search: two launches and two kernels.
    await shown(page, 'input[type=search]').first().fill('GEMM');
    await page.waitForFunction(() => /slices/.test(document.querySelector('.panel:not([hidden]) .tools .count').textContent));
    equal(await shown(page, '.tools .count').first().innerText(), '4 slices', 'the search finds launches and kernels');
    await shown(page, 'input[type=search]').first().press('Enter');
    await shown(page, '.detail h3').waitFor();
    equal((await hash(page)).match(/slice=[^&]*/)[0], 'slice=op%3A0', 'Enter goes to the first');
    ok((await shown(page, '.detail').innerText()).includes('issued'), 'a launch names what it issued', await shown(page, '.detail').innerText());
    await noFaults(page, 'timeline');
}

{
    const page = await open(browser, path('small'), { hash: '#tab=timeline&slice=interval:0&from=100&to=360&view=0-1500' });
    await shown(page, '.detail h3').waitFor();
    const detail = await shown(page, '.detail').innerText();
    ok(detail.includes('gemm') && detail.includes('issued by') && detail.includes('300 ns'), 'a deep link opens a kernel and who issued it', detail);
    await shown(page, '.range table').first().waitFor();
    await settle(page);
    // Begin in [100, 360): measured, forward, backward; gemm twice, relu, copy; the kernels drawn from 115 on (-4885 ns) are gemm at 115; relu at 515 is not.
    const rows = await table(page, 'Slices that begin in the range');
    equal(rows.map((row) => [row.class, row.name, row.count, row.total_ns]).sort(), [['device cuda:0 · gpu', 'gemm', 1, 300], ['operations', 'copy', 1, 40], ['operations', 'gemm', 2, 40],
        ['operations', 'relu', 1, 20], ['spans', 'backward', 1, 120], ['spans', 'forward', 1, 100], ['spans', 'measured', 1, 1000]], 'the statistics of a range by hand');
    await shown(page, '.detail button.link').first().click();
    await settle(page);
    ok((await hash(page)).includes('slice=op%3A0'), 'the arrow leads back to the launch', await hash(page));
    const box = await shown(page, 'canvas.lanes').boundingBox();
    await page.mouse.move(box.x + 400, box.y + 8);
    await page.mouse.down();
    await page.mouse.move(box.x + 700, box.y + 8, { steps: 4 });
    await page.mouse.up();
    await settle(page);
    const fields = new URLSearchParams(await hash(page));
    ok(Number(fields.get('to')) - Number(fields.get('from')) > 100, 'dragging on the ruler selects a range', fields.toString());
    await noFaults(page, 'deep link');
}

// The whole range of the page without merged slices counts every slice; that of the small page does so too.
{
    const page = await open(browser, path('many'), { hash: '#tab=timeline' });
    await shown(page, '.range table').first().waitFor();
    await page.waitForFunction(() => document.querySelector('.range .note').textContent.includes('slices'));
    const text = (await shown(page, '.range .note').first().innerText()).replace(/\u202f/g, '');
    ok(text.includes('60003 slices'), 'a range counts every slice', text);
    const level = (await shown(page, '[data-role=level]').innerText()).replace(/\u202f/g, '');
    ok(/\d+ of 60003 slices shown at this zoom/.test(level), 'what is left out at a zoom is said', level);
    await noFaults(page, 'many');
}

// ---- address, history, tabs by keyboard ----

{
    const page = await open(browser, path('small'));
    await page.focus('#tab-overview');
    await page.keyboard.press('ArrowRight');
    await page.waitForFunction(() => document.documentElement.dataset.shown === 'timeline');
    equal(await page.evaluate(() => document.activeElement.id), 'tab-timeline', 'arrow keys move between tabs');
    await page.keyboard.press('End');
    await page.waitForFunction(() => document.documentElement.dataset.shown === 'compare');
    await page.goBack();
    await page.waitForFunction(() => document.getElementById('tab-timeline').getAttribute('aria-selected') === 'true');
    ok(true, 'the browser goes back to the tab before');
    await page.keyboard.press('3');
    await page.waitForFunction(() => document.documentElement.dataset.shown === 'memory');
    ok((await hash(page)).startsWith('tab=memory'), 'digits choose tabs, and the address says which');
    await noFaults(page, 'address');
}

// ---- tables: sort, find, CSV; drawings as SVG ----

async function saved(page, click) {
    const [download] = await Promise.all([page.waitForEvent('download'), click()]);
    return readFileSync(await download.path(), 'utf8');
}

{
    const page = await open(browser, path('small'));
    await show(page, 'measurements');
    equal((await table(page, 'Tensor statistics')).map((row) => row.label), ['loss', 'logits'], 'measurements: statistics');
    await shown(page, 'th button[data-key=non_finite]').first().click();
    equal((await table(page, 'Tensor statistics')).map((row) => row.label), ['logits', 'loss'], 'a heading sorts, numbers first downwards');
    equal(await shown(page, 'th[aria-sort]').first().getAttribute('aria-sort'), 'descending', 'and says how');
    await shown(page, 'input[type=search]').first().fill('loss');
    equal((await table(page, 'Tensor statistics')).map((row) => row.label), ['loss'], 'the search keeps rows');
    const csv = await saved(page, () => shown(page, 'button[aria-label="Save Tensor statistics as CSV"]').click());
    ok(csv.split('\r\n')[0].includes('label') && csv.split('\r\n').length === 3 && csv.includes('loss'), 'CSV of what is shown', csv);
    await page.selectOption('.panel:not([hidden]) label:has-text("state") select', 'zero');
    equal((await table(page, 'Gradients')).map((row) => row.key), ['encoder.bias'], 'gradients by state');
    equal((await table(page, 'Families and what is expected of them')).map((row) => [row.family, row.expectation, row.parameters, row.present, row.missing, row.zero]),
        [['encoder', 'active', 2, 1, 0, 1], ['head', 'inactive', 1, 0, 1, 0]], 'families against what is expected of them');
    await page.evaluate(() => { location.hash = '#tab=timeline&view=0-1000'; });
    await show(page, 'timeline');
    await settle(page);
    const svg = await saved(page, () => shown(page, 'button[aria-label="Save what is shown as SVG"]').click());
    const parsed = await page.evaluate((text) => { const document = new DOMParser().parseFromString(text, 'image/svg+xml'); return [document.documentElement.tagName, document.querySelectorAll('parsererror, script').length, document.querySelectorAll('rect').length > 8]; }, svg);
    equal(parsed, ['svg', 0, true], 'the timeline as SVG');
    ok(svg.includes('forward'), 'with its names');
    await noFaults(page, 'saving');
}

// ---- hostile names ----

{
    const page = await open(browser, path('hostile'));
    for (const tab of TABS) {
        await show(page, tab);
        await settle(page);
    }
    equal(await page.evaluate(() => [window.hacked ?? null, document.querySelectorAll('img, iframe, object, embed, #panels script, #panels style').length]), [null, 0], 'no name becomes markup');
    await show(page, 'costs');
    const names = (await table(page, 'Sums by name')).map((row) => row.name);
    for (const name of config.hostile.filter((one) => one && one.length < 100))
        ok(names.includes(name), 'shown as it is: ' + JSON.stringify(name).slice(0, 60), JSON.stringify(names).slice(0, 2000));
    ok(names.some((name) => /^long x+…x+$/.test(name) && name.length < 200), 'a long name loses its middle on the screen');
    const svg = await (async () => { await show(page, 'timeline'); await settle(page); return saved(page, () => shown(page, 'button[aria-label="Save what is shown as SVG"]').click()); })();
    const elements = await page.evaluate((text) => { const document = new DOMParser().parseFromString(text, 'image/svg+xml'); return document.querySelectorAll('parsererror, script, img, style').length; }, svg);
    equal(elements, 0, 'and in the SVG');
    await page.evaluate(() => { location.hash = '#tab=costs&name=' + encodeURIComponent('"><img src=x onerror=window.hacked=9>') + '&slice=op:99999&view=x-y&o.costs.class=%3Cb%3E'; });
    await settle(page);
    equal(await page.evaluate(() => window.hacked ?? null), null, 'nor what the address holds');
    const network = await page.evaluate(() => fetch('http://127.0.0.1:9/').then(() => 'reached', (error) => error.name));
    equal([network, page.requests], ['TypeError', []], 'the policy lets nothing out');
    page.faults = page.faults.filter((fault) => !fault.includes('127.0.0.1'));
    await noFaults(page, 'hostile names');
}

// ---- figures beyond 2^53 ----

{
    const page = await open(browser, path('vast'));
    equal(await page.locator('[data-card="peak of live storages"]').getAttribute('data-value'), '18446744073709551615', 'a peak of 2^64-1 is shown exactly');
    await show(page, 'costs');
    await shown(page, '[data-kind=api] table').first().waitFor();
    equal(await shown(page, '[data-kind=api] table:has(caption:text("by host time")) td[data-key=total_ns]').first().getAttribute('data-value'), '9007199254740993', 'so is 2^53 + 1');
    // A device clock that counts nanoseconds since 1970: 10 ns apart stay 10 ns apart.
    await page.evaluate(() => { location.hash = '#tab=timeline&slice=interval:1&view=0-300'; });
    await shown(page, '.detail h3').waitFor();
    const detail = (await shown(page, '.detail').innerText()).replace(/\s+/g, ' ');
    ok(detail.includes('second') && detail.includes('9 ns'), 'a slice of a clock that began long ago', detail);
    await shown(page, '.range table').first().waitFor();
    await settle(page);
    equal((await table(page, 'Slices that begin in the range')).filter((row) => row.class.startsWith('device')).map((row) => [row.name, row.total_ns]).sort(), [['second', 9], ['vast', 7]], 'both stand where the call does');
    await noFaults(page, 'large numbers');
}

// ---- two runs ----

{
    const page = await open(browser, path('compared'), { hash: '#tab=compare' });
    await shown(page, 'table').first().waitFor();
    const rows = await table(page, 'By name, the largest differences first');
    equal(rows.filter((row) => row.name === 'gemm' && row.class === 'operations').map((row) => [row.count_before, row.count, row.before_ns, row.after_ns, row.difference_ns, row.change]), [[2, 2, 40, 80, 40, 100]], 'compare: by name');
    equal((await table(page, 'Headline')).map((row) => row.change), [0, 0, 0, 0, '–', 0], 'compare: what did not change');
    equal((await table(page, 'Bytes allocated by path, the largest differences first')).map((row) => [row.path, row.before_bytes, row.after_bytes]),
        [['root › measured › forward › cuMemAlloc', 5120, 5120], ['root › measured › backward › cuMemAlloc', 2048, 2048]], 'compare: bytes by path');
    await noFaults(page, 'compare');
}

// ---- reports of Nsight Systems ----

{
    const page = await open(browser, path('reported'), { hash: '#tab=gpu' });
    await shown(page, '[data-kind=gpu-kernels] table').first().waitFor();
    const rows = await table(page, 'Kernels of the reports', '[data-kind=gpu-kernels]');
    equal(rows.map((row) => [row.name, row.total_ns]), config.gpu_kernels.rows.map((row) => [row.name, row.total_ns]), 'GPU: the kernels of a report');
    equal(rows.map((row) => row.name), ['gemm', 'relu'], 'GPU: in the order of their time');
    ok((await page.locator('.selection code').innerText()) === 'cg-analyze query . --kind gpu-status', 'a page in a bundle names the bundle by where it lies');
    await noFaults(page, 'reports');
}

// ---- themes, widths, shifts ----

{
    const light = await open(browser, path('small'));
    const dark = await open(browser, path('small'), { scheme: 'dark' });
    const back = (page) => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    ok((await back(light)) !== (await back(dark)), 'the system\'s theme is followed');
    await dark.click('.theme');
    equal(await back(dark), await back(light), 'and can be chosen');
    await light.context().close();
    await dark.context().close();
    const narrow = await open(browser, path('hostile'), { width: 400, height: 800 });
    for (const tab of TABS) {
        await show(narrow, tab);
        await settle(narrow);
        const width = await narrow.evaluate(() => document.documentElement.scrollWidth);
        ok(width <= 400, `400 pixels: ${tab} is no wider`, width);
        if (config.screenshots) await narrow.screenshot({ path: join(config.screenshots, `narrow-${tab}.png`) });
    }
    await noFaults(narrow, '400 pixels');
}

{
    const page = await open(browser, path('small'), { hash: '#tab=timeline' });
    await page.waitForTimeout(600);
    const shift = await page.evaluate(() => new Promise((resolve) => {
        let sum = 0;
        new PerformanceObserver((list) => { for (const entry of list.getEntries()) if (!entry.hadRecentInput) sum += entry.value; }).observe({ type: 'layout-shift', buffered: true });
        setTimeout(() => resolve(sum), 200);
    }));
    ok(shift < 0.02, 'nothing moves while the page opens', shift);
    await noFaults(page, 'shifts');
}

await browser.close();
console.log('1..' + number);
