"""Runs commands on a pseudo-terminal."""
import os
import pty
import re
import subprocess


def on_terminal(command, folder, env):
    """(status, lines) of what a command writes to its terminal."""
    ours, its = pty.openpty()
    with subprocess.Popen(command, shell=True, cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=its, stderr=its) as process:
        os.close(its)
        output = b''
        try:
            while chunk := os.read(ours, 65536):
                output += chunk
        except OSError:  # the other side is closed
            pass
        os.close(ours)
        status = process.wait(120)
    text = re.sub(r'\x1b\[[0-9;?]*[A-Za-z]', '', output.decode(errors='replace')).replace('\r\n', '\n')
    return status, [line for line in (line.split('\r')[-1].rstrip() for line in text.splitlines()) if line]
