"""What the programs of bench/ share: a process measured, the facts of the machine, the file of results that bench/report reads, DuckDB in an environment of its own."""
import datetime, json, os, platform, re, shutil, subprocess, sys, time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, 'build/duckdb-venv')
DUCKDB = 'duckdb==2.0.1' # tests/prop has the same

def say(*words): print(*words, file=sys.stderr, flush=True)

def measured(cmd, cwd=ROOT, env=None):
    """Runs cmd to its end: seconds, CPU seconds, peak RSS in MiB, what it wrote. A cmd that fails ends the bench."""
    t = time.monotonic()
    with open(os.devnull) as nothing:
        p = subprocess.Popen(cmd, cwd=cwd, env=env, stdin=nothing, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    out = p.stdout.read().decode(errors='replace')
    _, status, use = os.wait4(p.pid, 0)
    p.returncode = os.waitstatus_to_exitcode(status)
    if p.returncode: sys.exit(f'{" ".join(cmd)[:300]} failed ({p.returncode})\n{out[-2000:]}')
    return {'s': time.monotonic() - t, 'cpu_s': use.ru_utime + use.ru_stime, 'rss_mib': use.ru_maxrss / 1024, 'out': out}

def median(runs, key): return sorted(r[key] for r in runs)[len(runs) // 2]
def spread(runs, key): return [round(min(r[key] for r in runs), 4), round(max(r[key] for r in runs), 4)]

def process(pid):
    """RSS in bytes, CPU seconds, open files and threads of a process now."""
    status = open(f'/proc/{pid}/status').read()
    fields = open(f'/proc/{pid}/stat').read().rsplit(')', 1)[1].split()
    return {'rss': int(re.search(r'VmRSS:\s+(\d+)', status)[1]) * 1024, 'cpu_s': (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK'),
            'fds': len(os.listdir(f'/proc/{pid}/fd')), 'threads': int(re.search(r'Threads:\s+(\d+)', status)[1])}

def machine():
    cpu = re.search(r'model name\s*:\s*(.*)', open('/proc/cpuinfo').read())
    memory = int(re.search(r'MemTotal:\s+(\d+)', open('/proc/meminfo').read())[1])
    return {'cpu': cpu[1] if cpu else platform.machine(), 'cores': len(os.sched_getaffinity(0)), 'memory_gib': round(memory / 1048576, 1), 'kernel': platform.release().split('-')[0],
            'load_before': round(os.getloadavg()[0], 2)}

BEFORE = machine() # the load is that of the others: taken before anything runs

def save(path, bench, results):
    """Writes what a bench found, with the command and the machine, for bench/report."""
    if not path: return
    git = subprocess.run(['git', 'rev-parse', '--short', 'HEAD'], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding='utf-8').stdout.strip()
    args, skip = [], False
    for x in sys.argv[1:]: # where the results go, and where things lie on this machine, is no part of the command
        if skip: skip = False
        elif x in ('--json', '--data', '--dir'): skip = True
        else: args.append('DIR' if args and args[-1] == '--flink' else x)
    done = {'bench': bench, 'command': ' '.join([f'bench/{os.path.basename(sys.argv[0])}', *args]), 'date': f'{datetime.datetime.now(datetime.timezone.utc):%Y-%m-%d}', 'commit': git, 'machine': BEFORE, 'results': results}
    os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
    with open(path, 'w') as f: f.write(json.dumps(done, indent=1) + '\n')

def duckdb_python():
    """A Python that has DuckDB, or None when it cannot be installed."""
    python = os.path.join(VENV, 'bin/python')
    if os.path.exists(os.path.join(VENV, 'ready')): return python
    try:
        shutil.rmtree(VENV, ignore_errors=True)
        subprocess.run([sys.executable, '-m', 'venv', VENV], check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        subprocess.run([python, '-m', 'pip', 'install', '-q', '--disable-pip-version-check', DUCKDB], check=True, timeout=600, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        open(os.path.join(VENV, 'ready'), 'w').close()
        return python
    except (subprocess.SubprocessError, OSError) as e:
        say(f'DuckDB cannot be installed: {e}')
        return None
