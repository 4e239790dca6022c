"""TAP for the Python tests: ok(condition, name, why), skip(name, reason), done()."""
import sys

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


def done():
    print(f'1..{_count}')
    sys.exit(1 if _failed or not _count else 0)
