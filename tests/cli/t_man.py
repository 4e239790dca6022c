#!/usr/bin/env python3
"""Manual pages: made for every command, complete, and understood by the programs that read them."""
import glob
import os
import re
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from cli import ROOT, document, done, equal, run, skip  # noqa: E402

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
done()
