#!/usr/bin/env python3
"""The command line: forms of options, mistakes and what is said about them, help (doc/spec/cli.md 1.2, 1.6)."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cli import Folder, done, equal, ok, read, region, run  # noqa: E402

folder = Folder()
TRACE = folder.put('t.jsonl', region())

# ---- forms of one option ----
expected = run('import', TRACE)[1]
for number, words in enumerate((['--output', 'F'], ['--output=F'], ['-o', 'F'], ['-oF'], ['-o=F'])):
    path = folder(f'out{number}')
    status, out, err = run('import', TRACE, *[w.replace('F', path) for w in words])
    equal((status, out, err, read(path).decode()), (0, '', '', expected), f'{" ".join(words)} writes F and nothing else')
status, out, err = run('import', '-o', '-', TRACE)
equal((status, out), (0, expected), '-o - is standard output')
equal(run('import', '--', TRACE)[:2], (0, expected), 'after -- everything is a path')
dashed = folder.put('-t.jsonl', region())
equal(run('import', '--', '-t.jsonl', cwd=folder.path)[0], 0, 'after -- a path may begin with a dash')
equal(run('query', TRACE, '--kind', 'tensor-stats', '--label', '')[0], 0, 'an empty label is accepted')
equal(run('query', TRACE, '--kind', 'tensor-stats', '--label-prefix=')[0], 0, 'an empty prefix is accepted')
equal(run('query', TRACE, '--kind', 'tensor-stats', '--label=-x')[0], 0, 'a value may begin with a dash behind =')

# ---- mistakes: status 2, nothing on standard output, one line that names the mistake and the way out ----
MISTAKES = [
    ('abbreviated option', ['import', TRACE, '--out', 'x'], "unknown option '--out': did you mean '--output'?"),
    ('unknown option', ['import', TRACE, '--zebra'], "unknown option '--zebra' (see 'cg-analyze help import')"),
    ('unknown short option', ['import', TRACE, '-x'], "unknown option '-x'"),
    ('mistyped option', ['query', TRACE, '--lable', 'x'], "did you mean '--label'?"),
    ('option given twice', ['import', TRACE, '-o', 'a', '--output=b'], '--output is given twice'),
    ('flag given twice', ['summary', TRACE, '--require-valid', '--require-valid'], '--require-valid is given twice'),
    ('flag with a value', ['summary', TRACE, '--require-valid=yes'], '--require-valid takes no value'),
    ('option without value', ['import', TRACE, '--output'], '--output needs a value'),
    ('option before another', ['query', TRACE, '--label', '--kind', 'spans'], '--label needs a value'),
    ('empty path', ['import', TRACE, '--output='], '--output needs a path'),
    ('empty input', ['import', ''], 'INPUT needs a path'),
    ('two inputs', ['import', TRACE, TRACE], 'unexpected argument'),
    ('positional where none is', ['protocol', 'x'], "unexpected argument 'x'"),
    ('kind missing', ['query', TRACE], '--kind KIND is missing'),
    ('kind unknown', ['query', TRACE, '--kind', 'zzz'], "--kind has no 'zzz': it is one of slowest-host, "),
    ('kind mistyped', ['query', TRACE, '--kind', 'spnas'], "did you mean 'spans'?"),
    ('kind in capitals', ['query', TRACE, '--kind', 'Spans'], "did you mean 'spans'?"),
    ('label and prefix', ['query', TRACE, '--kind', 'spans', '--label', 'a', '--label-prefix', 'b'], 'exclude each other'),
    ('label on a kind without', ['query', TRACE, '--kind', 'memory', '--label', 'a'], '--kind memory has no --label'),
    ('prefix on a kind without', ['query', TRACE, '--kind', 'heaviest', '--label-prefix', 'a'], 'has no --label-prefix'),
    ('limit on a kind without', ['query', TRACE, '--kind', 'capabilities', '--limit', '5'], 'has no --limit'),
    ('offset on a kind without', ['query', TRACE, '--kind', 'gpu-kernels', '--offset', '5'], 'has no --offset'),
    ('all on a kind without', ['query', TRACE, '--kind', 'memory', '--all', '-o', folder('n')], 'has no --all'),
    ('limit 0', ['query', TRACE, '--kind', 'spans', '--limit', '0'], 'from 1 to 1000'),
    ('limit 1001', ['query', TRACE, '--kind', 'spans', '--limit', '1001'], 'from 1 to 1000'),
    ('limit not a number', ['query', TRACE, '--kind', 'spans', '--limit', '1e2'], "not '1e2'"),
    ('limit empty', ['query', TRACE, '--kind', 'spans', '--limit='], "not ''"),
    ('offset negative', ['query', TRACE, '--kind', 'spans', '--offset=-1'], "not '-1'"),
    ('offset over 2^64-1', ['query', TRACE, '--kind', 'spans', '--offset', '18446744073709551616'], 'whole number'),
    ('all without output', ['query', TRACE, '--kind', 'spans', '--all'], '--all needs --output'),
    ('all with limit', ['query', TRACE, '--kind', 'spans', '--all', '--limit', '3', '-o', 'x'], 'exclude each other'),
    ('all with offset', ['query', TRACE, '--kind', 'spans', '--all', '--offset', '3', '-o', 'x'], 'exclude each other'),
    ('label that is not UTF-8', ['query', TRACE, '--kind', 'spans', '--label', b'\xff'], 'is not UTF-8'),
    ('unknown format', ['query', TRACE, '--kind', 'spans', '--format', 'jsn'], "did you mean 'json'?"),
    ('csv of no rows', ['query', TRACE, '--kind', 'gpu-status', '--format', 'csv'], 'no list of rows'),
    ('input missing', ['overview'], 'INPUT is missing'),
]
for name, words, message in MISTAKES:
    status, out, err = run(*words, cwd=folder.path)
    ok(status == 2 and out == '' and message in err and err.count('\n') == 1 and err.startswith('cg-analyze: '),
       name, f'status {status}\nstdout {out!r}\nstderr {err!r}\nwanted {message!r}')
ok(not os.path.exists(folder('n')) and not os.path.exists(folder('x')), 'mistakes create no file')
equal(run('query', TRACE, '--kind', 'spans', '--offset', '18446744073709551615')[0], 0, 'offset 2^64-1 is accepted')
equal([run('query', TRACE, '--kind', 'spans', '--limit', n)[0] for n in ('1', '1000')], [0, 0], 'limits 1 and 1000 are accepted')

# ---- a wrong use is told before the input is looked at ----
equal(run('query', '/nowhere', '--kind', 'memory', '--label', 'x')[0], 2, 'a filter where none is comes before a missing input')

# ---- commands ----
status, out, err = run()
ok(status == 2 and out == '' and err.startswith('usage: '), 'no command: usage on standard error, status 2', err)
status, out, err = run('ovreview')
ok(status == 2 and out == '' and "did you mean 'overview'?" in err.splitlines()[0] and 'usage: ' in err,
   'unknown command: suggestion and usage', err)
status, out, err = run('xyzzy')
ok(status == 2 and out == '' and "unknown command 'xyzzy'" in err.splitlines()[0], 'unknown command without suggestion', err)
equal(run(b'a\n\x1b]0;x\xc2\x9b\xff\xe3\x81')[2].splitlines()[:2], ["cg-analyze: unknown command 'a\\x0a\\x1b]0;x\\x9b\\xff\\xe3\\x81'", ''],
      'an unknown command on one line of UTF-8, its controls shown')
equal(run('recover', b'/no/\xfe\x9b\xc3\xa9')[2], 'cg-analyze: /no/\\xfe\\x9bé: No such file or directory\n', 'and a path')
equal(run('query', TRACE, '--kind', 'spans', '--label', 'measured\n')[2], "cg-analyze: no row is named 'measured\\x0a': did you mean 'measured'?\n", 'a label too')
status, out, err = run('--verison')
ok(status == 2 and "unknown option '--verison'" in err, 'unknown option before a command', err)
equal(run('help', 'nothing')[0], 2, 'help of an unknown command: status 2')
equal(run('help', 'import', 'query')[0], 2, 'help of two commands: status 2')

# ---- help and version ----
VERSION = read(os.path.join(os.path.dirname(os.path.abspath(__file__)), '..', '..', 'VERSION')).decode().strip()
for word in ('-V', '--version'):
    equal(run(word), (0, f'cg-analyze {VERSION}\n', ''), word)
equal(run('import', '-V')[0], 2, '-V only before a command')
general = run('--help')
ok(general[0] == 0 and general[2] == '' and all(c in general[1] for c in ('import', 'query', 'protocol')), '--help', general)
equal((run('-h'), run('help')), (general, general), '-h and help are the same')
for command in ('import', 'query', 'protocol'):
    text = run('help', command)
    ok(text[0] == 0 and text[1].startswith(f'usage: cg-analyze {command}') and text[2] == '', f'help {command}')
    equal((run(command, '--help'), run(command, '-h', '--zebra')), (text, text), f'{command} --help, and nothing after it is looked at')
    statuses = [line.split()[0] for line in text[1].split('exit status:')[1].split('examples:')[0].splitlines() if line.strip()]
    ok({'0', '2', '3', '5'} <= set(statuses), f'help {command} documents the exit statuses', statuses)
    ok(all(len(line) <= 80 or line.startswith('  cg-') or '|' in line for line in text[1].splitlines()), f'help {command} fits 80 columns',
       [l for l in text[1].splitlines() if len(l) > 80])
equal(run('nothing', '--help')[0], 2, '--help of an unknown command: status 2')
done()
