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
    """127.0.0.1:port to the server; closed, connections are refused and those that are open are cut."""
    def __init__(self, to, port=None):
        self.to, self.port, self.listening, self.open = to, port or free_port(), None, set()
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
            while data := a.recv(65536): b.sendall(data)
        except OSError: pass
        for x in (a, b):
            try: x.shutdown(socket.SHUT_RDWR)
            except OSError: pass
        self.open -= {a, b}
    def stop(self):
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

class Kafka:
    """One KRaft broker. Clients of `port` go through a forwarder that can be cut; those of `direct` do not."""
    def __init__(self, base):
        self.base, self.libs = os.path.join(base, 'kafka'), kafka_jars()
        os.makedirs(self.base)
        inner, controller = free_port(), free_port()
        self.direct, self.port = free_port(), free_port()
        self.inner = inner
        self.config = os.path.join(self.base, 'server.properties')
        open(self.config, 'w').write(f"""process.roles=broker,controller
node.id=1
controller.quorum.voters=1@localhost:{controller}
listeners=PLAINTEXT://localhost:{inner},DIRECT://localhost:{self.direct},CONTROLLER://localhost:{controller}
advertised.listeners=PLAINTEXT://localhost:{self.port},DIRECT://localhost:{self.direct}
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,DIRECT:PLAINTEXT,CONTROLLER:PLAINTEXT
inter.broker.listener.name=DIRECT
log.dirs={self.base}/data
auto.create.topics.enable=false
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
group.initial.rebalance.delay.ms=0
log.retention.check.interval.ms=1000
""")
        self.java('kafka.tools.StorageTool', 'format', '-t', 'weir-test-0000000000000', '-c', self.config)
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
