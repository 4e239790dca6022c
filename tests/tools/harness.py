"""Runs a program on the simulated driver, with and without the recorder. Paths come from $BUILD (make sets it)."""
import atexit
import functools
import glob
import os
import shutil
import subprocess
import tempfile

BUILD = os.path.abspath(os.environ.get('BUILD', 'build'))
LIBRARY = f'{BUILD}/libcgtrace.so'
LIMIT_S = 600


def program(name):
    folder = 'examples' if name.startswith('trainer') else 'tests/programs'
    return f'{BUILD}/{folder}/{name}'


@functools.cache
def _sanitizer():
    """The sanitizer's runtime when the library was built with one: it must come before it in LD_PRELOAD."""
    needed = subprocess.run(['ldd', LIBRARY], capture_output=True, text=True).stdout
    return [line.split('=>')[1].split()[0] for line in needed.splitlines() if 'libasan' in line or 'libtsan' in line]


SANITIZED = bool(os.path.exists(LIBRARY) and _sanitizer())
THREAD_SANITIZED = SANITIZED and 'libtsan' in _sanitizer()[0]


def missing(words):
    """Why a program cannot be run here, None when it can."""
    if words[0] == 'trainer_cuda' and not os.path.exists(program(words[0])):
        return f'{words[0]} was not built (no nvcc)'
    if SANITIZED and words[0] == 'trainer_cuda':
        return 'a program of nvcc has no sanitizer, the simulated runtime has'
    if SANITIZED and any(word.startswith('plugin-deepbind') for word in words):
        return 'sanitizers refuse RTLD_DEEPBIND'
    if THREAD_SANITIZED and 'last-thread' in words:
        return "the sanitizer's own thread outlives the program's last one"
    if THREAD_SANITIZED and 'close-all' in words:
        return 'to close what another thread has open is a race to the sanitizer'
    return None


def preload(*libraries):
    """What LD_PRELOAD must be for these."""
    return ':'.join([*_sanitizer(), *libraries])


def environment(record, **more):
    """A clean environment: the caller's without settings of ours, the simulated driver's libraries first. None takes a variable out."""
    env = {k: v for k, v in os.environ.items() if not k.startswith(('CGTRACE_', 'SIM_', 'LD_'))}
    env.update(LD_LIBRARY_PATH=f'{BUILD}/sim', SIM_KERNELS=f'{BUILD}/tests/programs/lib_kernels.so', SIM_KERNEL_US='1', LC_ALL='C')
    if record:
        env.update(LD_PRELOAD=preload(LIBRARY), CGTRACE_QUIET='1')
    if SANITIZED:  # the programs end in every way, signals and memory not given back included
        env.update(ASAN_OPTIONS='detect_leaks=0:handle_segv=0:handle_abort=0', TSAN_OPTIONS='handle_segv=0:handle_abort=0:die_after_fork=0:report_signal_unsafe=0')
    for name, value in more.items():
        if value is None:
            env.pop(name, None)
        else:
            env[name] = str(value)
    return env


def fresh_folder(prefix):
    """An empty folder, which goes when the test ends."""
    folder = tempfile.mkdtemp(prefix=prefix)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


class Run:
    """What a program did: status (negative: killed by that signal), out, err, the traces it left, its ledgers."""

    def __init__(self, command, record=True, folder=None, **more):
        self.folder = folder or fresh_folder('cgtrace-test-')
        more.setdefault('SIM_LEDGER', f'{self.folder}/ledger.%p')
        os.makedirs(f'{self.folder}/work', exist_ok=True)
        result = subprocess.run(command, cwd=f'{self.folder}/work', env=environment(record, **more), stdin=subprocess.DEVNULL,
                                capture_output=True, timeout=LIMIT_S)
        self.status, self.out, self.err = result.returncode, result.stdout, result.stderr
        self.files = sorted(os.listdir(f'{self.folder}/work'))

    @property
    def traces(self):
        return sorted(glob.glob(f'{self.folder}/work/*.jsonl'))

    @property
    def ledgers(self):
        return sorted(glob.glob(f'{self.folder}/ledger.*'))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)
