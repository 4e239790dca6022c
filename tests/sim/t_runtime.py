#!/usr/bin/env python3
"""The stand-in runtime, with real host code of nvcc."""
import os
import subprocess
import sys

from harness import BUILD, NVCC, case, main, want


# ---- the runtime --------------------------------------------------------------------------------------------------
RUNTIME_KERNELS = r"""
void _Z5scalePffi(void **a, const unsigned g[3], const unsigned b[3])
{
    float *x = *(float **) a[0], by = *(float *) a[1];
    for (unsigned i = 0; i < g[0] * b[0] && i < *(unsigned *) a[2]; i++)
        x[i] *= by;
}
"""
RUNTIME_OUTPUT = """Simulated device 0 (not a GPU)
scaled 30 managed 1 error 0
graph 2 nodes, before 0 after 30
pointer 2 on 0
peek 9 last 9 then 0
copy 21 elsewhere 0 here 21
malloc cudaErrorMemoryAllocation 2
reset 0
"""


def run_runtime(*options):
    if not os.path.exists(f'{BUILD}/sim/libcudart.so.13'):
        print('SKIP no runtime with these headers')
        return
    if not NVCC or os.environ.get('LD_PRELOAD'):
        print('SKIP no nvcc' if not NVCC else 'SKIP nvcc does not run with a sanitizer')
        return
    t = os.environ['SIM_TEST_DIR']
    open(f'{t}/k.c', 'w').write(RUNTIME_KERNELS)
    subprocess.run([os.environ.get('CC', 'cc'), '-shared', '-fPIC', '-o', f'{t}/k.so', f'{t}/k.c'], check=True)
    subprocess.run([NVCC, '-cudart', 'shared', '-Wno-deprecated-gpu-targets', *options, '-o', f'{t}/program', 'tests/sim/runtime_check.cu'], check=True)
    p = subprocess.run([f'{t}/program'], env=dict(os.environ, LD_LIBRARY_PATH=f'{BUILD}/sim', SIM_KERNELS=f'{t}/k.so'), stdout=subprocess.PIPE,
                       stderr=subprocess.STDOUT, text=True)
    want('output', p.stdout, RUNTIME_OUTPUT)
    want('exit', p.returncode, 0)


def check_runtime(suffixes, stream):
    def check(lines):
        if not lines:
            return
        want('lines', [(l['op'], l['api'], l['result']) for l in lines], [
            ('alloc', 'cuMemAlloc_v2', 0), ('copy', 'cuMemcpyHtoD_v2' + suffixes[0], 0), ('copy', 'cuMemcpyHtoD_v2' + suffixes[0], 0),
            ('launch', 'cuLaunchKernel' + suffixes[1], 0), ('copy', 'cuMemcpy' + suffixes[0], 0), ('graph_launch', 'cuGraphLaunch', 0),  # the headers give it no suffix
           
            ('launch', 'cuLaunchKernel' + suffixes[1], 1), ('alloc', 'cuMemAlloc_v2', 2), ('free', 'cuMemFree_v2', 0)])
        want('stream', lines[3]['stream'], stream)
    return check


@case(check=check_runtime(('', ''), 'legacy'))
def an_nvcc_program_runs_on_the_stand_in_runtime():
    run_runtime('-arch=sm_90')


@case(check=check_runtime(('_ptds', '_ptsz'), 'per-thread'))
def and_with_per_thread_default_streams():
    run_runtime('-arch=sm_90', '--default-stream', 'per-thread')


@case()
def the_runtimes_have_the_names_of_the_real_ones():
    if not os.path.exists(f'{BUILD}/sim/libcudart.so.13'):
        print('SKIP no runtime with these headers')
        return
    for version in ('12', '13'):
        out = subprocess.run(['objdump', '-p', '-T', f'{BUILD}/sim/libcudart.so.{version}'], check=True, capture_output=True, text=True).stdout
        want('SONAME', f'SONAME               libcudart.so.{version}\n' in out, True)
        names = [l.split() for l in out.splitlines() if ' cuda' in l or ' __cuda' in l]
        want('symbol versions', {l[-2] for l in names}, {f'libcudart.so.{version}'})
    needed = subprocess.run(['objdump', '-p', f'{BUILD}/sim/libcudart.so.13'], check=True, capture_output=True, text=True).stdout
    want('finds the driver by dlopen', 'libcuda.so' in needed, False)


if __name__ == '__main__':
    sys.exit(main())
