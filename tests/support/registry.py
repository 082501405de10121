"""A schema registry for tests: Confluent's public REST API as far as clients of schemas use it, over schemas in memory.

No registry server can be installed from a package registry here (Confluent's is not on Maven Central, Karapace not on PyPI, Apicurio's application there lacks parts), so this is
written by hand; whether Avro schemas go together is judged by Apache Avro's own rules (package avro, ReaderWriterCompatibilityChecker). Of other kinds it is judged by the
functions in `checkers`: (reader, writer) -> list of (kind, description, detail), empty where they go together.

Routes: /schemas/ids/N, /subjects, /subjects/S (is it there?), /subjects/S/versions, /subjects/S/versions/V, /compatibility/subjects/S/versions/V, /config, /config/S."""
import base64, http.server, json, re, threading, urllib.parse, warnings
import servers

warnings.filterwarnings('ignore', message='Unknown .*, using') # logical types that the package does not have

def check_avro(reader, writer):
    import avro.schema
    from avro.compatibility import ReaderWriterCompatibilityChecker, SchemaCompatibilityType
    parse = lambda text: avro.schema.make_avsc_object(json.loads(text), avro.schema.Names())
    result = ReaderWriterCompatibilityChecker().get_compatibility(parse(reader), parse(writer))
    if result.compatibility == SchemaCompatibilityType.compatible: return []
    kinds, places, words = [k.value for k in result.incompatibilities], sorted(result.locations), sorted(result.messages)
    found = []
    for i in range(max(len(kinds), len(places), len(words))):
        kind, place, word = (x[min(i, len(x) - 1)] if x else '' for x in (kinds, places, words))
        m = re.fullmatch(r'/fields/(\d+)(/.*)?', place)
        field = json.loads(reader)['fields'][int(m[1])]['name'] if m else ''
        text = f"The field '{field}' at path '{place}' in the new schema has no default value and is missing in the old schema" if 'missing_default' in kind and len(places) == 1 else \
               f"{field + ': ' if field else ''}{'; '.join(words)} at path '{place}'"
        found.append((kind.upper(), text, word))
    return found

