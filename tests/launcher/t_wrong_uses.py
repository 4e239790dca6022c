#!/usr/bin/env python3
"""Wrong uses, as a table. Of both programs: each ends with its documented status and says on standard error what is wrong and what to do
instead, without a word on standard output and without running anything. Of the library: the program runs as without it, and one line
names the variable, its value and what is allowed."""
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(HERE, '..', 'tools'))
import tap  # noqa: E402
from harness import SANITIZED  # noqa: E402

BUILD = os.path.abspath(os.environ.get('BUILD', f'{ROOT}/build'))
TRACE = f'{ROOT}/tests/conformance/traces'

# words, status, the mistake as the message names it, the way out that it gives. T is a good trace, N a file that is none.
CGTRACE = [
    ('', 2, 'no command', 'cgtrace help'),
    ('recrod -- true', 2, 'recrod', 'did you mean record'),
    ('sh -c x', 2, 'sh', 'cgtrace record -- sh'),
    ('-x', 2, 'unknown option -x', 'cgtrace record -x'),
    ('help recrod', 2, 'recrod', 'did you mean record'),
    ('record', 2, 'no program named', 'cgtrace record [options] -- program'),
    ('record --', 2, 'no program named', '-- program'),
    ('record --ranges x -- true', 2, '--ranges', 'did you mean --range'),
    ('record --frobnicate -- true', 2, '--frobnicate', 'cgtrace record --help'),
    ('record -o x -- true', 2, '-o', 'cgtrace record --help'),
    ('record --output', 2, '--output needs a value', 'a path'),
    ('record --range --', 2, '--range needs a value', 'name of'),
    ('record --overflow maybe -- true', 2, 'maybe', 'drop|block'),
    ('record --ring-bytes 12 -- true', 2, '12', '64K to 256M'),
    ('record --ring-bytes lots -- true', 2, 'lots', '64K to 256M'),
    ('record --ring-bytes 99999999999999999999 -- true', 2, '99999999999999999999', '64K to 256M'),
    ('record --step 3 -- true', 2, 'CGTRACE_STEP', 'CGTRACE_RANGE'),
    ('record --range r --step a-b -- true', 2, 'a-b', '10-14,20'),
    ('record --range r --step 9-3 -- true', 2, '9-3', '10-14,20'),
    ('record --range r --step 2147483648 -- true', 2, '2147483648', 'from 1 to 2147483647'),
    ('record --tags nightly -- true', 2, 'CGTRACE_TAGS: nightly', 'key=value'),
    ('record --tags job=7,nightly -- true', 2, 'CGTRACE_TAGS: job=7,nightly', 'key=value'),
    ('record --tags =7 -- true', 2, 'CGTRACE_TAGS: =7', 'key=value'),
    ('record --sync sometimes -- true', 2, 'sometimes', 'both|start|end|off'),
    ('record --phase test -- true', 2, 'test', 'auto|train|infer'),
    ('record --budget 900 -- true', 2, '900', '1 to 100'),
    ('record --timing cupti -- true', 2, 'cupti', 'auto|events|off'),
    ('record --ranks some -- true', 2, 'some', '0,2,4-7'),
    ('record --record memory,everything -- true', 2, 'everything', 'memory|launch|copy'),
    ('record --identity /nowhere -- true', 2, '/nowhere', 'JSON file'),
    ('record --identity N -- true', 2, 'no JSON object', 'JSON file'),
    ('record --contract . -- true', 2, 'cannot be read', 'JSON file'),
    ('record --quiet=1 -- true', 2, '--quiet', 'takes no value'),
    ('record -- ./nothing', 127, './nothing', 'No such file'),
    ('record -- N', 126, 'N', 'Permission denied'),
    ('check', 2, 'no program named', 'cgtrace check program'),
    ('check a b', 2, 'b is a second word', 'one program'),
    ('check --fast a', 2, '--fast', '--help'),
    ('check nothing-here', 127, 'nothing-here', 'No such file'),
    ('doctor now', 2, 'now', 'cgtrace check now'),
]
CG_ANALYZE = [
    ('overviev T', 2, 'overviev', "did you mean 'overview'"),
    ('overview', 2, 'INPUT is missing', 'give a trace'),
    ('overview nothing.jsonl', 3, 'nothing.jsonl', 'No such file'),
    ('overview N', 3, ':1:1', 'expected a JSON object'),
    ('overview T T', 2, 'unexpected argument', 'cg-analyze help overview'),
    ('overview --colour T', 2, '--colour', 'cg-analyze help overview'),
    ('overview --format xml T', 2, 'xml', 'json, table, csv'),
    ('query T', 2, '--kind KIND is missing', 'cg-analyze help query'),
    ('query T --kind kernel', 2, 'kernel', "did you mean 'kernels'"),
    ('query T --kind', 2, '--kind needs a value', '--kind KIND'),
    ('query T --kind nonsense', 2, 'nonsense', 'slowest-host'),
    ('compare', 2, '--baseline BUNDLE is missing', 'cg-analyze help compare'),
    ('report T', 2, '--bundle DIR is missing', 'cg-analyze help report'),
    ('verify T', 1, 'not a bundle directory', 'Not a directory'),
    ('recover', 2, 'FILE.cgt is missing', 'cg-analyze help recover'),
    ('recover T', 3, 'not a capture file', 'T'),
    ('import .', 3, 'directory', 'trace.jsonl'),
    ('ranks T', 2, 'ranks', 'two ranks or more'),
    ('ranks T T', 3, 'no clock anchors', 'clock.first'),
    ('ranks T --collective', 2, '--collective needs a value', '--collective PREFIX'),
    ('index', 2, 'TRACE is missing', 'cg-analyze help index'),
    ('index N', 3, 'N:1:1', 'expected a JSON object'),
    ('convert T', 2, '--output TRACE is missing', 'cg-analyze help convert'),
    ('query T --kind idle --input nothing', 3, "'nothing'", 'no span is named'),
    ('query T --kind leaks --launch-gap-ns 5', 2, 'leaks has no --launch-gap-ns', 'leave it out'),
    ('query T --kind leaks --by colour', 2, 'colour', 'stack, span, category, size'),
    ('query T --kind leaks --suppressions nowhere', 3, 'nowhere', 'No such file'),
    ('query T --kind spans --limit 0', 2, '--limit', 'from 1 to 1000'),
    ('query T --kind spans --limit -1', 2, '--limit needs a value', '--limit=-'),
    ('export T --to svg', 2, 'svg', 'chrome, perfetto'),
    ('view T', 2, '--output FILE is missing', 'cg-analyze help view'),
    ('view T -o T', 2, 'refused as output', 'it is the input'),
    ('series', 2, 'missing', '--manifest or --bundle'),
    ('compare --baseline a --candidate b --fail-on worse', 2, 'worse', 'slower'),
    ('nsight-manifest .', 2, '--trace TRACE is missing', 'cg-analyze help nsight-manifest'),
    ('campaign-status --manifest N', 3, 'N: byte 1', 'expected an object'),
    ('help overviev', 2, 'overviev', "did you mean 'overview'"),
]
# Variables of the environment, the mistake and the way out. T and N as above.
LIBRARY = [
    (dict(CGTRACE_SYNC='sometimes'), 'CGTRACE_SYNC: sometimes', 'both|start|end|off'),
    (dict(CGTRACE_STEP='3'), 'CGTRACE_STEP: 3', 'only with CGTRACE_RANGE'),
    (dict(CGTRACE_RANGE='r', CGTRACE_STEP='0'), 'CGTRACE_STEP: 0', 'from 1 to 2147483647'),
    (dict(CGTRACE_RANKS='-1'), 'CGTRACE_RANKS: -1', 'from 0 to 2147483647'),
    (dict(CGTRACE_TAGS='nightly'), 'CGTRACE_TAGS: nightly', 'key=value'),
    (dict(CGTRACE_IDENTITY='/nowhere'), 'CGTRACE_IDENTITY: /nowhere', 'No such file'),
    (dict(CGTRACE_IDENTITY='N'), 'CGTRACE_IDENTITY: N', 'not one JSON object'),
    (dict(CGTRACE_CONTRACT='.'), 'CGTRACE_CONTRACT: .', 'not a file of 1 byte to 1 MiB'),
]


