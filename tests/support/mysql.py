"""A MariaDB server of Debian's package for one test run, as tests/support/servers.py has the others."""
import os, shutil, signal, subprocess, time
import servers

class MariaDB:
    """Clients of `port` go through a forwarder that can be cut; sql() does not. The user is weir, with every right, password `secret`."""
    secret = "we'ir\\ 1"
    def __init__(self, base):
        for program in ('mariadb-install-db', 'mariadbd', 'mariadb'):
            if not shutil.which(program): raise servers.CannotInstall('there is no MariaDB server (mariadb-server)')
        self.base = os.path.join(base, 'mariadb')
        os.makedirs(self.base)
        self.user = ['--user=mysql'] if os.getuid() == 0 else []
        if self.user:
            os.chmod(base, 0o755)
            shutil.chown(self.base, 'mysql')
        self.data, self.socket, self.direct, self.process = os.path.join(self.base, 'data'), os.path.join(self.base, 's'), servers.free_port(), None
        subprocess.run(['mariadb-install-db', '--no-defaults', *self.user, '--datadir=' + self.data, '--auth-root-authentication-method=normal', '--skip-test-db', '--innodb-flush-method=nosync'],
                       check=True, timeout=120, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.start()
        quoted = self.secret.replace('\\', '\\\\').replace("'", "''")
        self.sql(f"CREATE DATABASE shop; CREATE USER weir@'%' IDENTIFIED BY '{quoted}'; GRANT ALL ON *.* TO weir@'%'; SET GLOBAL time_zone = '+05:00'; SET GLOBAL sql_mode = ''", database='mysql')
        self.forward = servers.Forwarder(self.direct)
        self.port = self.forward.port
    def start(self):
        self.process = subprocess.Popen(['mariadbd', '--no-defaults', *self.user, '--datadir=' + self.data, '--socket=' + self.socket, f'--port={self.direct}', '--bind-address=127.0.0.1', '--skip-name-resolve',
                                         '--character-set-server=latin1', '--innodb-buffer-pool-size=32M', '--innodb-log-file-size=32M', '--pid-file=' + os.path.join(self.base, 'pid')],
                                        stdout=open(os.path.join(self.base, 'log'), 'a'), stderr=subprocess.STDOUT)
        servers.wait_port(self.direct, self.process)
    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(30)
    def stop(self):
        self.forward.stop()
        self.kill()
    def sql(self, sql, check=True, database='shop'):
        """Rows as lists of texts; NULL is None."""
        p = subprocess.run(['mariadb', '--no-defaults', '--socket=' + self.socket, '-u', 'root', '--default-character-set=utf8mb4', '-N', '-B', '--raw', '-D', database],
                           input=sql, stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding='utf-8', timeout=120)
        assert not check or p.returncode == 0, p.stderr
        return [[None if x == 'NULL' else x for x in line.split('\t')] for line in p.stdout.split('\n')[:-1]]