class Registry:
    """`answer`: None, or a function (method, path) -> None or (status, body) that is asked first. `asked` counts requests by 'METHOD path'."""
    def __init__(self, user=None, token=None, checkers=()):
        self.user, self.token, self.answer, self.asked = user, token, None, {}
        self.checkers = {'AVRO': check_avro, **dict(checkers)}
        self.ids, self.subjects, self.levels, self.level, self.lock = {}, {}, {}, 'BACKWARD', threading.RLock() # ids: id -> (kind, text, references)
        self.port, self.server = servers.free_port(), None
        self.start()
    @property
    def url(self): return f'http://127.0.0.1:{self.port}'
    def start(self):
        registry = self
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = 'HTTP/1.1'
            def log_message(self, *a): pass
            def go(self):
                length = int(self.headers.get('Content-Length') or 0)
                body = self.rfile.read(length)
                with registry.lock: status, answer = registry.serve(self.command, self.path, body, self.headers)
                data = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
                self.send_response(status)
                self.send_header('Content-Type', 'application/vnd.schemaregistry.v1+json')
                self.send_header('Content-Length', str(len(data)))
                self.end_headers()
                self.wfile.write(data)
            do_GET = do_POST = do_PUT = do_DELETE = go
        class Server(http.server.ThreadingHTTPServer):
            daemon_threads, allow_reuse_address = True, True
        self.server = Server(('127.0.0.1', self.port), Handler)
        threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()
    def stop(self):
        self.server.shutdown()
        self.server.server_close()
    # ---- for tests ----
    def register(self, subject, schema, kind='AVRO', references=()):
        """Without asking whether it goes with what is there. The id."""
        text = schema if isinstance(schema, str) else json.dumps(schema)
        with self.lock:
            i = self.id_of(kind, text, list(references))
            if i not in self.subjects.setdefault(subject, []): self.subjects[subject].append(i)
        return i
    def latest(self, subject): return json.loads(self.ids[self.subjects[subject][-1]][1])
    # ---- the interface ----
    def id_of(self, kind, text, references):
        one = (kind, text, json.dumps(references))
        for i, have in self.ids.items():
            if have == one: return i
        i = len(self.ids) + 1
        self.ids[i] = one
        return i
    def serve(self, method, path, body, headers):
        path, _, query = path.partition('?')
        self.asked[f'{method} {path}'] = self.asked.get(f'{method} {path}', 0) + 1
        a = self.answer and self.answer(method, path)
        if a: return a
        want = 'Basic ' + base64.b64encode(self.user.encode()).decode() if self.user else 'Bearer ' + self.token if self.token else None
        if want and headers.get('Authorization') != want: return 401, {'error_code': 401, 'message': 'Unauthorized'}
        parts = [urllib.parse.unquote(p) for p in path.strip('/').split('/')]
        try: return self.route(method, parts, json.loads(body) if body else None, query)
        except (ValueError, KeyError, TypeError, AttributeError) as e: return 422, {'error_code': 42201, 'message': f'Invalid schema: {e}'}
    def route(self, method, parts, body, query):
        if parts[:2] == ['schemas', 'ids'] and method == 'GET' and len(parts) == 3:
            one = self.ids.get(int(parts[2]))
            return (200, self.shown(one)) if one else (404, {'error_code': 40403, 'message': 'Schema not found'})
        if parts == ['subjects']: return 200, sorted(self.subjects)
        if parts[0] == 'config': return self.config(method, parts[1:], body)
        if parts[:2] == ['compatibility', 'subjects'] and method == 'POST': return self.compatibility(parts[2], parts[4], body, 'verbose=true' in query)
        if parts[0] == 'subjects' and len(parts) > 1:
            subject, have = parts[1], self.subjects.get(parts[1])
            if method == 'POST' and len(parts) == 3: return self.add(subject, body)
            if have is None: return 404, {'error_code': 40401, 'message': f"Subject '{subject}' not found."}
            if method == 'POST': return self.find(subject, have, body)
            if len(parts) == 3: return 200, list(range(1, len(have) + 1))
            version = len(have) if parts[3] == 'latest' else int(parts[3])
            if not 1 <= version <= len(have): return 404, {'error_code': 40402, 'message': f'Version {parts[3]} not found.'}
            return 200, {'subject': subject, 'version': version, 'id': have[version - 1], **self.shown(self.ids[have[version - 1]])}
        return 404, {'error_code': 404, 'message': 'HTTP 404 Not Found'}
    def shown(self, one):
        kind, text, references = one
        return {'schema': text, **({} if kind == 'AVRO' else {'schemaType': kind}), **({'references': json.loads(references)} if references != '[]' else {})}
    def given(self, body):
        kind, text = body.get('schemaType', 'AVRO'), body['schema']
        if kind == 'AVRO' and not body.get('references'):
            import avro.schema
            avro.schema.make_avsc_object(json.loads(text), avro.schema.Names())
        return kind, text, json.dumps(body.get('references', []))
    def find(self, subject, have, body):
        one = self.given(body)
        for version, i in enumerate(have, 1):
            if self.ids[i] == one: return 200, {'subject': subject, 'id': i, 'version': version, **self.shown(one)}
        return 404, {'error_code': 40403, 'message': 'Schema not found'}
    def config(self, method, rest, body):
        if method == 'PUT':
            if rest: self.levels[rest[0]] = body['compatibility']
            else: self.level = body['compatibility']
            return 200, body
        return 200, {'compatibilityLevel': self.levels.get(rest[0], self.level) if rest else self.level}
    def troubles(self, subject, new, versions):
        """What stands between the new schema and older ones, under the subject's level."""
        level = self.levels.get(subject, self.level)
        have = self.subjects.get(subject, [])
        found = []
        for version in versions if level.endswith('TRANSITIVE') else versions[-1:]:
            kind, text, _ = self.ids[have[version - 1]]
            if kind != new[0]: found.append(('TYPE', f'the schema is {new[0]}, the old one is {kind}', ''))
            elif level != 'NONE':
                check = self.checkers[kind]
                if level.startswith(('BACKWARD', 'FULL')): found += check(new[1], text)
                if level.startswith(('FORWARD', 'FULL')): found += check(text, new[1])
        return [f"{{errorType:'{k}', description:'{d}', additionalInfo:'{x}'}}" for k, d, x in found] + ([f"{{oldSchemaVersion: {versions[-1]}}}", f"{{compatibility: '{level}'}}"] if found else [])
    def compatibility(self, subject, version, body, verbose):
        have = self.subjects.get(subject)
        if not have: return 404, {'error_code': 40401, 'message': f"Subject '{subject}' not found."}
        messages = self.troubles(subject, self.given(body), [len(have) if version == 'latest' else int(version)])
        return 200, {'is_compatible': not messages, **({'messages': messages} if verbose else {})}
    def add(self, subject, body):
        one, have = self.given(body), self.subjects.get(subject, [])
        for i in have:
            if self.ids[i] == one: return 200, {'id': i}
        messages = self.troubles(subject, one, list(range(1, len(have) + 1))) if have else []
        if messages: return 409, {'error_code': 409, 'message': f'Schema being registered is incompatible with an earlier schema for subject "{subject}", details: [{", ".join(messages)}]'}
        i = self.id_of(one[0], one[1], json.loads(one[2]))
        self.subjects.setdefault(subject, []).append(i)
        return 200, {'id': i}