def library(folder, environment):
    command = [f'{BUILD}/examples/trainer', '3']
    environment = dict(environment, LD_LIBRARY_PATH=f'{BUILD}/sim', SIM_KERNELS=f'{BUILD}/examples/libtrainer_kernels.so')
    plain = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=60)
    for settings, mistake, way in LIBRARY:
        p = subprocess.run(command, cwd=folder, env=dict(environment, LD_PRELOAD=f'{BUILD}/libcgtrace.so', **settings), capture_output=True, text=True, timeout=60)
        good = (p.returncode, p.stdout) == (0, plain.stdout) and p.stderr.count('\n') == 1 and mistake in p.stderr and way in p.stderr
        tap.ok(good, f'the library with {" ".join(map("=".join, settings.items()))}', f'status {p.returncode}; {p.stderr!r}; out {p.stdout[:100]!r}')


def main():
    environment = {k: v for k, v in os.environ.items() if not k.startswith('CGTRACE_') and k != 'LD_PRELOAD'}
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(sorted(os.path.join(TRACE, n) for n in os.listdir(TRACE) if n.endswith('.jsonl'))[0], f'{folder}/T')
        with open(f'{folder}/N', 'w', encoding='utf-8') as file:
            file.write('hello\n')
        for name, table in (('cgtrace', CGTRACE), ('cg-analyze', CG_ANALYZE)):
            for words, status, mistake, way in table:
                words = ['./N' if w == 'N' and name == 'cgtrace' and words.endswith('-- N') else w for w in words.split()]
                p = subprocess.run([f'{BUILD}/{name}', *words], cwd=folder, env=environment, capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
                first = p.stderr.split('\n\n')[0]  # a usage may follow
                good = p.returncode == status and mistake in first and way in p.stderr and p.stdout == '' and first.strip().count('\n') == 0
                tap.ok(good, f'{name} {" ".join(words)}', f'status {p.returncode}, expected {status}; {p.stderr!r}; out {p.stdout[:100]!r}')
        if SANITIZED:
            tap.skip('the library', 'it is built with a sanitizer, whose runtime must be preloaded before it')
        else:
            library(folder, environment)
        left = sorted(os.listdir(folder))
        tap.equal(left, ['N', 'T'], 'nothing was run and no file was left')
    tap.done()


if __name__ == '__main__':
    main()
