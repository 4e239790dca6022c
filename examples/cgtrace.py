"""cgtrace.h from Python, through ctypes: spans, scalars, statistics, captures that the program begins and ends.

    import cgtrace
    with cgtrace.span('train_step'):
        with cgtrace.span('forward'):
            ...
        cgtrace.scalar('loss', loss)

Without libcgtrace.so in the process every call does nothing. Functions are those of cgtrace.h without their prefix; where C gives a result
below zero, here CgtraceError is raised. Run the program with `cgtrace record -- python3 program.py`."""
import contextlib
import ctypes
from ctypes import CFUNCTYPE, POINTER, byref, c_char_p, c_double, c_float, c_int, c_int64, c_size_t, c_uint64, c_void_p

TRAIN, INFER = 1, 2
UNKNOWN = 2**64 - 1


class SessionInfo(ctypes.Structure):
    """struct cgtrace_session_info; what is not set is not given."""
    _fields_ = [('entrypoint', c_char_p), ('path', c_char_p), ('phase', c_int), ('capture_step', c_uint64), ('warmup_steps', c_uint64),
                ('correlation_id', c_char_p), ('own_measured', c_int), ('tags', c_void_p), ('tag_count', c_size_t), ('identity', c_void_p),
                ('contract', c_void_p)]


# The table's functions in its order, which never changes; None: not offered here.
FUNCTIONS = [
    ('version', CFUNCTYPE(c_char_p)),
    ('recording', CFUNCTYPE(c_int)),
    ('span_begin', CFUNCTYPE(c_int64, c_char_p)),
    ('span_begin_as', None),
    ('measured_begin', CFUNCTYPE(c_int64, c_char_p)),
    ('span_end', CFUNCTYPE(c_int, c_int64)),
    ('span_complete', None),
    ('now', CFUNCTYPE(c_int, POINTER(c_uint64))),
    ('from_monotonic', None),
    ('op', None),
    ('tensor', None),
    ('tensor_stats', None),
    ('tensor_values', CFUNCTYPE(c_int, c_char_p, POINTER(c_uint64), c_size_t, POINTER(c_float))),
    ('scalar', CFUNCTYPE(c_int, c_char_p, c_double)),
    ('alloc', None),
    ('free', None),
    ('device_memory', None),
    ('device_interval', None),
    ('gradient', None),
    ('call_edge', None),
    ('data_edge', None),
    ('tag', CFUNCTYPE(c_int, c_char_p, c_char_p)),
    ('identity', None),
    ('contract', None),
    ('capture_explicit_only', CFUNCTYPE(c_int)),
    ('session_begin', CFUNCTYPE(c_int, POINTER(SessionInfo), c_size_t)),
    ('session_finish', CFUNCTYPE(c_int, c_char_p, c_size_t)),
    ('session_fail', CFUNCTYPE(c_int, c_char_p, c_char_p, c_size_t)),
    ('flush', CFUNCTYPE(c_int)),
]


class CgtraceError(RuntimeError):
    def __init__(self, function, result):
        super().__init__(f'cgtrace_{function}: {result} (enum cgtrace_result in cgtrace.h)')
        self.result = result


def _table():
    """name -> function, of those that the library in this process has."""
    word = ctypes.sizeof(c_size_t)
    try:
        address = ctypes.addressof(c_size_t.in_dll(ctypes.CDLL(None), 'cgtrace_api_1'))
    except (ValueError, OSError):
        return {}
    size = c_size_t.from_address(address).value
    found = {}
    for i, (name, prototype) in enumerate(FUNCTIONS):
        if prototype and word * (i + 2) <= size:
            found[name] = prototype(c_void_p.from_address(address + word * (i + 1)).value)
    return found


_functions = _table()


def _call(name, *arguments):
    if name not in _functions:
        return 0
    result = _functions[name](*arguments)
    if isinstance(result, int) and result < 0:
        raise CgtraceError(name, result)
    return result


def _text(text):
    return None if text is None else text.encode()


def version():
    return (_call('version') or b'').decode()


def recording():
    return bool(_call('recording'))


@contextlib.contextmanager
def span(name, measured=False):
    """A span around what is inside; measured: the measured region of a session that gives its own."""
    number = _call('measured_begin' if measured else 'span_begin', name.encode())
    try:
        yield
    finally:
        _call('span_end', number)


def scalar(label, value):
    _call('scalar', label.encode(), float(value))


def values(label, shape, floats):
    """Statistics of values in row-major order: any iterable of numbers."""
    numbers = list(floats)
    _call('tensor_values', label.encode(), (c_uint64 * len(shape))(*shape), len(shape), (c_float * len(numbers))(*numbers))


def tag(key, value):
    _call('tag', key.encode(), value.encode())


def now():
    """Nanoseconds of the capture's clock."""
    ns = c_uint64()
    _call('now', byref(ns))
    return ns.value


def flush():
    _call('flush')


def capture_explicit_only():
    """From now on only session() captures."""
    _call('capture_explicit_only')


@contextlib.contextmanager
def session(entrypoint, step, warmup=None, phase=TRAIN, path=None, correlation_id=None, own_measured=False):
    """One capture around what is inside, finished as failed when that raises. Gives a list, which holds the trace's path afterwards."""
    info = SessionInfo(_text(entrypoint), _text(path), phase, step, UNKNOWN if warmup is None else warmup, _text(correlation_id), own_measured)
    _call('session_begin', byref(info), ctypes.sizeof(info))
    room, paths = ctypes.create_string_buffer(4096), []
    try:
        yield paths
    except BaseException as error:
        _call('session_fail', (f'{type(error).__name__}: {error}' or 'failed').encode()[:256], room, len(room))
        raise
    _call('session_finish', room, len(room))
    if room.value:
        paths.append(room.value.decode())
