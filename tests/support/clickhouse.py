"""clickhouse.py PORT DIR: ClickHouse's engine (chdb-core of PyPI, a library) behind HTTP, as far as clients that insert and select use it: POST /?database=..&query=..&SETTING=.. with
rows in the body, basic authentication (weir:secret), errors as the server writes them. For tests; one query at a time.

?break=N (GET): the next N inserts are done, and their answers are lost: the connection is cut. ?away=N: the next N inserts get the status 503."""
import base64, http.server, sys, threading, urllib.parse
from chdb import session

SESSION = session.Session(sys.argv[2])
LOCK = threading.Lock()
TROUBLE = {'break': 0, 'away': 0}
KEY = 'Basic ' + base64.b64encode(b'weir:secret').decode()

class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = 'HTTP/1.1'
    def log_message(self, *a): pass
    def reply(self, status, text):
        self.send_response(status)
        self.send_header('Content-Length', str(len(text)))
        self.end_headers()
        self.wfile.write(text)
    def do_GET(self):
        for k, v in urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query): TROUBLE[k] = int(v)
        self.reply(200, b'ok')
    def do_POST(self):
        given = dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(self.path).query, keep_blank_values=True))
        body = self.rfile.read(int(self.headers.get('Content-Length', 0)))
        if self.headers.get('Authorization') != KEY: return self.reply(516, b'Code: 516. DB::Exception: weir: Authentication failed: password is incorrect, or there is no user with such name. (AUTHENTICATION_FAILED)')
        query, database = given.pop('query'), given.pop('database', 'default')
        if TROUBLE['away'] and query.startswith('INSERT'):
            TROUBLE['away'] -= 1
            return self.reply(503, b'')
        try:
            with LOCK:
                SESSION.query(f'USE `{database}`')
                settings = ', '.join(f"{k} = '{v}'" for k, v in given.items())
                if query.startswith('INSERT'):
                    into, fmt = query.rsplit(' FORMAT ', 1)
                    if body: SESSION.query(f'{into} SETTINGS {settings} FORMAT {fmt} ' + body.decode())
                    text = b''
                else:
                    answer = SESSION.query(query, 'TSV')
                    text = answer.bytes() if answer.size() else b''
        except Exception as e: return self.reply(400, str(e).encode())
        if query.startswith('INSERT') and TROUBLE['break']:
            TROUBLE['break'] -= 1
            self.close_connection = True
            return self.connection.close()
        self.reply(200, text)

server = http.server.ThreadingHTTPServer(('127.0.0.1', int(sys.argv[1])), Handler)
server.serve_forever()
