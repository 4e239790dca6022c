#!/usr/bin/env python3
"""cgtrace check and doctor: what they say of programs that reach CUDA in different ways, and of machines; nothing is run. And the launcher
under launchers of ranks, stood in for by scripts: each rank has its own trace."""
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, '..', 'tools'))
import tap  # noqa: E402
from harness import BUILD, SANITIZED, environment  # noqa: E402

CGTRACE = f'{BUILD}/cgtrace'


def run(*words, cwd=None, **more):
    return subprocess.run([CGTRACE, *words], env=environment(False, **more), cwd=cwd, capture_output=True, text=True, timeout=120)


def says(name, words, status, *parts, without=(), **more):
    p = run(*words, **more)
    tap.ok(p.returncode == status and all(part in p.stdout for part in parts) and not any(part in p.stdout for part in without) and not p.stderr,
           name, f'status {p.returncode} {p.stdout} {p.stderr}')


def compiled(folder, name, source, *words):
    with open(f'{folder}/{name}.c', 'w', encoding='utf-8') as file:
        file.write(source)
    result = subprocess.run(['cc', '-o', f'{folder}/{name}', f'{folder}/{name}.c', *words], capture_output=True, text=True)
    return f'{folder}/{name}' if result.returncode == 0 else None


def programs(folder):
    says('linked with the driver', ['check', f'{BUILD}/examples/trainer'], 0, 'libcuda.so.1', 'linked with the driver', 'cgtrace record -- ')
    says('a library that is not there', ['check', f'{BUILD}/examples/trainer'], 0, 'is not found', 'once it starts', LD_LIBRARY_PATH=None)
    says('looks the driver up', ['check', f'{BUILD}/tests/programs/loadpath_lookup'], 0, 'opens the driver by name')
    says('NVTX', ['check', f'{BUILD}/tests/nvtx/ranges'], 0, 'marks ranges with NVTX')
    says('no way to CUDA', ['check', '/bin/cat'], 0, 'No way to CUDA')
    if os.path.exists(f'{BUILD}/examples/trainer_cuda'):
        says('shared runtime', ['check', f'{BUILD}/examples/trainer_cuda'], 0, 'shared CUDA runtime', 'kernels made by nvcc')
    else:
        tap.skip('shared runtime', 'no nvcc')
    # What marks a static runtime is a text of its own.
    static = compiled(folder, 'static_runtime', 'const char *a = "cudaErrorCudartUnloading", *b = "libcuda.so.1";\nint main(void) { return *a == *b; }\n')
    says('runtime linked into it', ['check', static], 0, 'runtime is linked into it', without=('by name',))
    still = compiled(folder, 'still', 'int main(void) { return 0; }\n', '-static')
    if still:
        says('statically linked', ['check', still], 1, 'statically linked', 'cannot be recorded')
    else:
        tap.skip('statically linked', 'no static libc here')
    with open(f'{folder}/script', 'w', encoding='utf-8') as file:
        file.write('#!/usr/bin/env cat\n')
    os.chmod(f'{folder}/script', 0o755)
    says('a script whose interpreter env finds', ['check', f'{folder}/script'], 0, 'is a script', 'cat runs it')
    musl = f'{folder}/musl'
    data = bytearray(open('/bin/cat', 'rb').read())
    at = data.find(b'/lib64/ld-linux')
    if at >= 0:
        data[at:at + 15] = b'/lib64/ld-musl-'
        with open(musl, 'wb') as file:
            file.write(data)
        os.chmod(musl, 0o755)
        says('another C library', ['check', musl], 1, 'another C library than glibc')
    else:
        tap.skip('another C library', 'the loader has another name here')
    mark = f'{folder}/was-run'
    runs = compiled(folder, 'runs', f'#include <fcntl.h>\n__attribute__((constructor)) static void c(void) {{ open("{mark}", O_CREAT | O_WRONLY, 0600); }}\n'
                    'int main(void) { return 0; }\n')
    says('a program with a constructor', ['check', runs], 0, 'It can be recorded')
    tap.ok(not os.path.exists(mark), 'nothing of it was run')


