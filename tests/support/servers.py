"""What tests against real servers share: a Python environment with the client libraries, free ports, a forwarder that can be cut, a Kafka broker.

Servers run on free ports for one test run only and are stopped by their process. What cannot be installed is a reason to skip, by name."""
import os, shutil, signal, socket, subprocess, sys, threading, time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

class CannotInstall(Exception): pass

def enter_venv(name, *packages):
    """Goes on in build/NAME, a virtual environment with these packages: made once, then the same script is run again inside it."""
    venv = os.path.join(ROOT, 'build', name)
    python, ready, wanted = os.path.join(venv, 'bin/python'), os.path.join(venv, 'ready'), ' '.join(packages)
    if os.path.realpath(sys.prefix) == os.path.realpath(venv): return
    if not os.path.exists(ready) or open(ready).read() != wanted:
        try:
            shutil.rmtree(venv, ignore_errors=True)
            subprocess.run([sys.executable, '-m', 'venv', venv], check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            subprocess.run([python, '-m', 'pip', 'install', '-q', '--no-compile', '--disable-pip-version-check', *packages], check=True, timeout=600, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            open(ready, 'w').write(wanted)
        except (subprocess.SubprocessError, OSError) as e:
            raise CannotInstall(f'{wanted} cannot be installed: {e}')
    os.execv(python, [python, *sys.argv])

def free_port():
    with socket.socket() as s:
        s.bind(('127.0.0.1', 0))
        return s.getsockname()[1]

def wait_port(port, process, seconds=60):
    end = time.time() + seconds
    while True:
        try: return socket.create_connection(('127.0.0.1', port), 1).close()
        except OSError:
            assert time.time() < end and process.poll() is None, f'the server on port {port} does not start'
            time.sleep(0.1)

class Forwarder:
    """127.0.0.1:port to the server; closed, connections are refused and those that are open are cut; held, they stay open and nothing goes through."""
    def __init__(self, to, port=None):
        self.to, self.port, self.listening, self.open, self.flowing = to, port or free_port(), None, set(), threading.Event()
        self.flowing.set()
        self.start()
    def start(self):
        self.listening = socket.create_server(('127.0.0.1', self.port))
        threading.Thread(target=self.accept, args=(self.listening,), daemon=True).start()
    def accept(self, listening):
        while True:
            try: c, _ = listening.accept()
            except OSError: return
            if listening is not self.listening: return c.close()
            try: s = socket.create_connection(('127.0.0.1', self.to))
            except OSError:
                c.close()
                continue
            self.open |= {c, s}
            for a, b in ((c, s), (s, c)): threading.Thread(target=self.pump, args=(a, b), daemon=True).start()
    def pump(self, a, b):
        try:
            while data := a.recv(65536):
                self.flowing.wait()
                b.sendall(data)
        except OSError: pass
        for x in (a, b):
            try: x.shutdown(socket.SHUT_RDWR)
            except OSError: pass
        self.open -= {a, b}
    def hold(self): self.flowing.clear()
    def release(self): self.flowing.set()
    def stop(self):
        self.release()
        listening, self.listening = self.listening, None
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        for x in list(self.open):
            try: x.shutdown(socket.SHUT_RDWR)
            except OSError: pass

KAFKA_VERSION = '4.4.0'
POM = """<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>a</groupId><artifactId>k</artifactId><version>1</version><packaging>pom</packaging><dependencies>
<dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>%s</version></dependency>
<dependency><groupId>org.apache.logging.log4j</groupId><artifactId>log4j-slf4j-impl</artifactId><version>2.25.5</version></dependency></dependencies></project>"""

def kafka_jars():
    """The broker's jars, fetched once by Maven from the registry that it is set up for."""
    libs = os.path.join(ROOT, 'build/kafka-%s' % KAFKA_VERSION)
    if os.path.exists(os.path.join(libs, 'ready')): return libs
    if not shutil.which('mvn') or not shutil.which('java'): raise CannotInstall('there is no mvn or no java')
    shutil.rmtree(libs, ignore_errors=True)
    os.makedirs(libs)
    pom = os.path.join(libs, 'pom.xml')
    open(pom, 'w').write(POM % KAFKA_VERSION)
    try: subprocess.run(['mvn', '-q', '-B', '-f', pom, 'dependency:copy-dependencies', '-DoutputDirectory=' + libs], check=True, timeout=600, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    except (subprocess.SubprocessError, OSError) as e: raise CannotInstall(f'Kafka {KAFKA_VERSION} cannot be fetched: {e}')
    open(os.path.join(libs, 'ready'), 'w').close()
    return libs

class Certificates:
    """An authority of its own (ca.pem), a server's certificate for localhost, a client's, and another authority (other.pem), as PEM files in a directory."""
    key = ('-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1')
    def __init__(self, base):
        self.base = base
        os.makedirs(base)
        for ca in ('ca', 'other'): self.openssl('req', '-x509', *self.key, '-nodes', '-days', '2', '-subj', f'/CN=weir test {ca}', '-keyout', f'{ca}.key', '-out', f'{ca}.pem')
        open(self.path('names'), 'w').write('subjectAltName=DNS:localhost\n')
        for who in ('server', 'client'):
            self.openssl('req', *self.key, '-nodes', '-subj', f'/CN={who}', '-keyout', f'{who}.key', '-out', f'{who}.csr')
            self.openssl('x509', '-req', '-in', f'{who}.csr', '-CA', 'ca.pem', '-CAkey', 'ca.key', '-CAcreateserial', '-days', '2', '-extfile', 'names', '-out', f'{who}.crt')
        open(self.path('server.pem'), 'w').write(open(self.path('server.key')).read() + open(self.path('server.crt')).read())
    def path(self, name): return os.path.join(self.base, name)
    def openssl(self, *args):
        if not shutil.which('openssl'): raise CannotInstall('there is no openssl')
        subprocess.run(['openssl', *args], check=True, timeout=60, cwd=self.base, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

class Kafka:
    """One KRaft broker. Clients of `port` go through a forwarder that can be cut; those of `direct` do not. secure: listeners for TLS (tls, and mtls, which wants a
    certificate of the client) and for SASL by PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512 (sasl, and sasl_tls); the user is alice, her password is `secret`, with SCRAM `scram_secret`."""
    secret, scram_secret = 'al"ice = 1', 'alice-1'
    def __init__(self, base, secure=False, config=''):
        """config: more lines of server.properties."""
        self.base, self.libs = os.path.join(base, 'kafka'), kafka_jars()
        os.makedirs(self.base)
        more, maps, scram = '', '', []
        if secure:
            self.certificates = Certificates(os.path.join(base, 'certificates'))
            for name, protocol in (('TLS', 'SSL'), ('MTLS', 'SSL'), ('SASL', 'SASL_PLAINTEXT'), ('SASL_TLS', 'SASL_SSL')):
                port, prefix = free_port(), f'listener.name.{name.lower()}.'
                setattr(self, name.lower(), port)
                more, maps = more + f',{name}://localhost:{port}', maps + f',{name}:{protocol}'
                if 'TLS' in name:
                    config += f'{prefix}ssl.keystore.type=PEM\n{prefix}ssl.keystore.location={self.certificates.path("server.pem")}\n'
                    config += f'{prefix}ssl.truststore.type=PEM\n{prefix}ssl.truststore.location={self.certificates.path("ca.pem")}\n'
                if name == 'MTLS': config += prefix + 'ssl.client.auth=required\n'
                if 'SASL' in name:
                    quoted = self.secret.replace('"', '\\\\"')
                    config += prefix + 'sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512\n'
                    config += prefix + f'plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="{quoted}";\n'
                    for m in ('256', '512'): config += prefix + f'scram-sha-{m}.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;\n'
            for m in ('256', '512'): scram += ['--add-scram', f'SCRAM-SHA-{m}=[name=alice,password={self.scram_secret}]']
        inner, controller = free_port(), free_port()
        self.direct, self.port = free_port(), free_port()
        self.inner = inner
        self.config = os.path.join(self.base, 'server.properties')
        open(self.config, 'w').write(f"""process.roles=broker,controller
node.id=1
controller.quorum.voters=1@localhost:{controller}
listeners=PLAINTEXT://localhost:{inner},DIRECT://localhost:{self.direct},CONTROLLER://localhost:{controller}{more}
advertised.listeners=PLAINTEXT://localhost:{self.port},DIRECT://localhost:{self.direct}{more}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,DIRECT:PLAINTEXT,CONTROLLER:PLAINTEXT{maps}
inter.broker.listener.name=DIRECT
log.dirs={self.base}/data
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
group.initial.rebalance.delay.ms=0
log.retention.ms=-1
log.retention.check.interval.ms=1000
{config}""")
        self.java('kafka.tools.StorageTool', 'format', '-t', 'weir-test-0000000000000', '-c', self.config, *scram)
        self.process = None
        self.start()
        self.forward = Forwarder(inner, self.port)
    def java(self, *args): subprocess.run(['java', '-cp', self.libs + '/*', *args], check=True, timeout=120, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    def start(self):
        self.process = subprocess.Popen(['java', '-Xmx512m', '-XX:TieredStopAtLevel=1', '-cp', self.libs + '/*', 'kafka.Kafka', self.config], cwd=self.base,
                                        stdout=open(os.path.join(self.base, 'log'), 'a'), stderr=subprocess.STDOUT)
        wait_port(self.direct, self.process, 120)
    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(20)
    def stop(self):
        self.forward.stop()
        self.process.terminate()
        try: self.process.wait(30)
        except subprocess.TimeoutExpired: self.kill()

class Postgres:
    """One PostgreSQL server of Debian's package. Clients of `port` go through a forwarder that can be cut; psql() does not."""
    def __init__(self, base):
        bins = sorted(p for p in ('/usr/lib/postgresql/' + v + '/bin' for v in (os.listdir('/usr/lib/postgresql') if os.path.isdir('/usr/lib/postgresql') else [])) if os.path.exists(p + '/initdb'))
        if not bins or not shutil.which('psql'): raise CannotInstall('there is no PostgreSQL server (postgresql-15)')
        self.bin, self.base = bins[-1], os.path.join(base, 'postgres')
        os.makedirs(self.base)
        self.user = 'postgres' if os.getuid() == 0 else None
        if self.user:
            os.chmod(base, 0o755)
            shutil.chown(self.base, self.user)
        self.data, self.direct = os.path.join(self.base, 'data'), free_port()
        self.call('initdb', '-D', self.data, '-U', 'weir', '-A', 'trust', '-E', 'UTF8', '--no-sync')
        with open(os.path.join(self.data, 'postgresql.conf'), 'a') as f:
            f.write(f"listen_addresses = '127.0.0.1'\nport = {self.direct}\nunix_socket_directories = ''\nwal_level = logical\nmax_connections = 50\n")
        self.start()
        self.forward = Forwarder(self.direct)
        self.port = self.forward.port
    def as_user(self, *args): return (['runuser', '-u', self.user, '--'] if self.user else []) + list(args)
    def call(self, program, *args): subprocess.run(self.as_user(os.path.join(self.bin, program), *args), check=True, timeout=120, cwd='/', stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    def start(self): self.call('pg_ctl', '-D', self.data, '-w', '-t', '60', '-l', os.path.join(self.base, 'log'), 'start')
    def kill(self): self.call('pg_ctl', '-D', self.data, '-m', 'immediate', '-w', 'stop')
    def stop(self):
        self.forward.stop()
        self.kill()
    def psql(self, sql, check=True):
        """Rows as lists of texts; NULL is None."""
        p = subprocess.run(['psql', '-h', '127.0.0.1', '-p', str(self.direct), '-U', 'weir', '-d', 'postgres', '-XAtq', '-F', '\x1f', '-P', 'null=\x1e', '-v', 'ON_ERROR_STOP=1', '-c', sql],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding='utf-8', timeout=120)
        assert not check or p.returncode == 0, p.stderr
        return [[None if x == '\x1e' else x for x in line.split('\x1f')] for line in p.stdout.split('\n')[:-1]]
