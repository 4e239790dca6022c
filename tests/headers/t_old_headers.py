#!/usr/bin/env python3
"""The hooks, the simulated driver and the target programs compile, without a warning, with the headers of older toolkits: those in
$CGTRACE_TEST_CUDA (toolkit folders, separated by colons) and beside the current one in /usr/local/cuda-*. Debian has 11.8 in non-free:
apt-get download nvidia-cuda-dev; dpkg-deb -x of it gives usr/include, which a folder with a link named include to it makes a toolkit."""
import glob
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(HERE, '..', 'tools'))
import tap  # noqa: E402

FLAGS = '-std=gnu17 -O2 -Wall -Wextra -Wshadow -Wconversion -Werror -fno-strict-aliasing -D_GNU_SOURCE -DCGT_VERSION="test" -fsyntax-only'.split()
FOLDERS = ('preload/hooks', 'preload/device', 'preload/resolve', 'tests/sim', 'tests/programs', 'tests/resolve')
LEAST = 11080


def version(home):
    try:
        with open(f'{home}/include/cuda.h', encoding='utf-8') as file:
            return int(re.search(r'^#define CUDA_VERSION (\d+)', file.read(), re.M)[1])
    except (OSError, TypeError):
        return None


def toolkits():
    current = version(os.environ.get('CUDA_HOME') or '/usr/local/cuda')
    places = [p for p in os.environ.get('CGTRACE_TEST_CUDA', '').split(':') if p] + sorted(glob.glob('/usr/local/cuda-*'))
    return {v: p for p in places if (v := version(p)) and v != current and v >= LEAST}


def undefined(home, folder):
    """gen/cuda_undef.h of these headers, as the Makefile makes it."""
    text = subprocess.run(['make', '-s', f'BUILD={folder}', f'CUDA_HOME={home}', f'{folder}/gen/cuda_undef.h'], cwd=ROOT, capture_output=True, text=True)
    return text.returncode == 0 and os.path.exists(f'{folder}/gen/cuda_undef.h'), text.stderr


def main():
    found = toolkits()
    if not found:
        tap.skip('older headers', 'no other toolkit is here: $CGTRACE_TEST_CUDA is not set, and there is no other /usr/local/cuda-*')
    for number, home in sorted(found.items()):
        with tempfile.TemporaryDirectory() as folder:
            good, why = undefined(home, folder)
            tap.ok(good, f'CUDA {number}: the list of renamed functions', why)
            for part in FOLDERS:
                told = []
                for source in sorted(glob.glob(f'{ROOT}/{part}/*.c')):
                    words = ['cc', *FLAGS, *(['-Wno-deprecated-declarations'] if part == 'tests/sim' else []), f'-I{ROOT}', f'-I{folder}/gen',
                             '-isystem', f'{home}/include', source]
                    result = subprocess.run(words, capture_output=True, text=True)
                    if result.returncode:
                        told.append(f'{os.path.basename(source)}: {result.stderr[:300]}')
                tap.ok(not told, f'CUDA {number}: {part}', '\n'.join(told[:3]))
    tap.done()


if __name__ == '__main__':
    main()
