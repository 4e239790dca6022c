#!/usr/bin/env python3
"""The documents against what they are of: manual pages name every setting, option, field, function and structure and no other, they lead to
pages that are there, and so do the links of the texts; what a recorded trace holds is all in cgtrace-trace(5)."""
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, '..', '..')
sys.path.insert(0, os.path.join(HERE, '..', 'tools'))
import tap  # noqa: E402
from harness import BUILD, SANITIZED, Run, environment, program  # noqa: E402

PAGES = {os.path.basename(path): path for path in sorted(glob.glob(f'{BUILD}/man/*.[1-9]'))}


def text(path):
    with open(os.path.join(ROOT, path), encoding='utf-8') as file:
        return file.read()


def page(name):
    return text(f'{BUILD}/man/{name}')


def forms():
    tap.equal([p for p in PAGES if not p.startswith('cg-analyze')], ['cgtrace-bundle.5', 'cgtrace-capture.5', 'cgtrace-evidence.5',
              'cgtrace-nsight.5', 'cgtrace-trace.5', 'cgtrace-tutorial.7', 'cgtrace.1', 'cgtrace.7', 'libcgtrace.3'], 'the pages beside those of cg-analyze')
    for name in PAGES:
        source = page(name)
        dead = [f'{n}({s})' for n, s in re.findall(r'^\.(?:It )?Xr (\S+) (\d)', source, re.M) if f'{n}.{s}' not in PAGES]
        tap.equal(dead, [], f'{name}: leads to pages that are there')
        if name.startswith('cg-analyze'):
            continue  # tests/cli/t_man.py
        if shutil.which('mandoc'):
            lint = subprocess.run(['mandoc', '-T', 'lint', PAGES[name]], capture_output=True, text=True).stdout
            # Whether the pages that it leads to are installed here does not matter.
            tap.equal([line for line in lint.splitlines() if 'referenced manual not found' not in line], [], f'{name}: what mandoc says of it')
        else:
            tap.skip(f'{name}: what mandoc says of it', 'mandoc is not installed')


def settings():
    known = re.findall(r'^    S\(\w+, "(CGTRACE_\w+)"', text('common/settings_table.h'), re.M)
    source = page('cgtrace.1')
    listed = re.findall(r'^\.It Ev (CGTRACE_\w+)$', source, re.M)
    tap.ok(len(known) > 20 and listed == known, 'cgtrace(1): every setting and no other', (known, listed))
    options = re.findall(r'^\.It Fl Fl ([\w-]+)', source, re.M)
    tap.equal(options, [name[len('CGTRACE_'):].lower().replace('_', '-') for name in known], 'cgtrace(1): an option for each')
    shown = subprocess.run([f'{BUILD}/cgtrace', 'record', '--help'], capture_output=True, text=True).stdout
    tap.equal(re.findall(r'^  --([\w-]+)', shown, re.M), options, 'cgtrace record --help: the same options')
    shown = subprocess.run([f'{BUILD}/cgtrace', 'help'], capture_output=True, text=True).stdout
    tap.equal(re.findall(r'^\.It Cm (\w+)$', source, re.M), re.findall(r'^  (\w+) ', shown, re.M), 'cgtrace(1): every command')
    statuses = {int(n) for n in re.findall(r'EXIT_\w+ = (\d+)', text('launcher/launcher.h'))}
    tap.equal({int(n) for n in re.findall(r'^\.It (\d+)$', source, re.M)}, statuses | {0}, 'cgtrace(1): every exit status of its own')
    mentioned = {word for name in PAGES for word in re.findall(r'CGTRACE_[A-Z_]+', page(name)) if not name.startswith('lib')}
    tap.equal(sorted(mentioned - set(known)), [], 'other pages: no setting that there is not')


def fields():
    wanted = set(re.findall(r'^    F\(\w+,\s*"(\w+)"', text('common/event_table.h'), re.M))
    source = page('cgtrace-trace.5')
    listed = re.findall(r'^\.It Va (\w+) Pq', source, re.M)
    # What the recorder alone adds to its first and last record.
    added = {'producer', 'host', 'pid', 'rank', 'clock', 'stacks', 'cuda', 'names', 'converted', 'lost', 'coverage', 'overhead_ns', 'end'}
    tap.ok(len(wanted) > 100 and set(listed) == wanted | added, 'cgtrace-trace(5): every field and no other', sorted(set(listed) ^ (wanted | added)))
    kinds = re.findall(r'^    K\(\w+, \w+, "(\w+)"', text('common/event_table.h'), re.M)
    tap.ok(len(kinds) == 12 and re.findall(r'^\.Ss (\w+)$', source, re.M)[:12] == kinds, 'cgtrace-trace(5): every kind', kinds)
    values = re.findall(r'\bE\(\w+, \w+,\s*"(\w+)"\)', text('common/event_table.h'))
    tap.ok(len(values) > 30, 'the words of the format are found', values)
    tap.equal([v for v in values if not re.search(rf'^\.Ql {v}\b', source, re.M)], [], 'cgtrace-trace(5): every word')


