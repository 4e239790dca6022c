#!/usr/bin/env python3
"""Completions in the shells themselves: a line is typed into an interactive bash or zsh on a terminal, and the tab key; fish is asked what it
would offer. Expected are the words of the tables and the files of a folder."""
import json
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, '..', '..')
sys.path.insert(0, os.path.join(HERE, '..', 'tools'))
import tap  # noqa: E402

BUILD = os.path.abspath(os.environ.get('BUILD', f'{ROOT}/build'))
CATALOGUE = json.loads(subprocess.run([f'{BUILD}/cg-analyze', 'protocol'], capture_output=True, check=True).stdout)
COMMANDS = [c['name'] for c in CATALOGUE['commands']]
KINDS = [k['name'] for k in CATALOGUE['query_kinds']]
with open(f'{ROOT}/common/settings_table.h', encoding='utf-8') as file:
    SETTINGS = [f'--{name.lower().replace("_", "-")}' for name in re.findall(r'^    S\(\w+, "CGTRACE_(\w+)"', file.read(), re.M)]
LIMIT_S = 60


def options(command):
    """Long options that the help of a command of cg-analyze lists."""
    text = subprocess.run([f'{BUILD}/cg-analyze', 'help', command], capture_output=True, text=True).stdout
    return [f'--{o}' for o in re.findall(r'^  (?:-\w, |    )--([\w-]+)', text.split('options:\n')[1].split('exit status:')[0], re.M)]


# A typed line, and what is offered for its last word. The folder holds "a b.jsonl", run.jsonl and the folder runs; the program tool is executable.
CASES = [
    ('cg-analyze ov', ['overview']),
    ('cg-analyze help im', ['import']),
    ('cg-analyze query --kind gpu-', [k for k in KINDS if k.startswith('gpu-')]),
    ('cg-analyze query --kind=gpu-k', ['gpu-kernels']),
    ('cg-analyze query run.jsonl --kind memory --label', ['--label', '--label-prefix']),
    ('cg-analyze query ru', ['run.jsonl', 'runs']),
    ('cg-analyze query a', ['a b.jsonl']),
    ('cg-analyze import -o run', ['run.jsonl', 'runs']),
    ('cg-analyze report --bundle r', ['runs']),
    ('cg-analyze overview --format ', ['csv', 'json', 'table']),
    ('cgtrace do', ['doctor']),
    ('cgtrace help r', ['record']),
    ('cgtrace record --st', ['--stack-depth', '--stacks', '--step']),
    ('cgtrace record --sync ', ['both', 'end', 'off', 'start']),
    ('cgtrace record --sync=s', ['start']),
    ('cgtrace record --record memory,la', ['memory,launch']),
    ('cgtrace record --output ru', ['run.jsonl', 'runs']),
    ('cgtrace record --dir r', ['runs']),
    ('cgtrace record --step 3 --quiet --ov', ['--overflow']),
    ('cgtrace record --quiet ./to', ['./tool']),
    ('cgtrace record --range step -- ./to', ['./tool']),
    ('cgtrace record -- ./tool --output ru', ['run.jsonl', 'runs']),
    ('cgtrace record ./tool ru', ['run.jsonl', 'runs']),
    ('cgtrace check ./to', ['./tool']),
]

# The words that a shell would show go into a file. zsh: through the builtin that completions end in; its own helpers call it too, to sort
# words out (-O, -A, -D), which is passed on.
ZSH = '''
PS1='> '; unsetopt beep zle_bracketed_paste 2>/dev/null; zle_bracketed_paste=()
fpath=({folder}/functions $fpath); autoload -Uz compinit; compinit -u -D
compadd() {{
    if [[ ${{@[1,(i)(-|--)]}} == *-(O|A|D)\\ * ]]; then builtin compadd "$@"; return; fi
    local -a hits prefix; local hidden
    zparseopts -E -a rest P:=prefix
    builtin compadd -A hits "$@"
    for hidden in "${{hits[@]}}"; do print -r -- "${{prefix[2]}}$hidden" >> {folder}/offered; done
    builtin compadd "$@"
}}
completed() {{ zle complete-word; : > {folder}/finished }}
zle -N completed; bindkey '^I' completed
'''
BASH = '''
PS1='> '; bind 'set enable-bracketed-paste off' 2>/dev/null
source {build}/completions/cgtrace.bash; source {build}/completions/cg-analyze.bash
offered() {{ "$1" "${{@:2}}"; printf '%s\\n' "${{COMPREPLY[@]}}" > {folder}/offered; }}
one() {{ offered _cgtrace; }}; two() {{ offered _cg_analyze; }}
complete -o filenames -F one cgtrace; complete -o filenames -F two cg-analyze
bind -x '"\\C-x\\C-x": : > {folder}/finished'
'''

# Shell, its command, the keys that complete and tell of it, what it reads first.
SHELLS = [('bash', ['bash', '--norc', '--noprofile', '-i'], '\t\x18\x18', BASH), ('zsh', ['zsh', '-f', '-i'], '\t', ZSH), ('fish', None, '', '')]


