#!/usr/bin/env python3
"""Runs every test (build/tests/unit/test_* and tests/*/t_*.{py,sh}), reads their TAP, prints one closing line.

usage: run.py [WORD...]   only tests whose path contains one of the words
A test that exits non-zero, prints no plan or fewer results than planned counts as failed, so does a skipped one without a reason.
"""
import concurrent.futures, contextlib, glob, os, re, signal, subprocess, sys, time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), 'tools'))
from tap import not_built  # noqa: E402

BUILD = os.environ.get('BUILD', 'build')
LIMIT_S = 1500
SAID = 20  # lines of a test's about its failures
running = set()  # the tests' process groups
RESULT = re.compile(r'^(not )?ok\b\s*\d*\s*-?\s*(.*)$')


def find():
    sources = [f'{BUILD}/{p[:-2]}' for p in glob.glob('tests/unit/test_*.c')]  # built or not
    tests = sorted({*sources, *(p for p in glob.glob(f'{BUILD}/tests/unit/test_*') if os.access(p, os.X_OK) and not p.endswith('.d'))})
    tests += sorted(glob.glob('tests/*/t_*.py') + glob.glob('tests/*/t_*.sh'))
    words = sys.argv[1:]
    return [t for t in tests if not words or any(w in t for w in words)]


def run(path):
    if not os.path.exists(path):
        return path, 1, f'1..1\nnot ok 1 - {not_built(path)}\n', 0.0
    command = {'.py': [sys.executable, path], '.sh': ['bash', path]}.get(os.path.splitext(path)[1], [path])
    # A sanitizer's runtime comes second in programs that preload what was built with it, and are not.
    env = {'ASAN_OPTIONS': 'verify_asan_link_order=0', **os.environ, 'BUILD': BUILD, 'CMOCKA_MESSAGE_OUTPUT': 'TAP', 'PYTHONPATH': os.getcwd()}
    begin = time.monotonic()
    # In a group of its own: what it leaves behind, above all where it hangs, ends with it.
    with subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True) as p:
        running.add(p.pid)
        try:
            output, code = p.communicate(timeout=LIMIT_S)[0], p.returncode
        except subprocess.TimeoutExpired as e:
            output, code = e.stdout or b'', f'timeout after {LIMIT_S} s'
        finally:
            running.discard(p.pid)
            end(p.pid)
    return path, code, output.decode(errors='replace'), time.monotonic() - begin


def end(group):
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


def skip(bad, text, before):
    """The name of a skipped test and why, None where it was not skipped or does not say why. As a result says it, "ok 1 - name # SKIP reason",
    or as cmocka does after skip_because(): "# skipped: reason", then "not ok 1 # SKIP name"."""
    if not bad:
        return text if re.search(r'# SKIP \S', text) else None
    name, reason = re.match('# SKIP (.+)', text), re.match('# skipped: (.+)', before)
    return f'{name[1]} # SKIP {reason[1]}' if name and reason else None


def judge(code, output):
    """(passed, failed, skipped, failures' names and what is said of them, reasons of skips) of one test's TAP."""
    passed = failed = skipped = said = 0
    names, reasons, plan, before = [], [], None, ''
    says = False  # what stands here as a comment is said of a failure
    for line in output.splitlines():
        failures = len(names)
        if m := re.match(r'^1\.\.(\d+)', line):
            plan = int(m.group(1)) + (plan or 0)
        elif m := RESULT.match(line):
            bad, text = m.groups()
            if left_out := skip(bad, text, before):
                skipped += 1
                reasons.append(left_out)
            elif bad or '# SKIP' in text:
                failed += 1
                names.append(text)
            else:
                passed += 1
        elif line.startswith('#') and says and said < SAID:
            names.append(line[:1000])
            said += 1
        says = len(names) > failures or says and line.startswith('#')
        before = line
    seen = passed + failed + skipped
    if plan is None or seen != plan:
        failed += 1
        names.append(f'{seen} results of {plan} planned')
    if code != 0 and failed == 0:
        failed += 1
        names.append(f'exit status {code}')
    return passed, failed, skipped, names, reasons


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    total = [0, 0, 0]
    tests = find()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        try:
            for path, code, output, seconds in pool.map(run, tests):
                passed, failed, skipped, names, reasons = judge(code, output)
                for i, n in enumerate((passed, failed, skipped)):
                    total[i] += n
                print(f'{"FAIL" if failed else "ok":4} {path}: {passed} passed, {failed} failed, {skipped} skipped ({seconds:.1f} s)', flush=True)
                for reason in reasons:
                    print(f'     SKIP {reason}')
                if failed:
                    for name in names:
                        print(f'       {name}' if name.startswith('#') else f'     not ok: {name}')
                    print(''.join(f'     | {l}\n' for l in output.splitlines()[-60:]), end='', flush=True)
        finally:  # interrupted: theirs are other groups than ours
            for group in list(running):
                end(group)
    print(f'{total[0]} passed, {total[1]} failed, {total[2]} skipped')
    return 1 if total[1] or not total[0] else 0


if __name__ == '__main__':
    sys.exit(main())