def machines(folder):
    says('doctor: a driver and its devices', ['doctor'], 0, 'for CUDA', 'cuda:0 Simulated device 0', 'ok    output', SIM_DEVICES='2', cwd=folder)
    says('doctor: no device', ['doctor'], 0, 'answers 100', 'there is no device', SIM_DEVICES='0', cwd=folder)
    says('doctor: no driver', ['doctor'], 0, 'libcuda.so.1 cannot be opened', LD_LIBRARY_PATH=None, cwd=folder)
    says('doctor: a setting that is not allowed', ['doctor'], 1, 'BAD   settings', 'drop|block', CGTRACE_OVERFLOW='maybe', cwd=folder)
    says('doctor: another tool for ranges', ['doctor'], 0, 'which cannot be read', NVTX_INJECTION64_PATH='/nowhere.so', cwd=folder)
    says('doctor: a rank that is left out', ['doctor'], 0, '3 is not among', OMPI_COMM_WORLD_RANK='3', CGTRACE_RANKS='0-1', cwd=folder)
    says('doctor: a folder that is not there', ['doctor'], 1, 'BAD   output', CGTRACE_OUTPUT='/nowhere/x.jsonl', cwd=folder)
    limited = ['--fsize=1048576'] + ([] if SANITIZED else ['--as=8589934592'])
    p = subprocess.run(['prlimit', *limited, CGTRACE, 'doctor'], env=environment(False), cwd=folder, capture_output=True, text=True)
    tap.equal([word for word in ('file size      limited to 1048576 bytes', 'address space  limited to 8589934592 bytes') if word in p.stdout],
              ['file size      limited to 1048576 bytes'] + ([] if SANITIZED else ['address space  limited to 8589934592 bytes']), 'doctor: limits')


# Stand-ins for launchers of ranks: each starts the command four times, side by side, with the variables of the real one.
WRAPPERS = {
    'mpirun': 'OMPI_COMM_WORLD_RANK=$i OMPI_COMM_WORLD_SIZE=4',
    'srun': 'SLURM_PROCID=$i SLURM_NTASKS=4',
    'torchrun': 'RANK=$i LOCAL_RANK=$i WORLD_SIZE=4',
    'mpiexec': 'PMI_RANK=$i PMI_SIZE=4',
}


def ranks():
    if SANITIZED:
        tap.skip('ranks', 'a sanitizer must be preloaded first')
        return
    target = [f'{BUILD}/tests/programs/launches']
    for name, variables in WRAPPERS.items():
        for order in ('outside', 'inside'):
            with tempfile.TemporaryDirectory() as folder:
                wrapper = f'{folder}/{name}'
                with open(wrapper, 'w', encoding='utf-8') as file:
                    file.write(f'#!/bin/sh\nfor i in 0 1 2 3; do {variables} "$@" & done\nwait\n')
                os.chmod(wrapper, 0o755)
                record = [CGTRACE, 'record', '--quiet', '--']
                command = [wrapper, *record, *target] if order == 'outside' else [*record, wrapper, *target]
                p = subprocess.run(command, cwd=folder, env=environment(False), capture_output=True, text=True, timeout=300)
                traces = sorted(glob.glob(f'{folder}/*.jsonl'))
                told = sorted(json.loads(open(t, encoding='utf-8').readline()).get('rank', -1) for t in traces)
                names = sorted(os.path.basename(t).split('.r')[1].split('.')[0] for t in traces if '.r' in os.path.basename(t))
                tap.ok(p.returncode == 0 and told == [0, 1, 2, 3] and names == ['0', '1', '2', '3'] and not glob.glob(f'{folder}/*.part'),
                       f'cgtrace record {"under" if order == "outside" else "of"} {name}: a trace of each rank', f'{p.returncode} {p.stderr} {told} {os.listdir(folder)}')
    with tempfile.TemporaryDirectory() as folder:
        p = subprocess.run([CGTRACE, 'record', '--quiet', '--ranks', '1,3', '--', 'sh', '-c', f'for i in 0 1 2 3; do RANK=$i {target[0]} & done; wait'], cwd=folder,
                           env=environment(False), capture_output=True, text=True, timeout=300)
        tap.equal(sorted(f.split('.r')[1] for f in os.listdir(folder) if '.r' in f), ['1.jsonl', '3.jsonl'], 'two of four ranks')


def main():
    folder = tempfile.mkdtemp()
    try:
        programs(folder)
        machines(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    ranks()
    tap.done()


if __name__ == '__main__':
    main()
