"""TAP for the Python tests: ok(condition, name, why), skip(name, reason), done(). A test that ends because a program was not built says so in one line."""
import os
import sys

BUILD = os.environ.get('BUILD', 'build')
_build = os.path.abspath(BUILD)
_count = _failed = 0


def ok(condition, name, why=''):
    global _count, _failed
    _count += 1
    print(f'{"ok" if condition else "not ok"} {_count} - {name}', flush=True)
    if not condition:
        _failed += 1
        for line in str(why).splitlines()[:40]:
            print(f'# {line[:2000]}', flush=True)
    return bool(condition)


def equal(got, expected, name):
    return ok(got == expected, name, f'got      {got!r}\nexpected {expected!r}')


def skip(name, reason):
    global _count
    _count += 1
    print(f'ok {_count} - {name} # SKIP {reason}', flush=True)


def not_built(path):
    """What to say of a file of the build that is not there."""
    return f'{os.path.relpath(path)} was not built: make{"" if BUILD == "build" else " BUILD=" + BUILD} tests'


def _told(kind, error, trace):
    name = os.fsdecode(error.filename or '') if isinstance(error, FileNotFoundError) else ''
    path = os.path.join(_build, name) if name in ('cgtrace', 'cg-analyze') else os.path.abspath(name)  # those by the search path
    if path.startswith(_build + os.sep) and not os.path.exists(path):
        ok(False, not_built(path))
        print(f'1..{_count}', flush=True)
    else:
        sys.__excepthook__(kind, error, trace)


sys.excepthook = _told


def done():
    print(f'1..{_count}')
    sys.exit(1 if _failed or not _count else 0)
