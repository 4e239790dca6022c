#!/usr/bin/env python3
"""scripts/bench on made-up benches: the goals are held against the ratio, absent peers and faults are told apart, bench.json is whole."""
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import tap  # noqa: E402

BENCH = os.path.join(HERE, '..', '..', 'scripts', 'bench')


def run(folder, *words):
    return subprocess.run([sys.executable, os.path.abspath(BENCH), *words], cwd=folder, env=dict(os.environ, BUILD='b', CGTRACE_BENCH_SETTLE_S='0'), capture_output=True, text=True)


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.makedirs(f'{folder}/b/bench')
        tap.equal(run(folder).returncode, 1, 'no bench built: exit status 1')
        for name, body in (('one', 'echo BENCH fast 12 10 1.2 "<=1.2" ns; echo chatter; echo BENCH slow 30 10 3 "<=2" ns'),
                           ('two', 'echo BENCH more 50 10 5 ">=5" MB/s; echo SKIP peer not installed here; echo NOTE more the core was shared'), ('three', 'exit 3'), ('four', 'true')):
            with open(f'{folder}/b/bench/{name}', 'w') as file:
                file.write(f'#!/bin/sh\n{body}\n')
            os.chmod(f'{folder}/b/bench/{name}', 0o755)
        good = run(folder, 'one', 'two')
        with open(f'{folder}/bench.json') as file:
            document = json.load(file)
        tap.equal({r['name']: (r['ratio'], r['met']) for r in document['results']}, {'fast': (1.2, True), 'slow': (3, False), 'more': (5, True)},
                  'results with goals met and not met')
        tap.equal(document['skipped'], [dict(bench='two', name='peer', reason='not installed here')], 'an absent peer is skipped with its reason')
        tap.ok(document['notes'] == [dict(bench='two', name='more', text='the core was shared')] and 'NOTE more: the core was shared\n' in good.stdout,
               'what must be known of a row stands behind the table', good.stdout)
        tap.ok(good.returncode == 1 and '3 measured, 1 not met, 1 skipped, 0 faults' in good.stdout, 'closing line; a goal that is not met: exit status 1',
               good.stdout)
        met = run(folder, 'two')
        tap.ok(met.returncode == 0 and '1 measured, 0 not met, 1 skipped, 0 faults' in met.stdout, 'all goals met, a peer skipped: 0', met.stdout)
        bad = run(folder)
        tap.ok(bad.returncode == 1 and '2 faults' in bad.stdout, 'a bench that fails or prints nothing is a fault', bad.stdout)
    tap.done()


if __name__ == '__main__':
    main()