class Terminal:
    """An interactive shell on a pseudo-terminal, in the folder work."""

    def __init__(self, words, keys, folder, setup):
        self.keys, self.folder, self.shown = keys, folder, b''
        with open(f'{folder}/setup', 'w', encoding='utf-8') as out:
            out.write(setup)
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(f'{folder}/work')
            os.execvpe(words[0], words, dict(os.environ, TERM='dumb', HISTFILE='/dev/null', HOME=folder, LC_ALL='C.UTF-8'))
        self.write(f'source {folder}/setup\n')

    def write(self, text):
        os.write(self.fd, text.encode())

    def offered(self, line):
        """What is offered for the last word of the line, in order; a text when the shell does not answer."""
        for name in ('offered', 'finished'):
            if os.path.exists(f'{self.folder}/{name}'):
                os.unlink(f'{self.folder}/{name}')
        self.write(f'{line}{self.keys}')
        end = time.monotonic() + LIMIT_S
        while not os.path.exists(f'{self.folder}/finished'):
            if select.select([self.fd], [], [], 0.05)[0]:
                self.shown = (self.shown + os.read(self.fd, 65536))[-2000:]
            if time.monotonic() > end:
                return f'no answer; shown: {self.shown!r}'
        self.write('\x15')  # the line is thrown away
        if not os.path.exists(f'{self.folder}/offered'):
            return []
        with open(f'{self.folder}/offered', encoding='utf-8') as out:
            return sorted({word.rstrip('/').replace('\\', '') for word in out.read().splitlines() if word})

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


def fish(folder):
    """Asks for every line at once; a marker between the answers."""
    script = ''.join(f'source {BUILD}/completions/{name}.fish\n' for name in ('cgtrace', 'cg-analyze'))
    script += ''.join(f"complete -C '{line}'; echo '=====' $status\n" for line, _ in CASES)
    p = subprocess.run(['fish', '--no-config', '-c', script], cwd=f'{folder}/work', capture_output=True, text=True, timeout=LIMIT_S,
                       env=dict(os.environ, HOME=folder, LC_ALL='C.UTF-8'))
    answers = re.split(r'^===== \d+\n', p.stdout, flags=re.M)
    for (line, _), answer in zip(CASES, answers):
        value = re.match(r'.*?(--[\w-]+=)', line.split(' ')[-1])
        words = {word.split('\t')[0].rstrip('/') for word in answer.splitlines()}
        yield line, sorted(word[len(value[1]):] if value and word.startswith(value[1]) else word for word in words)
    if p.stderr:
        yield 'complaints', p.stderr


def expected(shell, line, words):
    """zsh takes the part up to the last slash, and the option of --option=value, for itself."""
    if shell == 'zsh':
        words = [w.rsplit('/', 1)[-1] for w in words]
        if ',' in line:
            words = [w.rsplit(',', 1)[-1] for w in words]
    return sorted(words)


def whole(shell):
    """Every option, command and kind is in the file."""
    for name, wanted in (('cg-analyze', sorted({o for c in COMMANDS for o in options(c)}) + COMMANDS + KINDS), ('cgtrace', SETTINGS)):
        with open(f'{BUILD}/completions/{name}.{shell}', encoding='utf-8') as out:
            text = out.read()
        words = [f'-l {w[2:]} ' if shell == 'fish' and w.startswith('--') else w for w in wanted]
        tap.equal([w for w in words if w not in text], [], f'{shell}: {name}: every option, command and kind')


def main():
    folder = tempfile.mkdtemp(prefix='cgtrace-completions-')
    try:
        os.makedirs(f'{folder}/work/runs')
        os.mkdir(f'{folder}/functions')
        for name in ('a b.jsonl', 'run.jsonl', 'tool'):
            with open(f'{folder}/work/{name}', 'w', encoding='utf-8') as out:
                out.write('#!/bin/sh\n')
        os.chmod(f'{folder}/work/tool', 0o755)
        for name in ('cg-analyze', 'cgtrace'):
            shutil.copy(f'{BUILD}/completions/{name}.zsh', f'{folder}/functions/_{name}')
        for shell, words, keys, setup in SHELLS:
            whole(shell)
            if not shutil.which(shell):
                tap.skip(f'{shell}: completions', f'{shell} is not installed')
                continue
            if words:
                terminal = Terminal(words, keys, folder, setup.format(folder=folder, build=BUILD))
                answers = [(line, terminal.offered(line)) for line, _ in CASES]
                terminal.close()
            else:
                answers = list(fish(folder))
            for (line, answer), (_, wanted) in zip(answers, CASES):
                tap.equal(answer, expected(shell, line, wanted), f'{shell}: {line}')
            tap.equal(answers[len(CASES):], [], f'{shell}: no complaint')
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    tap.done()


if __name__ == '__main__':
    main()
