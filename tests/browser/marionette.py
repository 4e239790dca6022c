"""Firefox by its own remote control (Marionette): messages of `length:[type, id, command or error, parameters or result]` over a
socket. What the page's tests need of it, and no package."""
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time


class Firefox:
    def __init__(self, program):
        self.profile = tempfile.mkdtemp(prefix='firefox.')
        with socket.create_server(('127.0.0.1', 0)) as probe:
            port = probe.getsockname()[1]
        with open(os.path.join(self.profile, 'user.js'), 'w') as out:
            out.write(f'user_pref("marionette.port", {port});\nuser_pref("network.captive-portal-service.enabled", false);\n'
                      'user_pref("network.connectivity-service.enabled", false);\nuser_pref("datareporting.policy.dataSubmissionEnabled", false);\n')
        self.process = subprocess.Popen([program, '--headless', '--no-remote', '--profile', self.profile, '--marionette', '--remote-allow-system-access',
                                         '--width', '1280', '--height', '900'],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env={**os.environ, 'HOME': self.profile}, start_new_session=True)
        self.socket, self.bytes, self.number = self.connect(port), b'', 0
        self.receive()
        self.call('WebDriver:NewSession', {})

    def connect(self, port):
        limit = time.monotonic() + 90
        while time.monotonic() < limit and self.process.poll() is None:
            try:
                return socket.create_connection(('127.0.0.1', port), timeout=120)
            except OSError:
                time.sleep(0.2)
        self.close()
        raise RuntimeError('Firefox does not answer')

    def receive(self):
        while b':' not in self.bytes:
            self.bytes += self.more()
        size, _, self.bytes = self.bytes.partition(b':')
        while len(self.bytes) < int(size):
            self.bytes += self.more()
        message, self.bytes = self.bytes[:int(size)], self.bytes[int(size):]
        return json.loads(message)

    def more(self):
        some = self.socket.recv(1 << 20)
        if not some:
            raise RuntimeError('Firefox is gone')
        return some

    def call(self, command, parameters):
        self.number += 1
        text = json.dumps([0, self.number, command, parameters]).encode()
        self.socket.sendall(b'%d:%s' % (len(text), text))
        _, _, error, result = self.receive()
        if error:
            raise RuntimeError(f'{command}: {error["message"]}')
        return result

    def open(self, url):
        self.call('WebDriver:Navigate', dict(url=url))

    def run(self, script, *arguments, browser=False):
        """What the script returns: in the page, or in the browser itself."""
        self.call('Marionette:SetContext', dict(value='chrome' if browser else 'content'))
        value = self.call('WebDriver:ExecuteScript', dict(script=script, args=list(arguments), sandbox=None))['value']
        self.call('Marionette:SetContext', dict(value='content'))
        return value

    def wait(self, script, *arguments, seconds=60):
        """False: it did not become true in that time."""
        limit = time.monotonic() + seconds
        while not self.run(script, *arguments):
            if time.monotonic() > limit:
                return False
            time.sleep(0.1)
        return True

    def close(self):
        os.killpg(self.process.pid, signal.SIGKILL)  # with those that it started
        self.process.wait()
        shutil.rmtree(self.profile, ignore_errors=True)
