#!/usr/bin/env python3
"""Training steps with PyTorch, NVTX ranges around their parts: forward, backward and optimizer become steps of the trace.

usage: train_torch.py [STEPS [BATCH]]

    cgtrace record -- python3 train_torch.py                                      the whole run
    cgtrace record --range train_step --step 10 -- python3 train_torch.py         the tenth step alone

Exit status 77: there is no PyTorch, or no GPU for it."""
import sys

try:
    import torch
except ImportError:
    print('train_torch: PyTorch is not installed', file=sys.stderr)
    sys.exit(77)


def numbers(words):
    """Steps and batch, or the usage."""
    try:
        steps, batch = (int(word) for word in [*words, *('20', '512')[len(words):]])
        if steps > 0 and batch > 0:
            return steps, batch
    except ValueError:
        pass
    print('usage: train_torch.py [STEPS [BATCH]], both above 0', file=sys.stderr)
    sys.exit(2)


def main():
    steps, batch = numbers(sys.argv[1:])
    if not torch.cuda.is_available():
        print('train_torch: PyTorch finds no GPU', file=sys.stderr)
        sys.exit(77)
    part = torch.cuda.nvtx.range
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 512), torch.nn.GELU(), torch.nn.Linear(512, 512), torch.nn.GELU(), torch.nn.Linear(512, 1)).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    first = last = None
    for _ in range(steps):
        with part('train_step'):
            points = torch.randn(batch, 64, device='cuda')
            target = points[:, :1].sin()
            with part('forward'):
                loss = torch.nn.functional.mse_loss(model(points), target)
            with part('backward'):
                loss.backward()
            with part('optimizer'):
                optimizer.step()
                optimizer.zero_grad(set_to_none=True)
        last = loss.item()
        first = last if first is None else first
    print(f'loss finite: {last == last}, went down: {last < first or steps == 1}')


if __name__ == '__main__':
    main()