def recorded():
    """Every key of a trace stands in the section of its kind."""
    source = page('cgtrace-trace.5')
    sections = {s.split('\n', 1)[0]: set(re.findall(r'^\.It Va (\w+) Pq', s, re.M)) for s in re.split(r'^\.Ss ', source, flags=re.M)[1:]}
    kernels = f'{BUILD}/examples/libtrainer_kernels.so'
    runs = (('trainer_spans', dict(SIM_KERNELS=kernels, CGTRACE_STACKS='all')), ('graph_nodes', {}),
            ('trainer_nvtx', dict(SIM_KERNELS=kernels, CGTRACE_RANGE='backward', CGTRACE_STEP='2,3')))
    seen, missing = set(), set()
    for name, more in runs:
        with Run([program(name)], **more) as run:
            tap.ok(run.status == 0 and run.traces, f'{name}: is recorded', (run.status, run.err))
            for record in (json.loads(line) for path in run.traces for line in open(path, encoding='utf-8')):
                kind = record.pop('kind')
                seen.add(kind)
                missing |= {f'{kind}.{key}' for key in record if key not in sections[kind]}
    tap.ok({'meta', 'span_start', 'op', 'memory', 'tensor_stats', 'gradient', 'terminal'} <= seen, 'a trace of many kinds', sorted(seen))
    tap.equal(sorted(missing), [], 'cgtrace-trace(5): every field of a recorded trace')


def declarations():
    for name, header, least in (('libcgtrace.3', 'preload/cgtrace.h', 10), ('cgtrace-capture.5', 'common/capture.h', 12)):
        # Those that macros fill in are of the library's inside.
        wanted = [head for head, body in re.findall(r'^(struct \w+ \{)\n(.*?)^\}', text(header), re.M | re.S) if '\n#' not in f'\n{body}']
        tap.ok(len(wanted) >= least and set(wanted) == set(re.findall(r'^struct \w+ \{$', page(name), re.M)), f'{name}: every structure of {header}', wanted)
    source = page('libcgtrace.3')
    functions = re.findall(r'^    F\((cgtrace_\w+),', text('preload/cgtrace.h'), re.M)
    functions += re.findall(r'^__attribute__.* \*?(cgtrace_\w+[a-z])\(', text('preload/cgtrace.h'), re.M)
    tap.ok(len(functions) > 30 and 'cgtrace_parse_step' in functions, 'the functions of cgtrace.h are found', functions)
    for macro in ('Fn', 'It Fn'):
        tap.equal([f for f in functions if not re.search(rf'^\.{macro} {f}\b', source, re.M)], [], f'libcgtrace(3): every function, as {macro}')
    limits = re.findall(r'^#define (CGTRACE_\w+_MAX) +(\d+)', text('preload/cgtrace.h'), re.M)
    tap.equal(re.findall(r'^\.It Dv (CGTRACE_\w+_MAX) Pq (\d+)', source, re.M), limits, 'libcgtrace(3): every limit')
    types = re.findall(r'^    T\((\w+), \w+,', text('common/capture.h'), re.M)
    tap.ok(len(types) > 20 and re.findall(r'^\.It \d+ Dv (\w+)', page('cgtrace-capture.5'), re.M) == types, 'cgtrace-capture(5): every type', types)


def examples():
    """The commands of EXAMPLES, page after page in one folder. Those of other pages: t_tutorial.py, t_commands.py."""
    if SANITIZED:
        tap.skip('commands of EXAMPLES', 'the library of this build needs a sanitizer in front of it')
        return
    folder = tempfile.mkdtemp(prefix='cgtrace-examples-')
    try:
        for name in ('trainer', 'trainer_nvtx'):
            os.symlink(program(name), f'{folder}/{name}')
        env = environment(False, SIM_KERNELS=f'{BUILD}/examples/libtrainer_kernels.so')
        env['PATH'] = f'{BUILD}:{env["PATH"]}'
        os.mkdir(f'{folder}/nsys')
        for name, text_ in (('x.nsys-rep', 'raw'), ('x_cuda_gpu_kern_sum.csv', 'Time (%),Total Time (ns),Instances,Avg (ns),Med (ns),Min (ns),Max (ns),StdDev (ns),Name\n')):
            with open(f'{folder}/nsys/{name}', 'w', encoding='utf-8') as file:
                file.write(text_)
        for name in ('cgtrace.7', 'cgtrace-bundle.5', 'cgtrace-evidence.5', 'cgtrace-nsight.5'):
            section = re.search(r'^\.Sh EXAMPLES\n(.*?)^\.Sh', page(name), re.M | re.S)[1]
            commands = [line for line in section.splitlines() if line.startswith(('cgtrace ', 'cg-analyze ', 'python3 '))]
            tap.ok(len(commands) > 1, f'{name}: has EXAMPLES', section)
            for command in commands:
                p = subprocess.run(command, shell=True, cwd=folder, env=env, capture_output=True, text=True, timeout=120)
                tap.ok(p.returncode == 0 and bool(p.stdout) != (' -o ' in command), f'{name}: {command}', (p.returncode, p.stderr))
        tap.ok(os.path.exists(f'{folder}/runs/1/bundle.json'), 'the bundle of the example is there')
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def links():
    for name in ('README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md', 'CHANGELOG.md'):
        targets = [t.split('#')[0] for t in re.findall(r'\]\(([^)\s]+)\)', text(name)) if '://' not in t]
        tap.equal([t for t in targets if not os.path.exists(os.path.join(ROOT, t))], [], f'{name}: links lead to what is there')
    mentioned = set(re.findall(r'`?(CGTRACE_[A-Z_]+)', text('README.md')))
    known = set(re.findall(r'"(CGTRACE_\w+)"', text('common/settings_table.h'))) | set(re.findall(r'\b(CGTRACE_\w+)', text('preload/cgtrace.h')))
    tap.equal(sorted(mentioned - known), [], 'README.md: no setting that there is not')
    examples = [os.path.basename(p) for p in glob.glob(os.path.join(ROOT, 'examples', '*')) if not p.endswith(('.mk', '.ptx', '_host.c', '__pycache__'))]
    tap.equal([e for e in examples if f'(examples/{e})' not in text('README.md')], [], 'README.md: every example')


