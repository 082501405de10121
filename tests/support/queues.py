"""Message servers for tests: Redis, NATS, MQTT. They run on free ports for one test run only and are stopped by their process."""
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

class Mosquitto:
    """One MQTT broker that keeps sessions on disk when it is stopped. `tls` asks for a certificate, too. Clients of `port` go through a forwarder that can be cut; client() does not."""
    def __init__(self, base, password='secret'):
        self.program = shutil.which('mosquitto') or shutil.which('mosquitto', path='/usr/sbin:/usr/local/sbin')
        if not self.program: raise servers.CannotInstall('there is no MQTT broker (mosquitto)')
        self.dir, self.direct, self.password, self.process = os.path.join(base, 'mosquitto'), servers.free_port(), password, None
        os.makedirs(self.dir)
        names = os.path.join(self.dir, 'names')
        open(names, 'w').close()
        os.chmod(names, 0o600)
        subprocess.run(['mosquitto_passwd', '-b', names, 'weir', password], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.certificates, self.tls = servers.Certificates(os.path.join(self.dir, 'tls')), servers.free_port()
        pem = self.certificates.path
        with open(os.path.join(self.dir, 'conf'), 'w') as f:
            f.write(f'listener {self.tls} 127.0.0.1\ncafile {pem("ca.pem")}\ncertfile {pem("server.crt")}\nkeyfile {pem("server.key")}\nrequire_certificate true\n')
            f.write(f'user root\nlistener {self.direct} 127.0.0.1\nallow_anonymous false\npassword_file {names}\npersistence true\npersistence_location {self.dir}/\nmax_queued_messages 0\n')
        self.start()
        self.forward = servers.Forwarder(self.direct)
        self.port = self.forward.port
    def start(self):
        self.process = subprocess.Popen([self.program, '-c', os.path.join(self.dir, 'conf')], stdout=subprocess.DEVNULL, stderr=open(os.path.join(self.dir, 'log'), 'a'))
        servers.wait_port(self.direct, self.process)
    def end(self):
        """As an administrator would: sessions are saved."""
        self.process.terminate()
        self.process.wait()
    def stop(self):
        self.forward.stop()
        self.process.kill()
        self.process.wait()
    def client(self, name=''): return MqttClient(self.direct, self.password, name)

class MqttClient:
    """MQTT 3.1.1 with QoS 1, as much as tests need."""
    def __init__(self, port, password, name=''):
        self.socket = socket.create_connection(('127.0.0.1', port), 30)
        self.file, self.n = self.socket.makefile('rb'), 0
        text = lambda s: len(s.encode()).to_bytes(2, 'big') + s.encode()
        self.text = text
        self.put(0x10, text('MQTT') + bytes([4, 0xc2, 0, 0]) + text(name) + text('weir') + text(password))
        kind, body = self.packet()
        assert kind == 0x20 and body[1] == 0, body
    def put(self, kind, body):
        length, n = b'', len(body)
        while True:
            length += bytes([n % 128 | (0x80 if n >= 128 else 0)])
            n //= 128
            if not n: break
        self.socket.sendall(bytes([kind]) + length + body)
    def packet(self):
        kind, n, shift = self.file.read(1)[0], 0, 0
        while True:
            b = self.file.read(1)[0]
            n |= (b & 127) << shift
            shift += 7
            if b < 128: return kind, self.file.read(n)
    def number(self):
        self.n = self.n % 65535 + 1
        return self.n.to_bytes(2, 'big')
    def publish(self, messages, retain=False):
        """[(topic, text)], each acknowledged by the broker."""
        for at in range(0, len(messages), 500):
            part = messages[at:at + 500]
            for topic, data in part: self.put(0x32 | retain, self.text(topic) + self.number() + (data if isinstance(data, bytes) else data.encode()))
            for _ in part: assert self.packet()[0] == 0x40
    def subscribe(self, topic):
        self.put(0x82, self.number() + self.text(topic) + b'\1')
        kind, body = self.packet()
        assert kind == 0x90 and body[2] < 0x80, body
    def take(self):
        """The next message: (topic, body, retained); acknowledged."""
        while True:
            kind, body = self.packet()
            if kind & 0xf0 != 0x30: continue
            n = int.from_bytes(body[:2], 'big')
            topic, rest = body[2:2 + n].decode(), body[2 + n:]
            if kind & 6: self.put(0x40, rest[:2])
            return topic, rest[2:] if kind & 6 else rest, bool(kind & 1)
