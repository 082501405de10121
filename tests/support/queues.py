"""Message servers for tests: Redis, NATS. They run on free ports for one test run only and are stopped by their process."""
import json, os, shutil, socket, subprocess, time
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

class Nats:
    """One NATS server with JetStream on disk. Clients of `port` go through a forwarder that can be cut; call() and publish() do not."""
    def __init__(self, base, password='secret'):
        if not shutil.which('nats-server'): raise servers.CannotInstall('there is no NATS server (nats-server)')
        self.dir, self.direct, self.password, self.process, self.socket = os.path.join(base, 'nats'), servers.free_port(), password, None, None
        self.inbox, self.n = '_INBOX.test', 0
        os.makedirs(self.dir)
        with open(os.path.join(self.dir, 'conf'), 'w') as f:
            f.write(f'listen: "127.0.0.1:{self.direct}"\njetstream {{ store_dir: "{self.dir}/js" }}\nauthorization {{ user: weir, password: "{password}" }}\n')
        self.start()
        self.forward = servers.Forwarder(self.direct)
        self.port = self.forward.port
    def start(self):
        self.process = subprocess.Popen(['nats-server', '-c', os.path.join(self.dir, 'conf')], stdout=subprocess.DEVNULL, stderr=open(os.path.join(self.dir, 'log'), 'a'))
        servers.wait_port(self.direct, self.process)
        self.socket = socket.create_connection(('127.0.0.1', self.direct), 30)
        self.file = self.socket.makefile('rb')
        self.file.readline()                                       # INFO
        self.put('CONNECT ' + json.dumps({'verbose': False, 'pedantic': False, 'user': 'weir', 'pass': self.password, 'headers': True, 'no_responders': True}))
        self.put(f'SUB {self.inbox}.* 1')
    def kill(self, how='kill'):
        getattr(self.process, how)()
        self.process.wait()
        self.socket.close()
    def stop(self):
        self.forward.stop()
        self.kill()
    def put(self, line, *more): self.socket.sendall(b''.join([line.encode() + b'\r\n', *more]))
    def send(self, subject, data=b'', headers=None):
        data = data if isinstance(data, bytes) else data.encode()
        self.n += 1
        if headers is None: return self.put(f'PUB {subject} {self.inbox}.{self.n} {len(data)}', data, b'\r\n')
        head = ('NATS/1.0\r\n' + ''.join(f'{k}: {v}\r\n' for k, v in headers.items()) + '\r\n').encode()
        self.put(f'HPUB {subject} {self.inbox}.{self.n} {len(head)} {len(head) + len(data)}', head, data, b'\r\n')
    def answer(self):
        """The next message to the inbox: (headers as text, body)."""
        while True:
            words = self.file.readline().decode().split()
            if words[:1] == ['PING']: self.put('PONG')
            elif words[:1] == ['-ERR']: raise RuntimeError(' '.join(words))
            elif words[:1] in (['MSG'], ['HMSG']):
                body, head = self.file.read(int(words[-1]) + 2)[:-2], int(words[-2]) if words[0] == 'HMSG' else 0
                return body[:head].decode(), body[head:]
    def call(self, api, **request):
        """A request of JetStream's API; its answer. An error is one."""
        self.send('$JS.API.' + api, json.dumps(request) if request else '')
        answer = json.loads(self.answer()[1] or '{"error": {"description": "no JetStream"}}')
        if 'error' in answer: raise RuntimeError(answer['error']['description'])
        return answer
    def make(self, name, subjects, **config): return self.call(f'STREAM.CREATE.{name}', name=name, subjects=subjects, storage='file', **config)
    def publish(self, messages):
        """[(subject, data) or (subject, data, headers)], each acknowledged by its stream."""
        for at in range(0, len(messages), 1000):
            part = messages[at:at + 1000]
            for m in part: self.send(*m)
            for _ in part:
                answer = json.loads(self.answer()[1])
                if 'error' in answer: raise RuntimeError(answer['error']['description'])
    def state(self, name): return self.call(f'STREAM.INFO.{name}')['state']
    def messages(self, name):
        """All that the stream has: their bodies."""
        got = []
        consumer = self.call(f'CONSUMER.CREATE.{name}', stream_name=name, config={'ack_policy': 'none', 'deliver_policy': 'all'})
        while len(got) < consumer['num_pending']:
            want = min(1000, consumer['num_pending'] - len(got))
            self.send(f'$JS.API.CONSUMER.MSG.NEXT.{name}.{consumer["name"]}', json.dumps({'batch': want}))
            for _ in range(want): got.append(self.answer()[1])
        return got