def members():
    """Every meaning in the table of members is of a member that there is."""
    said = re.findall(r'^    M\("(?:\w+\.)?(\w+)",', text('man/evidence_members.h'), re.M)
    listed = set(re.findall(r'^\.It Va (\w+) Pq', page('cgtrace-evidence.5') + page('cgtrace-nsight.5'), re.M))
    tap.ok(len(said) > 150 and not set(said) - listed, 'cgtrace-evidence(5): no meaning without a member', sorted(set(said) - listed))
    kinds = re.findall(r'^    R\(\w+, \w+, "(\w+)"', text('analyzer/evidence/gpu.h'), re.M)
    tap.ok(len(kinds) == 5 and re.findall(r'^\.It Li (cuda_\w+|nvtx_\w+)$', page('cgtrace-nsight.5'), re.M) == kinds, 'cgtrace-nsight(5): every report', kinds)


def limits():
    """The numbers of README's table of limits, from where they are defined."""
    table = re.search(r'^\| Limit \|.*?\n\n', text('README.md'), re.M | re.S)[0]
    defined = {name: int(value) for path in ('preload/cgtrace.h', 'common/capture.h') for name, value in re.findall(r'^#define (\w+_MAX) +(\d+)u?\b', text(path), re.M)}
    shown = [defined[name] for name in ('CAP_RINGS_MAX', 'CGTRACE_NAME_MAX', 'CGTRACE_TEXT_MAX', 'CGTRACE_RANK_MAX', 'CGTRACE_INPUTS_MAX', 'CAP_FRAMES_MAX')]
    tap.equal([n for n in shown if not re.search(rf'\b{n}\b', table)], [], 'README.md: the limits of the headers')
    least, most, initial = re.search(r'"CGTRACE_STACK_DEPTH", NUMBER, "(\d+)", "(\d+) to (\d+)"', text('common/settings_table.h')).group(2, 3, 1)
    tap.ok(f'{least} to {most}, {initial} unless set' in table, 'README.md: the depth of stacks', table)


def precedents():
    """The commits that ARCHITECTURE.md points to touched what its sentences name."""
    if subprocess.run(['git', 'rev-parse', '--is-shallow-repository'], cwd=ROOT, capture_output=True, text=True).stdout.strip() != 'false':
        tap.skip('ARCHITECTURE.md: commits', 'the history is not here')
        return
    wanted = {'A hook': ('preload/hooks/.*\\.def', 'tests/sim/', 'tests/ledger/', 'tests/programs/'), 'A record': ('common/capture.h', 'common/event_table.h', 'common/jsonl', 'preload/record/'),
              'A query': ('analyzer/planes/', 'tests/unit/', 'analyzer/cmd/query_', 'analyzer/cmd/query_kinds.def')}
    for what, sentence in re.findall(r'^- \*\*(A \w+)\*\*:(.*?)(?=^- |^$)', text('ARCHITECTURE.md'), re.M | re.S):
        commit = re.search(r'As\s+in\s+([0-9a-f]{7,})', sentence)[1]
        names = subprocess.run(['git', 'show', '--format=', '--name-only', commit], cwd=ROOT, capture_output=True, text=True).stdout
        tap.equal([w for w in wanted.pop(what) if not re.search(rf'^{w}', names, re.M)], [], f'ARCHITECTURE.md: {what}: {commit}')
    tap.equal(wanted, {}, 'ARCHITECTURE.md: a hook, a record, a query')


for test in (members, limits, precedents, forms, settings, fields, recorded, declarations, examples, links):
    test()
tap.done()
