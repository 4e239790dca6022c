"""cgtrace record: options become the environment, the program's end is ours, what cannot be recorded is refused beforehand."""
import os
import shutil
import signal
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', 'tools'))
import tap  # noqa: E402
from harness import THREAD_SANITIZED  # noqa: E402

BUILD = os.path.abspath(os.environ.get('BUILD', 'build'))
CGTRACE = f'{BUILD}/cgtrace'


def check(name, good, detail=''):
    tap.ok(good, name, detail)


def run(*words, **more):
    environment = {k: v for k, v in os.environ.items() if not k.startswith('CGTRACE_') and k != 'LD_PRELOAD'}
    environment.update(more.pop('env', {}))
    return subprocess.run([CGTRACE, *words], env=environment, capture_output=True, text=True, timeout=60, **more)


def expect(name, words, status, message=''):
    p = run(*words)
    check(name, p.returncode == status and message in p.stderr and p.stderr.count('\n') <= 1, f'{p.returncode} {p.stderr!r}')


def environment():
    p = run('record', '--output', 'a b.jsonl', '--ring-bytes=128K', '--quiet', '--tags', 'k=v', '--', 'env')
    seen = dict(line.split('=', 1) for line in p.stdout.splitlines() if '=' in line)
    check('options set their variables', [seen.get(f'CGTRACE_{n}') for n in ('OUTPUT', 'RING_BYTES', 'QUIET', 'TAGS')] ==
          ['a b.jsonl', '128K', '1', 'k=v'], seen)
    check('the library is preloaded', seen.get('LD_PRELOAD') == f'{BUILD}/libcgtrace.so', seen.get('LD_PRELOAD'))
    p = run('record', '--quiet', '--', 'env', env={'LD_PRELOAD': 'libm.so.6'})
    check('other preloaded libraries stay, behind it', f'LD_PRELOAD={BUILD}/libcgtrace.so:libm.so.6' in p.stdout.splitlines(), p.stdout)


def wrong_uses():
    expect('no command', [], 2, 'no command')
    expect('unknown command', ['trainer'], 2, 'cgtrace record -- program')
    expect('controls in a word', [b'a\n\x1b]0;x\xc2\x9b\xff'], 2, 'unknown command a\\x0a\\x1b]0;x\\x9b\\xff')
    expect('unknown option', ['record', '--colour', '--', 'true'], 2, 'unknown option --colour')
    expect('short option', ['record', '-x', '--', 'true'], 2, 'unknown option -x')
    expect('option without its value', ['record', '--output', '--', 'true'], 2, '--output needs a value')
    expect('flag with a value', ['record', '--quiet=1', '--', 'true'], 2, '--quiet takes no value')
    expect('value that is not allowed', ['record', '--overflow', 'maybe', '--', 'true'], 2, 'drop|block')
    expect('no program', ['record', '--quiet'], 2, 'no program named')
    expect('program that is not there', ['record', '--', './nothing-here'], 127, 'cannot run ./nothing-here')
    with tempfile.NamedTemporaryFile('w') as f:
        f.write('not executable')
        f.flush()
        expect('file that may not be run', ['record', '--', f.name], 126, 'Permission denied')


def obstacles(folder):
    source = f'{folder}/still.c'
    with open(source, 'w') as f:
        f.write('int main(void) { return 0; }\n')
    static = f'{folder}/still'
    if subprocess.run(['cc', '-static', '-o', static, source], capture_output=True).returncode:
        tap.skip('statically linked program', 'no static libc here')
    else:
        expect('statically linked program', ['record', '--', static], 3, 'is statically linked')
        script = f'{folder}/script'
        with open(script, 'w') as f:
            f.write(f'#!{static}\n')
        os.chmod(script, 0o755)
        expect('script with a static interpreter', ['record', '--', script], 3, 'is statically linked')
    other = f'{folder}/other'
    shutil.copy('/bin/true', other)
    with open(other, 'r+b') as f:
        f.seek(18)
        f.write((8).to_bytes(2, sys.byteorder))  # EM_MIPS
    expect('program of another architecture', ['record', '--', other], 3, 'another architecture')
    if os.geteuid() == 0:
        set_user = f'{folder}/set-user'
        shutil.copy('/bin/true', set_user)
        os.chown(set_user, 1, 1)
        os.chmod(set_user, 0o4755)
        expect('set-user-id program', ['record', '--', set_user], 3, 'more rights than its caller')
    else:
        tap.skip('set-user-id program', 'needs root')


def ends():
    expect('exit status', ['record', '--', 'sh', '-c', 'exit 37'], 37)
    for number in (signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM):
        # A sanitizer that the library is built with would take SIGSEGV as its own.
        p = run('record', '--', 'sh', '-c', f'kill -{int(number)} $$', env={'ASAN_OPTIONS': 'handle_segv=0', 'TSAN_OPTIONS': 'handle_segv=0'})
        check(f'end by {number.name}', p.returncode == -number, p.returncode)
    name = 'a signal sent to the launcher reaches the program'
    if THREAD_SANITIZED:
        tap.skip(name, 'the sanitizer holds signals back while the launcher waits')
    else:
        p = subprocess.Popen([CGTRACE, 'record', '--', 'sh', '-c', 'trap "echo caught; exit 5" TERM; echo ready; while :; do sleep 0.05; done'],
                             stdout=subprocess.PIPE, text=True)
        p.stdout.readline()
        p.send_signal(signal.SIGTERM)
        out, _ = p.communicate(timeout=30)
        check(name, (p.returncode, out) == (5, 'caught\n'), (p.returncode, out))
    p = run('record', '--', 'cat', input='through\n')
    check('standard input and output pass through', p.stdout == 'through\n', p.stdout)


