"""Message servers for tests: Redis. They run on free ports for one test run only and are stopped by their process."""
import os, shutil, socket, subprocess, time
import servers

class Redis:
    """One Redis server that writes every command to its disk before it answers. Clients of `port` go through a forwarder that can be cut; call() does not."""
    def __init__(self, base, password='secret'):
        if not shutil.which('redis-server'): raise servers.CannotInstall('there is no Redis server (redis-server)')
        self.dir, self.direct, self.password, self.process, self.socket = os.path.join(base, 'redis'), servers.free_port(), password, None, None
        os.makedirs(self.dir)
        self.start()
        self.forward = servers.Forwarder(self.direct)
        self.port = self.forward.port
    def start(self):
        self.process = subprocess.Popen(['redis-server', '--port', str(self.direct), '--bind', '127.0.0.1', '--dir', self.dir, '--appendonly', 'yes', '--appendfsync', 'always', '--save', '',
                                         '--requirepass', self.password], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        servers.wait_port(self.direct, self.process)
        self.socket = socket.create_connection(('127.0.0.1', self.direct), 30)
        self.file = self.socket.makefile('rb')
        self.call('AUTH', self.password)
        while self.loading(): time.sleep(0.02)
    def loading(self):
        try: self.call('GET', 'x')
        except RuntimeError as e: return 'LOADING' in str(e)
    def kill(self):
        self.process.kill()
        self.process.wait()
        self.socket.close()
    def stop(self):
        self.forward.stop()
        self.kill()
    def call(self, *args):
        """One command; texts, numbers and lists. An error is one."""
        self.send(*args)
        return self.answer()
    def send(self, *args):
        parts = [a if isinstance(a, bytes) else str(a).encode() for a in args]
        self.socket.sendall(b'*%d\r\n' % len(parts) + b''.join(b'$%d\r\n%s\r\n' % (len(p), p) for p in parts))
    def answer(self):
        line = self.file.readline()
        kind, rest = line[:1], line[1:-2]
        if kind == b'+': return rest.decode()
        if kind == b'-': raise RuntimeError(rest.decode())
        if kind == b':': return int(rest)
        if kind == b'$': return None if rest == b'-1' else self.file.read(int(rest) + 2)[:-2]
        return [self.answer() for _ in range(int(rest))]
    def many(self, commands):
        for c in commands: self.send(*c)
        return [self.answer() for _ in commands]
    def entries(self, stream):
        """[(id, {field: value})], everything as text."""
        return [(i.decode(), {f[k].decode(): f[k + 1].decode() for k in range(0, len(f), 2)}) for i, f in self.call('XRANGE', stream, '-', '+')]
