#!/usr/bin/env python3
"""Manual pages and completions: made for every command, complete, and understood by the programs that read them."""
import glob
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cli import PROGRAM, ROOT, Folder, document, done, equal, ok, run, skip  # noqa: E402

BUILD = os.path.join(ROOT, os.environ.get('BUILD', 'build'))
PAGES = os.path.join(BUILD, 'man')
COMMANDS = [c['name'] for c in document('protocol')['commands']]
KINDS = [k['name'] for k in document('protocol')['query_kinds']]

equal(sorted(os.path.basename(p) for p in glob.glob(os.path.join(PAGES, 'cg-analyze*.1'))),
      sorted(['cg-analyze.1'] + [f'cg-analyze-{c}.1' for c in COMMANDS]), 'a page for the program and for every command')


def options(command):
    """Long options that the help of a command lists."""
    text = run('help', command)[1].split('options:\n')[1].split('exit status:')[0]
    return re.findall(r'^  (?:-\w, |    )--([\w-]+)', text, re.M)


for command in COMMANDS:
    with open(os.path.join(PAGES, f'cg-analyze-{command}.1')) as file:
        page = file.read()
    missing = [o for o in options(command) if not re.search(rf'^\.It (Fl \w , )?Fl Fl {o}\b', page, re.M)]
    sections = re.findall(r'^\.Sh (.*)$', page, re.M)
    equal((missing, sections), ([], ['NAME', 'SYNOPSIS', 'DESCRIPTION', 'OPTIONS', 'EXIT STATUS', 'EXAMPLES', 'SEE ALSO']),
          f'cg-analyze-{command}(1): every option and section')
with open(os.path.join(PAGES, 'cg-analyze-query.1')) as file:
    equal(re.findall(r'^\.It Cm (.*)$', file.read(), re.M)[:len(KINDS)], KINDS, 'cg-analyze-query(1): every kind')

if shutil.which('mandoc'):
    for page in sorted(glob.glob(os.path.join(PAGES, 'cg-analyze*.1'))):
        out = subprocess.run(['mandoc', '-T', 'lint', page], stdout=subprocess.PIPE).stdout.decode()
        # Pages are checked where they are built; whether those they name are installed does not matter.
        found = [line for line in out.splitlines() if 'referenced manual not found' not in line]
        equal(found, [], f'mandoc -T lint {os.path.basename(page)}')
else:
    skip('mandoc -T lint', 'mandoc is not installed')


# ---- completions ----
def bash(*words):
    """What bash offers for the last word."""
    script = (f'source "{BUILD}/completions/bash"; COMP_WORDS=("$@"); COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ));'
              '_cg_analyze; printf "%s\\n" "${COMPREPLY[@]}"')
    p = subprocess.run(['bash', '--norc', '-c', script, 'bash', 'cg-analyze', *words], cwd=folder.path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return sorted(p.stdout.decode().split()) if p.returncode == 0 and not p.stderr else p.stderr.decode()


folder = Folder()
folder.put('run.jsonl', '')
folder.put('runs/x', '')
if shutil.which('bash'):
    equal(bash(''), sorted([*COMMANDS, 'help', '--help', '--version']), 'bash: commands')
    equal(bash('ov'), [c for c in COMMANDS if c.startswith('ov')], 'bash: the beginning of a command')
    equal(bash('help', 'im'), ['import'], 'bash: help of a command')
    equal(bash('query', '--kind', 'gpu-'), sorted(k for k in KINDS if k.startswith('gpu-')), 'bash: kinds')
    equal(bash('query', '--label', ''), [], 'bash: nothing for free text')
    equal(bash('query', 'run.jsonl', '--l'), ['--label', '--label-prefix', '--launch-gap-ns', '--limit'], 'bash: options')
    equal(bash('query', 'ru'), ['run.jsonl', 'runs'], 'bash: files')
    equal(bash('import', '-o', 'ru'), ['run.jsonl', 'runs'], 'bash: files of an option')
    equal(bash('overview', '--format', ''), ['csv', 'json', 'table'], 'bash: words of an option')
else:
    skip('bash completion', 'bash is not installed')
for shell, check in (('zsh', ['zsh', '-n']), ('fish', ['fish', '--no-execute'])):
    path = os.path.join(BUILD, 'completions', shell)
    if shutil.which(shell):
        p = subprocess.run([*check, path], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        equal((p.returncode, p.stdout), (0, b''), f'{shell} understands its completions')
    else:
        skip(f'{shell} understands its completions', f'{shell} is not installed')
    with open(path) as file:
        text = file.read()
    wanted = [f'--{o}' if shell == 'zsh' else f'-l {o} ' for c in COMMANDS for o in options(c)] + KINDS
    equal([w for w in wanted if w not in text], [], f'{shell}: every option and kind is in them')
done()