def deaths(folder):
    """A killed program: the reason is written down, and recovery states it."""
    command = [CGTRACE, 'record', '--output', 'x.jsonl', '--', f'{BUILD}/tests/programs/endings', 'kill']
    environment = dict(os.environ, LD_LIBRARY_PATH=f'{BUILD}/sim', CGTRACE_QUIET='1')
    p = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, timeout=60)
    check('the program was killed', p.returncode == -signal.SIGKILL, (p.returncode, p.stderr))
    note = f'{folder}/x.jsonl.cgt.end'
    check('how it died is written beside the capture file', os.path.exists(note) and open(note).read().startswith('killed by signal 9 (SIGKILL)'),
          os.listdir(folder))
    subprocess.run([f'{BUILD}/cg-analyze', 'recover', f'{folder}/x.jsonl.cgt', '--output', f'{folder}/r.jsonl'], check=True, capture_output=True)
    last = open(f'{folder}/r.jsonl').read().splitlines()[-1]
    check('recovery states it', '"outcome":"failed"' in last and 'killed by signal 9 (SIGKILL)' in last, last)


def no_trace(folder):
    """A program that never calls CUDA is told of, and only such a one."""
    def record(*words, cwd='w', **env):
        os.makedirs(f'{folder}/{cwd}', exist_ok=True)
        p = run('record', *words, cwd=f'{folder}/{cwd}', env=dict(LD_LIBRARY_PATH=f'{BUILD}/sim', **env))
        return p.returncode, p.stderr

    def told(where, why='a program that makes no CUDA call leaves none'):
        return f'cgtrace: no trace in {os.path.realpath(f"{folder}/{where}")}: {why}\n'
    endings, trainer = f'{BUILD}/tests/programs/endings', f'{BUILD}/examples/trainer_nvtx'
    quiet = dict(CGTRACE_QUIET='1')
    tap.equal(record('--', 'sh', '-c', 'exit 7'), (7, told('w')), 'no CUDA call: one line, and the exit status is the program\'s')
    tap.equal(record('--', 'sh', '-c', 'kill -9 $$'), (-9, told('w')), 'nor when it is killed')
    tap.equal(record('--range', 'step', '--', 'true'), (0, told('w', 'no such region was captured, or the program made no CUDA call')), 'with a region')
    tap.equal(record('--', 'sh', '-c', 'echo text > other.jsonl; exit 1'), (1, told('w')), 'what else it wrote is no trace')
    tap.equal(record('--dir', 'traces', '--', 'true')[1], 'cgtrace: no trace in traces/: a program that makes no CUDA call leaves none\n',
              'in a folder that nobody has made')
    tap.equal([record('--quiet', '--', 'true'), record('--', 'true', **quiet), record('--disable', '--', 'true'), record('--ranks', '1', '--', 'true', RANK='0')],
              [(0, '')] * 4, 'quiet, disabled, or of a rank that does not record: nothing')
    tap.equal(record('--', 'sh', '-c', 'echo > t.jsonl.part')[1], '', 'there is a part of a trace: nothing')
    tap.equal(record('--', 'sh', '-c', 'exit 127')[1], '', 'of a program that was not found nothing more')
    tap.equal(record('--dir', 'by-%r', '--', 'true')[1], '', 'where traces are is not known beforehand: nothing')
    # Traces of any name, of any child, finished or not. The library's own line is the only one then.
    for name, words in (('a trace', ['--', trainer]), ('a trace again, in its place', ['--output', 'x', '--', trainer]),
                        ('the same name', ['--output', 'x', '--', trainer]), ("a child's trace", ['--', 'sh', '-c', f'{trainer}; exit 3'])):
        status, err = record(*words)
        check(f'{name}: no such line', 'no trace in' not in err and ' records, ' in err and err.count('\n') == 1, err)
    for name, words in (('a capture file', [endings, 'kill']), ('a capture file that a child left', ['sh', '-c', f'{endings} kill; exit 4'])):
        status, err = record('--', *words)
        check(f'{name}: no such line', 'no trace in' not in err, err)


def full_disk():
    for words in (['--help'], ['--version'], ['help', 'record'], ['record', '--help'], ['doctor'], ['check', '/bin/cat'], ['check', '--help']):
        with open('/dev/full', 'w') as full:
            p = subprocess.run([CGTRACE, *words], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
        check(f'nowhere to write what {" ".join(words)} says',
              (p.returncode, p.stderr) == (5, 'cgtrace: standard output: cannot write: No space left on device\n'), (p.returncode, p.stderr))
    with open('/dev/full', 'w') as full:
        p = subprocess.run([CGTRACE, 'record', '--', 'sh', '-c', 'exit 7'], stdout=full, timeout=60)
    check("a program's status with nowhere to write", p.returncode == 7, p.returncode)


with tempfile.TemporaryDirectory() as folder:
    full_disk()
    no_trace(folder + '/none')
    deaths(folder)
    environment()
    wrong_uses()
    obstacles(folder)
    ends()
    check('help names every option', all(o in run('record', '--help').stdout for o in ('--output VALUE', '--ring-bytes', 'CGTRACE_OVERFLOW')))
tap.done()
