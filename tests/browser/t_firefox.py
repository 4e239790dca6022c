#!/usr/bin/env python3
"""The page of `view` in a real Firefox: every tab of every page, no error, no request, names that stay names, the figures of the queries.
What a hand does on the page is tested in Chromium (t_viewer.py)."""
import os
import pathlib
import shutil
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from fixtures import answer, traces, view  # noqa: E402
from marionette import Firefox  # noqa: E402
from cli import Folder, done, equal, ok, skip  # noqa: E402

TABS = ['overview', 'timeline', 'memory', 'callsites', 'costs', 'graph', 'measurements', 'gpu', 'compare']
READY = "return document.documentElement.dataset.ready === 'yes'"

program = os.environ.get('FIREFOX') or shutil.which('firefox') or shutil.which('firefox-esr')
if not program:
    skip('the page in Firefox', 'no Firefox is installed (package firefox-esr)')
    done()

folder = Folder()
TRACES = traces(folder)
MESSAGES = 'return Services.console.getMessageArray().map((one) => String(one.message)).filter((one) => one.includes(arguments[0]))'
firefox = Firefox(program)
try:
    # That these checks can fail: a script of a page that throws is seen.
    folder.put('throws.html', '<!doctype html><meta charset="utf-8"><script>setTimeout(() => { throw new Error("planted"); })</script>')
    firefox.open(pathlib.Path(folder('throws.html')).as_uri())
    ok(firefox.wait('return true') and any('planted' in one for one in firefox.run(MESSAGES, 'throws.html', browser=True)), 'an error of a script is seen')
    for name, path in TRACES.items():
        page = pathlib.Path(view(path, folder(name + '.html'))).as_uri()
        firefox.run('Services.console.reset(); return 0', browser=True)
        firefox.open(page)
        if not ok(firefox.wait(READY), f'{name}: the page is ready'):
            continue
        for tab in TABS:
            firefox.run("document.getElementById('tab-' + arguments[0]).click()", tab)
            shown = firefox.wait('return document.documentElement.dataset.shown === arguments[0]', tab)
            text = firefox.run("return document.querySelector('.panel:not([hidden])').innerText")
            ok(shown and len(text.strip()) > 10 and 'could not be made' not in text, f'{name}: {tab} has something to say', text[:300])
        equal(firefox.run('return [performance.getEntriesByType("resource").map((one) => one.name).filter((one) => !/^(file|blob|data):/.test(one)), typeof window.hacked]'),
              [[], 'undefined'], f'{name}: no request, and nothing of the trace ran')
        equal(firefox.run(MESSAGES, os.path.basename(page), browser=True), [], f'{name}: no message of the console')

    overview = answer(TRACES['small'], 'overview')
    firefox.open(pathlib.Path(folder('small.html')).as_uri())
    firefox.wait(READY)
    card = 'return document.querySelector(`[data-card="${arguments[0]}"]`).dataset.value'
    equal([firefox.run(card, label) for label in ('wall time of the measured region', 'peak of live storages')],
          [str(overview['timing']['outer_wall_time_ns']), str(overview['memory']['logical_totals']['peak_live_bytes'])], 'the figures of the query')
    firefox.open(pathlib.Path(folder('small.html')).as_uri() + '#tab=costs&name=gemm')
    firefox.wait("return document.querySelectorAll('tr[aria-selected=true]').length > 0")
    equal(sorted(set(firefox.run("return [...document.querySelectorAll('tr[aria-selected=true]')].map((row) => row.dataset.name)"))), ['gemm'], 'a link opens its selection')
    drawn = firefox.run("document.getElementById('tab-timeline').click(); return 0") is not None and firefox.wait(
        "const canvas = document.querySelector('.panel:not([hidden]) canvas'); if (!canvas || !canvas.width) return false;"
        "const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;"
        "const seen = new Set(); for (let i = 0; i < data.length; i += 4) seen.add((data[i] << 16) | (data[i + 1] << 8) | data[i + 2]); return seen.size > 4", seconds=10)
    ok(drawn, 'the timeline draws in more than four colours')
finally:
    firefox.close()
done()
