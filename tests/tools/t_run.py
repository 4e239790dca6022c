#!/usr/bin/env python3
"""run.py: what counts as passed, failed and skipped; what a test leaves behind ends with it, whether the test ended, ran into its limit, or
the whole was interrupted."""
import os
import runpy
import signal
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import tap  # noqa: E402

RUN = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'run.py')
LIMITED = f'import runpy, sys; limit = float(sys.argv[1]); sys.argv[:] = ["run.py"]; run = runpy.run_path({RUN!r}); run["run"].__globals__["LIMIT_S"] = limit; sys.exit(run["main"]())'
HANGS_S = 60
LEAVES = 'sleep 1000 >/dev/null 2>&1 & echo $! > left.new; mv left.new left; '


def alive(pid):
    with open(f'/proc/{pid}/stat', encoding='utf-8') as file:
        return file.read().rsplit(')', 1)[1].split()[0] != 'Z'


def ended(pid):
    """Whether it is gone, once the kernel has had its time."""
    end = time.monotonic() + HANGS_S
    try:
        while alive(pid):
            if time.monotonic() > end:
                os.kill(pid, signal.SIGKILL)
                return False
            time.sleep(0.01)
    except (FileNotFoundError, ProcessLookupError):  # not there, or gone between its file's opening and reading
        pass
    return True


def leaves(script, name, status, said, interrupt=None, limit=HANGS_S):
    with tempfile.TemporaryDirectory(prefix='cgtrace-run-') as folder:
        os.makedirs(f'{folder}/tests/x')
        with open(f'{folder}/tests/x/t_x.sh', 'w', encoding='utf-8') as file:
            file.write(script)
        while not os.path.exists(f'{folder}/left'):  # again where the limit came before its child
            with subprocess.Popen([sys.executable, '-c', LIMITED, str(limit)], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as p:
                if interrupt:
                    while not os.path.exists(f'{folder}/left'):
                        time.sleep(0.01)
                    p.send_signal(interrupt)
                out, _ = p.communicate(timeout=2 * HANGS_S)
            limit *= 2
        with open(f'{folder}/left', encoding='utf-8') as file:
            pid = int(file.read())
        tap.ok(p.returncode == status and said in out, f'{name}: what is said of it', (p.returncode, out))
        tap.ok(ended(pid), f'{name}: its child has ended')


def unbuilt():
    """A unit test, and programs of other tests, that were not built: a line each, and the status of a failure."""
    with tempfile.TemporaryDirectory(prefix='cgtrace-run-') as folder:
        for part in ('unit', 'x'):
            os.makedirs(f'{folder}/tests/{part}')
        open(f'{folder}/tests/unit/test_y.c', 'w', encoding='utf-8').close()
        head = f'import subprocess, sys; sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r}); import tap; tap.ok(True, "before"); '
        for name, command in (('a', 'out/tests/a/program'), ('b', 'cg-analyze'), ('c', '/nowhere/program')):
            with open(f'{folder}/tests/x/t_{name}.py', 'w', encoding='utf-8') as file:
                file.write(f'{head}subprocess.run([{command!r}], env=dict(PATH="/nowhere"))\n')
        p = subprocess.run([sys.executable, RUN], cwd=folder, env={**os.environ, 'BUILD': 'out'}, stdout=subprocess.PIPE, text=True)
    said = [line for line in p.stdout.splitlines() if line.startswith('     not ok: ')]
    tap.equal(said, [f'     not ok: out/{name} was not built: make BUILD=out tests' for name in ('tests/unit/test_y', 'tests/a/program', 'cg-analyze')] +
              ['     not ok: 1 results of None planned'], 'what was not built: a line that says what to make')
    tap.equal((p.stdout.count('Traceback'), p.stdout.count('FileNotFoundError'), p.stdout.splitlines()[-1], p.returncode), (1, 1, '3 passed, 4 failed, 0 skipped', 1),
              'it fails; what is missing elsewhere is told as before')


judge = runpy.run_path(RUN)['judge']
for name, code, output, counts, reasons in [
        ('passed and failed', 1, '1..2\nok 1 - a\nnot ok 2 - b\n', (1, 1, 0), []),
        ('skipped', 0, '1..1\nok 1 - a # SKIP no b here\n', (0, 0, 1), ['a # SKIP no b here']),
        ('skipped by cmocka', 0, '1..2\n# skipped: no b here\nnot ok 1 # SKIP a\nok 2 - c\n', (1, 0, 1), ['a # SKIP no b here']),
        ('skipped without a reason', 0, '1..1\nok 1 - a # SKIP\n', (0, 1, 0), []),
        ('skipped by cmocka without a reason', 0, '1..1\nnot ok 1 # SKIP a\n', (0, 1, 0), []),
        ('fewer than planned', 0, '1..2\nok 1 - a\n', (1, 1, 0), []),
        ('no plan', 0, 'ok 1 - a\n', (1, 1, 0), []),
        ('died after its results', -11, '1..1\nok 1 - a\n', (1, 1, 0), [])]:
    *got, _, got_reasons = judge(code, output)
    tap.equal((tuple(got), got_reasons), (counts, reasons), name)
names = judge(1, '1..3\n# before\nok 1 - a\n# of a\nnot ok 2 - b\n# of b\n# more\n# skipped: no d\nnot ok 3 # SKIP c\n# after\n')[3]
tap.equal(names, ['b', '# of b', '# more', '# skipped: no d'], 'what is said of a failure stands beside its name')
leaves(f'{LEAVES}echo 1..1; echo ok 1', 'a test that passes', 0, '1 passed, 0 failed, 0 skipped')
leaves(f'echo 1..1; {LEAVES}wait', 'a test that hangs', 1, '0 results of 1 planned', limit=1)
unbuilt()
leaves(f'{LEAVES}wait', 'interrupted', 128 + signal.SIGTERM, '', signal.SIGTERM)
tap.done()
