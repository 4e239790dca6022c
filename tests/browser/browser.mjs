// What the tests and the bench of the page share: the browser, and pages that are watched for errors and requests.
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { pathToFileURL } from 'node:url';

const NAMES = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'];

export function chromiumPath() {
    if (process.env.CHROMIUM) return process.env.CHROMIUM;
    for (const name of NAMES)
        for (const folder of (process.env.PATH ?? '').split(delimiter))
            if (existsSync(join(folder, name))) return join(folder, name);
    return null;
}

export async function launch(extra = []) {
    const { chromium } = await import('playwright-core');
    return chromium.launch({ executablePath: chromiumPath(), args: ['--no-sandbox', ...extra] });
}

// A page of a file: `faults` collects errors of the console and of scripts, `requests` what went to a network.
export async function open(browser, file, { hash = '', width = 1280, height = 900, scheme = 'light' } = {}) {
    const context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme, acceptDownloads: true });
    const page = await context.newPage();
    page.faults = [];
    page.requests = [];
    page.on('console', (message) => { if (['error', 'warning'].includes(message.type())) page.faults.push(message.text()); });
    page.on('pageerror', (error) => page.faults.push(String(error.stack ?? error)));
    page.on('request', (request) => { if (!/^(file|blob|data):/.test(request.url())) page.requests.push(request.url()); });
    await page.goto(pathToFileURL(file) + hash);
    await page.waitForFunction(() => document.documentElement.dataset.ready === 'yes', null, { timeout: 60000 });
    return page;
}

export const TABS = ['overview', 'timeline', 'memory', 'callsites', 'costs', 'graph', 'measurements', 'gpu', 'compare'];

export async function show(page, tab) {
    await page.click('#tab-' + tab);
    await page.waitForFunction((name) => document.documentElement.dataset.shown === name, tab);
}
