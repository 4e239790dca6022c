"""A callback for trainers with hooks, as Lightning has them: each batch is a span train_step with the parts forward, backward and optimizer,
its loss a scalar.

    from cgtrace_callback import CgtraceCallback
    lightning.Trainer(callbacks=[CgtraceCallback()])

Run the program with `cgtrace record -- python3 program.py`; --range train_step --step 10 keeps the tenth batch alone. Without libcgtrace.so
in the process it does nothing."""
import contextlib

import cgtrace

try:
    from lightning.pytorch import Callback
except ImportError:
    try:
        from pytorch_lightning import Callback
    except ImportError:
        Callback = object  # a trainer that calls the same hooks


class CgtraceCallback(Callback):
    def __init__(self):
        super().__init__()
        self.step, self.part = contextlib.ExitStack(), contextlib.ExitStack()

    def begin(self, name):
        """The part that is under way ends, and this one begins."""
        self.part.close()
        self.part.enter_context(cgtrace.span(name))

    def end(self):
        self.part.close()
        self.step.close()

    def on_train_batch_start(self, trainer, module, batch, batch_index):
        self.end()  # of a batch that was left out
        self.step.enter_context(cgtrace.span('train_step'))
        self.begin('forward')

    def on_before_backward(self, trainer, module, loss):
        cgtrace.scalar('loss', loss)
        self.begin('backward')

    def on_after_backward(self, trainer, module):
        self.part.close()

    def on_before_optimizer_step(self, trainer, module, optimizer):
        self.begin('optimizer')

    def on_train_batch_end(self, trainer, module, outputs, batch, batch_index):
        self.end()

    def on_exception(self, trainer, module, exception):
        self.end()
