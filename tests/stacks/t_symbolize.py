#!/usr/bin/env python3
"""symbolize: what addr2line says of each frame is what is expected; debug information in the program, apart from it, elsewhere or nowhere."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'tools'))
import tap  # noqa: E402
from check_trace import check  # noqa: E402
from harness import BUILD, SANITIZED, Run, environment  # noqa: E402

ANALYZE = f'{BUILD}/cg-analyze'
INLINED = f'{BUILD}/tests/stacks/inlined'
LINES = ['cuMemAlloc(at, bytes);', 'innermost(at, static_cast<size_t>(bytes));', 'between(at, more);', 'inlined::around(&at, 100);']


def call(*words, **more):
    return subprocess.run(words, capture_output=True, text=True, check=True, **more).stdout


def symbolize(*words, status=0, **more):
    done = subprocess.run([ANALYZE, 'symbolize', *words], capture_output=True, text=True, **more)
    tap.equal(done.returncode, status, f'symbolize {" ".join(os.path.basename(w) for w in words)}: status')
    return done


def frames_of(path):
    with open(path, encoding='utf-8') as file:
        return [frame for line in map(json.loads, file) for frame in line.get('stack', {}).get('frames', [])]


def build_id(path):
    return re.search(r'Build ID: (\w+)', call('readelf', '-n', path)).group(1)


def expected(path, frame):
    """[(file, line)] of a frame, the innermost first, by addr2line (whose names of inlined functions are those of the function around them)."""
    words = call('addr2line', '-i', '-e', path, hex(frame['offset'] - 1)).split('\n')[:-1]
    found = []
    for where in words:
        file, line = re.match(r'(.*):(\d+|\?)', where).groups()
        found.append((os.path.normpath(file), line))
    return found


def got(frame):
    return [(os.path.normpath(s.get('file', '??')), str(s.get('line', '?'))) for s in frame.get('source', [])]


class Folder:
    """A program of its own in a folder of its own, and its trace."""

    def __init__(self, program=INLINED, name='program'):
        self.path = tempfile.mkdtemp(prefix='cgtrace-symbolize-')
        self.program = f'{self.path}/{name}'
        shutil.copy(program, self.program)
        self.trace = f'{self.path}/t.jsonl'

    def record(self):
        subprocess.run([self.program], env=environment(True, CGTRACE_OUTPUT=self.trace), check=True, stdout=subprocess.DEVNULL)
        return self

    def mine(self, path):
        return [frame for frame in frames_of(path) if frame.get('module') == os.path.realpath(self.program)]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.path, ignore_errors=True)


def same_but_for_sources(before, after):
    """Every line is what it was, once the sources are taken out."""
    with open(before, 'rb') as a, open(after, 'rb') as b:
        return re.sub(rb',"source":\[\{.*?\}\]', b'', b.read()) == a.read()


def inside():
    with Folder() as f:
        f.record()
        out = f'{f.path}/out.jsonl'
        done = symbolize(f.trace, '-o', out)
        frames = f.mine(out)[:2]
        tap.equal([got(x) for x in frames], [expected(f.program, x) for x in frames], 'inlined: files and lines are those of addr2line')
        tap.equal([len(x['source']) for x in frames], [3, 1], 'inlined: three functions in one frame')
        with open(f'{HERE}/inlined.cc', encoding='utf-8') as file:
            text = file.read().split('\n')
        tap.equal([text[s['line'] - 1].strip() for x in frames for s in x['source']], LINES, 'inlined: the lines are those of the calls')
        tap.equal([s['function'] for s in frames[0]['source']],
                  ['inlined::innermost', 'void inlined::between<long>(unsigned long long*, long)',
                   'inlined::around(unsigned long long*, long)'], 'inlined: names are demangled')
        tap.equal([s.get('mangled') for s in frames[0]['source']],
                  [None, '_ZN7inlined7betweenIlEEvPyT_', None], 'inlined: and kept, where the symbol does not say so')
        tap.ok(same_but_for_sources(f.trace, out), 'inlined: every other byte is as it was')
        tap.equal(check(out), [], 'inlined: a valid trace')
        counts = re.search(r'(\d+) frames: (\d+) with a line', done.stderr)
        tap.ok(counts and int(counts.group(1)) == len(frames_of(out)) and int(counts.group(2)) >= 2, 'inlined: what was found is told', done.stderr)
        again = f'{f.path}/again.jsonl'
        symbolize(out, '-o', again)
        with open(out, 'rb') as a, open(again, 'rb') as b:
            tap.ok(a.read() == b.read(), 'done again: the same')
        with open(f.trace, encoding='utf-8') as file:
            stdin = symbolize('-', stdin=file)
        with open(out, encoding='utf-8') as file:
            tap.ok(file.read() == stdin.stdout, 'standard input to standard output: the same')
        symbolize(f.trace, '-o', f.trace)
        with open(out, 'rb') as a, open(f.trace, 'rb') as b:
            tap.ok(a.read() == b.read(), 'into the trace itself: the same')


def apart():
    with Folder() as f:
        wanted = None
        for where in ('beside', 'build-id', 'by name', 'program elsewhere', 'nowhere'):
            shutil.copy(INLINED, f.program)
            call('objcopy', '--only-keep-debug', f.program, f'{f.path}/program.debug')
            call('strip', f.program)
            if where == 'beside':
                call('objcopy', f'--add-gnu-debuglink={f.path}/program.debug', f.program)
            if os.path.exists(f.trace):
                os.remove(f.trace)
            f.record()
            debug, words, identity = f'{f.path}/elsewhere', [], build_id(f.program)
            os.makedirs(debug, exist_ok=True)
            if where == 'build-id':
                os.makedirs(f'{debug}/.build-id/{identity[:2]}')
                os.rename(f'{f.path}/program.debug', f'{debug}/.build-id/{identity[:2]}/{identity[2:]}.debug')
            elif where == 'by name':
                os.rename(f'{f.path}/program.debug', f'{debug}/program.debug')
                os.remove(f.program)
            elif where == 'program elsewhere':
                os.remove(f'{f.path}/program.debug')
                os.remove(f.program)
                shutil.copy(INLINED, f'{debug}/program')
            elif where == 'nowhere':
                os.remove(f'{f.path}/program.debug')
            if where not in ('beside', 'nowhere'):
                words = ['--debug-dir', debug]
            out = f'{f.path}/out.jsonl'
            done = symbolize(f.trace, *words, '-o', out)
            frames = f.mine(out)[:2]
            found = [got(x) for x in frames]
            if where == 'beside':
                wanted = [expected(INLINED, x) for x in frames]
            if where == 'nowhere':
                tap.equal(found, [[], []], 'nowhere: nothing is made up')
                tap.ok(f'no debug information: {os.path.realpath(f.program)}' in done.stderr, 'nowhere: and that is told', done.stderr)
            else:
                tap.equal(found, wanted, f'{where}: all of it is found')
            shutil.rmtree(debug)


def other_builds():
    with Folder() as f:
        f.record()
        shutil.copy(f'{BUILD}/tests/stacks/objects', f.program)
        out = f'{f.path}/out.jsonl'
        done = symbolize(f.trace, '-o', out)
        tap.equal([s['function'] for x in f.mine(out) for s in x.get('source', [])], ['inlined::around(unsigned long long*, long)'],
                  'another build under its name: the symbol alone is demangled')
        tap.ok('no debug information' in done.stderr, 'another build under its name: is told', done.stderr)


def rust():
    if not shutil.which('rustc') or SANITIZED:
        tap.skip('Rust: both manglings', 'rustc is not installed, or this is a sanitizer build')
        return
    with Folder() as f:
        os.symlink(f'{BUILD}/sim/libcuda.so.1', f'{f.path}/libcuda.so')
        for mangling in ('v0', 'legacy'):
            words = [] if mangling == 'legacy' else ['-C', 'symbol-mangling-version=v0']
            call('rustc', '-g', '-O', *words, '-L', f.path, '-o', f.program, f'{HERE}/program.rs')
            if os.path.exists(f.trace):
                os.remove(f.trace)
            f.record()
            out = f'{f.path}/out.jsonl'
            symbolize(f.trace, '-o', out)
            frames = f.mine(out)
            names = [frames[i]['source'][-1]['function'] for i in range(2)]
            tap.equal(names, ['<program::Layer as program::Grow>::grow', 'program::fill::<program::Layer>' if mangling == 'v0' else 'program::fill'],
                      f'Rust, {mangling}: names are demangled')
            tap.ok(all(x['symbol'].startswith('_R' if mangling == 'v0' else '_ZN') for x in frames[:2]), f'Rust, {mangling}: symbols stay')
            with open(f'{HERE}/program.rs', encoding='utf-8') as file:
                text = file.read().split('\n')
            tap.equal([(os.path.basename(x['source'][0]['file']), text[x['source'][0]['line'] - 1].strip()) for x in frames[:2]],
                      [('program.rs', 'assert_eq!(unsafe { cuMemAlloc_v2(&mut at, bytes) }, 0);'), ('program.rs', 'std::hint::black_box(layer.grow(bytes))')],
                      f'Rust, {mangling}: lines')


def odd_lines():
    """Lines as no recorder of ours writes them: copied, or completed where they can be."""
    meta = ('{"kind":"meta","schema":"candle-graph/trace/10","run_id":"r"}')
    same = [
        meta, '', '  {"kind":"op","x":1.0e5,"y":18446744073709551615,"stack":{"id":"s","frames":7}} ',
        '{"frames":[{"offset":1}]}', '{"stack":[{"frames":[]}]}', '{"stack":{"frames":[1,null,{"offset":"x"},{"offset":-1},{"offset":1e3}]}}',
        '{"stack":{"frames":[{"offset":18446744073709551616}]},"z":1}', '{"stack":{"frames":[', '{"name":"\\"frames\\" and \\u0000"}',
        '{"stack":{"frames":[{"offset":5,"module":"/dev/zero"},{"offset":6,"module":"/no/such"},{"offset":7,"module":"relative"}]}}',
    ]
    completed = {'{"a":[1.50,{}],"stack":{"frames" : [ {"offset":9,"symbol":"_Z1fi","more":[1.5]} ],"id":"s"},"b":2.0}':
                 '{"a":[1.50,{}],"stack":{"frames" : [{"offset":9,"symbol":"_Z1fi","more":[1.5],"source":[{"function":"f(int)"}]}],"id":"s"},"b":2.0}'}
    text = '\n'.join([*same, *completed]) + '\n'
    done = symbolize('-', input=text)
    tap.equal(done.stdout.split('\n')[:-1], [*same, *completed.values()], 'odd lines: unchanged, or completed')
    done = symbolize('-', input=meta + '\nno\n', status=3)
    tap.ok('standard input:2: expected a JSON object' in done.stderr, 'no JSON: the line is named', done.stderr)
    symbolize('-', input='', status=3)
    symbolize('/no/such/trace', status=3)


inside()
apart()
other_builds()
rust()
odd_lines()
tap.done()
