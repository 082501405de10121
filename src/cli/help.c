/* cli/help.c: `weir help`: the overview, one page a command, exit codes, and lists made from the registries themselves. */
#include "cli.h"
#include <stdarg.h>

typedef struct page { const char *name, *line, *text; } page;

#define SCRIPT_OPTIONS                                                                                                        \
    "  FILE                 SQL scripts, run one after the other; - is standard input\n"                                      \
    "  -e, --execute SQL    SQL from the command line instead of a file, or after it\n"                                       \
    "      --set NAME=VALUE gives ${NAME} in the scripts a value\n"                                                           \
    "      --set KEY=VALUE  a setting, when KEY has a dot in it: --set table.local-time-zone=Europe/Zurich\n"                 \
    "                       ('weir help settings'; SET in a script comes later and wins)\n"

static const page pages[] = {
    {"run", "run a job",
     "usage: weir run [options] FILE...\n"
     "       weir run [options] -e SQL\n"
     "\n" SCRIPT_OPTIONS
     "  -p, --workers N      threads that do the work; default: one a core ('parallelism.default')\n"
     "      --memory SIZE    budget of the whole process; default: a quarter of the RAM, at most 256MiB\n"
     "      --state-dir DIR  checkpoints go there; a later run with the same script goes on from the newest\n"
     "      --checkpoint-to s3://BUCKET/PREFIX   copy each checkpoint there before it counts; with an empty state directory the job goes on from there\n"
     "                       (AWS_ENDPOINT_URL, AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN)\n"
     "      --fresh          remove what is in the state directory, and at --checkpoint-to, and begin anew\n"
     "      --restore DIR    begin from this savepoint, or s3://BUCKET/PREFIX, when the state directory holds nothing yet\n"
     "      --from TIME      begin there: earliest, or a timestamp ('2024-05-01 00:00:00', in table.local-time-zone, or with a zone): rows with an\n"
     "                       earlier event time are left out and counted as before-start\n"
     "      --catch-up-rate RATE   50MiB/s or '200k rows/s': sources that are behind ('scan.catch-up.lag') read at most that, all together\n"
     "      --accept-older   if the newest checkpoint is damaged, take the one before it\n"
     "      --checkpoint-every 10s\n"
    "      --slo FILE       what is promised of tables, beside their options 'slo.*': lines TABLE.slo.NAME = VALUE\n"
    "      --alert-webhook URL    alerts are posted there ('alert.webhook')\n"
    "      --otel URL       OpenTelemetry traces of checkpoints go there, as OTLP over HTTP in JSON (OTEL_EXPORTER_OTLP_ENDPOINT)\n"
     "      --format table|jsonl   how rows of a bare SELECT are printed; default: table\n"
     "      --final          print the rows that hold at the end of the input, not the changes on the way\n"
     "      --changelog      print every change with its kind: +I -U +U -D\n"
     "      --bounded        read what is there now and end, whatever the tables say\n"
     "      --tail           wait for more at the end of a file, whatever the tables say\n"
     "      --until-idle 5s  end when no new input came for so long\n"
     "      --batch-rows N   rows that travel together, 1 to 2048\n"
     "      --audit-every 1h --audit-lag 10min   audit each period of event time ('weir help audit') when the watermark is so far past its end; default lag: 1 min\n"
     "      --ui HOST:PORT   dashboard and reports over HTTP while the job runs (127.0.0.1:0 takes a free port)\n"
     "      --pg HOST:PORT   materialized views for PostgreSQL clients (psql, JDBC, psycopg, Grafana); --pg-cert FILE --pg-key FILE: with TLS\n"
     "      --users FILE     who may ask: lines of name, role and secret ('weir users' makes them); else only this machine can, and anybody on it\n"
     "      --keep-serving   when the input has ended, go on answering at --ui and --pg until Ctrl-C\n"
     "      --json           what goes to stderr is one JSON object a line: start, progress, silent, end\n"
     "  -q, --quiet          errors only\n"
     "\n"
     "Rows of a bare SELECT go to stdout, everything else to stderr. Ctrl-C makes a last checkpoint (with --state-dir), prints where\n"
     "every row went and how to go on; a second Ctrl-C ends at once.\n"},
    {"sql", "a shell: queries over files and streams, tables with their columns, history",
     "usage: weir sql [options] [FILE...] [-c STATEMENT]\n"
     "\n"
     "  FILE                 SQL scripts, run first; - is standard input. Of a .csv, .tsv, .json, .jsonl or .ndjson file the columns are found out:\n"
     "                       its CREATE TABLE is printed and run\n"
     "  -c, --command SQL    runs this (several times: one after the other) and ends; also -e\n"
     "      --table --csv --json   how rows are printed; default: a table. JSON is one object a line; with --json errors are, too\n"
     "      --changelog      every change with its kind, not the rows that hold at the end\n"
     "      --timing         how long each statement took\n"
     "      --keep-going     an error does not end a script or a pipe\n"
     "      --set NAME=VALUE --set KEY=VALUE   as with weir run\n"
     "  -p, --workers N      --memory SIZE      --bounded      --until-idle 5s      as with weir run\n"
     "  -q, --quiet          no greeting, notes and warnings\n"
     "\n"
     "On a terminal a prompt follows the files, with history and completion where libedit2 is installed; \\? lists its commands. Else standard input is\n"
     "a script, when there is neither FILE nor -c; without --keep-going the first error ends it with exit code 1.\n"
     "Tables, views and settings live as long as the shell. A query whose input ends runs like one of a database: it prints the rows that hold at its\n"
     "end, ORDER BY needs no LIMIT. One whose input does not end runs until Ctrl-C: on a terminal the table is drawn over as it changes, else every\n"
     "change is a line. INSERT INTO runs until its input ends.\n"},
    {"size", "the log behind a job: partitions, disk, network, money, and how long a replay takes",
     "usage: weir size [options] FILE...       each queue that the script reads: rates from 'stats.rows-per-second', bytes from 'stats.row-bytes' or its columns\n"
     "       weir size --rate 5000/s --row 300B [options]      a log without a script\n"
     "\n"
     "      --rate N/s       rows a second              --row SIZE      bytes of a row on the wire\n"
     "      --compression R  bytes on disk for each byte before compression, such as 0.4; default: 1\n"
     "      --replication N  default: 3                 --retention 7d  how long the log keeps rows\n"
     "      --tiered 1d      so long on the brokers' disks, the rest in an object store\n"
     "      --consumers N    groups that read all of it; default: 1\n"
     "      --replay 3d      so much is read again; default: 1 day. --consume-rate N/s: what the reader can do\n"
     "      --zones N        default: 3                 --follower-fetch  consumers read from a replica in their zone\n"
     "      --partitions N   --brokers N                else computed, with the reason\n"
     "      --broker-disk SIZE  --broker-net RATE       of one broker; default: 2TB, 1250MB (a second, each way)\n"
     "      --prices FILE    what it costs a month; examples/prices.conf is such a file\n"
     "  -p, --workers N      readers of one group: partitions are at least that many\n"
     "      --set NAME=VALUE --set KEY=VALUE   as with weir run\n"
     "      --json\n"
     "\n"
     "Formulas and assumptions: docs/sizing.md.\n"},
    {"backfill", "outputs computed anew from history by a changed script, then put in place at once",
     "usage: weir backfill [options] STATE_DIR FILE...\n"
     "\n" SCRIPT_OPTIONS
     "      --from TIME      history begins there: earliest (the default), or a timestamp, as with weir run\n"
     "      --outputs A,B    only these tables are replaced; the script's other outputs go on as they are\n"
     "  -p, --workers N      --memory SIZE      --checkpoint-every 10s      --catch-up-rate RATE      as with weir run\n"
     "      --timeout 60s    how long to wait for the job's checkpoints and its stop\n"
     "      --fresh          forget a backfill that was begun and begin anew\n"
     "      --json           what goes to stderr is one JSON object a line\n"
     "  -q, --quiet          errors only\n"
     "\n"
     "STATE_DIR belongs to a job, which may run meanwhile. FILE is its new script. History is read up to where the job stands, and new versions of\n"
     "the outputs are written beside the old ones: .NAME.next for files, NAME__next for SQLite tables. Then the job is asked to stop, the rest is\n"
     "read, outputs and state change places, and 'weir run FILE --state-dir STATE_DIR' goes on with the new script. The old versions stay as\n"
     ".NAME.old and NAME__old, the old state as a savepoint in STATE_DIR/before-backfill. After a crash the same command goes on.\n"},
    {"explain", "plan, changelog kinds, time attributes and the state bill",
     "usage: weir explain [options] FILE...\n"
     "\n" SCRIPT_OPTIONS
     "      --sample 10s     read the sources for so long, or to their end, and count: rates, keys, sizes; nothing is written\n"
     "      --state-dir DIR  figures of the last run that kept its state there\n"
     "      --memory SIZE    the budget that is compared with; default as for run\n"
     "  -p, --workers N      default as for run\n"
     "      --checkpoint-every 10s\n"
     "      --audit-every 1h --audit-lag 10min   as for run: what such audits need of the log\n"
     "      --prices FILE    what it costs a month; examples/prices.conf is such a file\n"
     "      --json           one JSON document\n"
     "\n"
     "For every operator: what it does, what kind of changes come out, what it has to remember, what bounds that, and the bytes.\n"
     "A state that nothing bounds is refused (exit code 2) until the script says how long to remember, or\n"
     "--set state.unbounded=accepted.\n"},
    {"check", "everything that can be refused before running",
     "usage: weir check [options] FILE...\n"
     "\n" SCRIPT_OPTIONS
     "      --json           one JSON document\n"
     "      --contracts DIR  judge it by the contracts and needs there ('weir help contract'): what it writes by what readers need, what it reads by what\n"
     "                       is promised\n"
     "      --strict         with --contracts: a promise that became weaker is refused, though no reader is known who minds\n"
     "\n"
     "      --replay         run it many times with other workers, batches, crashes and restores, and compare the outputs\n"
     "      --runs N         so many times (50)\n"
     "      --seed N         other choices than with seed 0; the same seed makes the same choices\n"
     "\n"
     "Types, names, options, sinks, unbounded state; as warnings: weak guarantees, non-determinism, state bounded by keys only.\n"
     "--replay reads the real inputs, which must end, and keeps the outputs in memory: no sink and no dead-letter file is touched.\n"
     "Exit code 0: can run (perhaps with warnings); with --replay: all runs were equal. 1: the replay failed, or a run differed. 2: refused.\n"},
    {"doctor", "asks everything that a job names whether it is there and fits",
     "usage: weir doctor [options] FILE...\n"
     "\n" SCRIPT_OPTIONS
     "  -p, --workers N      --memory SIZE      --state-dir DIR      --checkpoint-to URL      --checkpoint-every 10s      as for run\n"
     "      --timeout 5s     how long one answer of a server may take\n"
     "      --json           one JSON document\n"
     "  -q, --quiet          only what is not well\n"
     "\n"
     "Give it the options of 'weir run'. It looks at files and their rights, servers, topics, tables, columns, keys, limits, at the state directory and at\n"
     "this machine, and says in one table what works, what does not, and what to change. It changes nothing and reads no more than it must.\n"
     "Exit code 0: nothing is in the way (perhaps warnings); 1: at least one fault; 2: the script is refused.\n"},
    {"contract", "what a table promises to its readers, what a reader needs, and whether the one covers the other",
     "usage: weir contract [options] FILE [TABLE...]        the contracts of the tables that a script writes, as SQL text\n"
     "       weir contract needs [options] FILE [TABLE...]  what the script needs of the tables that it reads\n"
     "       weir contract check [options] DIR              every need in DIR against its contract\n"
     "       weir contract diff OLD NEW                     what changed between two contract files\n"
     "       weir contract report [options] DIR             many teams' jobs and contracts as a whole: coverage, who reads what, what breaks, orphans\n"
     "\n"
     "      --set NAME=VALUE gives ${NAME} in scripts a value\n"
     "      --json           one JSON document\n"
     "      --against DIR    report: an earlier state of the tree; promises that became weaker are breaks\n"
     "      --svg FILE       report: tables, and the jobs that read them, as a picture\n"
     "      --html FILE      report: all of it as one page, with the picture\n"
     "      --fail-on LIST   report: exit code 1 if there are errors, breaks, uncovered, orphans, producers, letters, unowned, unused, unkept\n"
     "\n"
     "A directory of contracts holds NAME.contract (what a team publishes), NAME.needs (what a reader needs), and readers' scripts NAME.sql. What the plan\n"
     "proves is in the contract by itself: columns with types, key, event time, kinds of changes, order, delivery, where each column comes from. What it\n"
     "cannot know are options of the table: 'contract.owner', 'contract.freshness' ..., and 'needs.freshness' ... where it is read ('weir help connectors').\n"
     "'weir check FILE --contracts DIR' refuses a script that breaks what a reader needs, and names the reader.\n"
     "Exit code 0: fine; 2: a need is not covered, or a promise is weaker than it was (diff), or a file is wrong.\n"},
    {"replay", "puts dead letters back into their job, once it can read them",
     "usage: weir replay [options] FILE... --state-dir DIR\n"
     "\n" SCRIPT_OPTIONS
     "      --state-dir DIR    the job's: it may run there, or not\n"
     "      --dry-run          says which would go in, and puts nothing in\n"
     "      --list             prints the chosen letters as JSON lines: to look at, or to edit 'raw' in a copy\n"
     "      --from FILE        letters of that file (an edited copy) in place of those that the script names\n"
     "      --table T          only letters of that table\n"
     "      --reason X         only those whose code is X, or whose reason has X in it\n"
     "      --id ID            only that one\n"
     "      --since T, --until T   refused then: a timestamp (UTC), or a duration: so long ago\n"
     "      --late keep|enter  rows behind the watermark: stay dead letters (keep, the default), or go in and are late there\n"
     "      --overwrite        rows that a table with a PRIMARY KEY refused may go over what it holds by now\n"
     "      --any-state        also letters from before the job was begun anew, whose records were read again since\n"
     "  -p, --workers N        for a job that does not run\n"
     "      --timeout 60s      how long a running job may take for 2,000 letters\n"
     "      --json             one JSON document\n"
     "  -q, --quiet            no progress\n"
     "\n"
     "Letters go through the decoding of the script as it is now (after 'weir upgrade', if the job's operators changed). What went in is part of the job's next\n"
     "checkpoint, so running this again puts nothing in twice.\n"
     "Exit code 0: all chosen letters are in, now or before; 1: some are not, and it says why; 2: refused.\n"},
    {"gen", "make event logs: ridelo, nexmark",
     "usage: weir gen ridelo --out DIR [options]     six logs of a food-delivery company, and truth.json\n"
     "       weir gen nexmark --out DIR [options]    person.jsonl, auction.jsonl, bid.jsonl\n"
     "\n"
     "The same options give the same bytes.\n"
     "\n"
     "  both\n"
     "      --out DIR           made if missing; files of the same names are replaced\n"
     "      --seed N            1\n"
     "      --json              the summary as JSON\n"
     "  -q, --quiet\n"
     "  ridelo\n"
     "      --duration 24h      of orders\n"
     "      --scale X           users, couriers, restaurants and orders times X; 1 is 2.4 M lines in 24 h\n"
     "      --orders-per-day N  400000\n"
     "      --users N           50000\n"
     "      --couriers N        3000\n"
     "      --restaurants N     2000\n"
     "      --segments N        1; more: each log in so many files\n"
     "      --hot P             share of restaurant 1 in the orders: 30%\n"
     "      --out-of-order P    5%       --late P  0.5%     --duplicates P  0.5%\n"
     "      --malformed P       0.05%    --future P  0.02%\n"
     "      --chargeback-after 10min  --chargeback-until 6h    after the payment\n"
     "  nexmark\n"
     "      --events N          1M, over the three logs\n"
     "      --rate N            events a second in event time: 10000\n"
     "      --shuffle N         each run of N events out of order; 1: in order\n"},
    {"fmt", "lay scripts out in one style",
     "usage: weir fmt [--write | --check] FILE...\n"
     "\n"
     "  FILE                 SQL scripts; - is standard input\n"
     "  -w, --write          replace each file that is not in this style yet; without it the result goes to stdout\n"
     "  -c, --check          print the names of such files; exit code 1 if there is one\n"
     "\n"
     "Only white space changes, and reserved words become upper case. Comments stay where they are.\n"},
    {"export", "the same script for Flink, and what differs; a topic's table for Druid or Pinot",
     "usage: weir export flink [--json] FILE\n"
     "       weir export druid | pinot [--table NAME] FILE      the spec by which that store reads a Kafka table of the script\n"
     "\n"
     "  FILE                 an SQL script; - is standard input. ${NAME} stays as it is.\n"
     "      --json           what differs as one JSON document\n"
     "\n"
     "The script goes to stdout, what differs to stderr and, as comments, above the statements it is about. Options and settings that only\n"
     "weir has are translated or left out; the SQL itself is Flink's already. docs/analytical-stores.md: Druid, Pinot, ClickHouse.\n"},
    {"slo", "what is promised of a running job's tables, and whether it is kept",
     "usage: weir slo [--json] [--token TOKEN] TARGET\n"
     "\n"
     "TARGET is the state directory of a running job, or the address of its --ui. For each promise ('slo.*' of a table, or --slo FILE): the number now,\n"
     "whether it is kept, how fast the error budget is used up over 5 minutes and an hour (1: just as fast as it may be), what is left of it, and the alert.\n"
     "Ends with 1 if one is not kept. docs/monitoring.md.\n"},
    {"savepoint", "a copy of a job's state that stands alone; also of a running job",
     "usage: weir savepoint [options] STATE_DIR OUT\n"
     "\n"
     "A job that runs on STATE_DIR is asked for a checkpoint first. OUT is made; it holds one checkpoint with every file that it needs.\n"
     "Begin from it with: weir run --restore OUT --state-dir NEW job.sql\n"
     "Either may be s3://BUCKET/PREFIX.\n"
     "\n"
     "      --last           do not ask: the newest checkpoint that is there\n"
     "      --accept-older   if the newest checkpoint is damaged, take the one before it\n"
     "      --timeout 60s    how long to wait for the running job\n"
     "      --json\n"},
    {"ledger", "where every row went, of a running job or one at rest",
     "usage: weir ledger [options] TARGET\n"
     "\n"
     "TARGET is a state directory, or the address that a running job was given with --ui. A job that runs there is asked; of one that does\n"
     "not run it is the newest checkpoint. For every source, operator and output: rows in, rows out, and what became of the others.\n"
     "Exit code 1: a sum does not close.\n"
     "\n"
     "      --window         also by window: the newest 64 of each source (by minute), window aggregation, window join and window Top-N\n"
     "      --token TOKEN    for an address that asks for one\n"
     "      --json\n"},
    {"state", "look into a job's checkpoints: verify, ls, get, top, diff",
     "usage: weir state verify STATE_DIR             reads every byte of every checkpoint: each file is ok, damaged or missing\n"
     "       weir state ls STATE_DIR                 per checkpoint: operators with keys and bytes\n"
     "       weir state get STATE_DIR OPERATOR KEY   what is kept for one key: SQL literals, as in 42 or 'Anna', 7\n"
     "       weir state top STATE_DIR [OPERATOR]     the largest operators, key groups and keys\n"
     "       weir state diff DIR_A DIR_B             keys added, removed and changed per operator, from A's newest checkpoint to B's\n"
     "\n"
     "A savepoint is a state directory too. A job that runs on it is asked for a checkpoint first.\n"
     "s3://BUCKET/PREFIX is looked at as the job has left it there: in a copy, in TMPDIR.\n"
     "\n"
     "      --last           do not ask: what is there\n"
     "      --epoch N        this checkpoint instead of the newest (diff: of A)\n"
     "      --limit N        how many keys: 10\n"
     "      --json\n"},
    {"users", "a line for the file of --users: name, role and a verifier of a secret",
     "usage: weir users NAME [reader|admin] >> FILE\n"
     "\n"
     "The secret is read from standard input, a line without blanks; it cannot be found out from the line that is printed. A reader may ask, an admin\n"
     "may also make the job do something, such as taking dead letters back. Behind it may stand: connections=N queries=N rows=N bytes=SIZE time=DURATION\n"},
    {"log", "the embedded log: create, append, cat, tail, stat, compact, drop",
     "usage: weir log create PATH [--partitions N] [--segment-size 64MiB] [--retention 7d] [--retention-size 10GiB]\n"
     "                       [--cleanup delete|compact|compact,delete] [--tombstone-retention 1d] [--zstd]\n"
     "       weir log append PATH   each line of the standard input is a record; durable before it is said\n"
     "       weir log cat PATH      the records, by partition\n"
     "       weir log tail PATH     the last 10 of each partition (-n), and those that come\n"
     "       weir log stat PATH     partitions, offsets, segments, sizes, times, rows in doubt\n"
     "       weir log compact PATH  retention and compaction now\n"
     "       weir log drop PATH     gives up rows that a job has prepared and not committed\n"
     "\n"
     "      --partition N    one partition; append: without it by key, without key in turn\n"
     "      --key-separator T   append: what stands between key and value, such as '\\t'; nothing behind it: a tombstone\n"
     "      --idempotency-key T   append: the same input with the same T again adds only the lines that are not there yet (for a day)\n"
     "      --from earliest|latest|OFFSET|TIME   cat, tail: where to begin\n"
     "  -n, --lines N        cat: no more than N records; tail: so many of each partition before its end\n"
     "  -f, --follow         cat: wait for more\n"
     "      --keys           cat, tail: key and a tab before each value\n"
     "      --json           records as objects with partition, offset, timestamp, key, value, headers; append: one line for each sync\n"
     "\n"
     "A log has one writer at a time and any number of readers. In SQL: 'connector' = 'log', 'path' = 'PATH'.\n"},
    {"upgrade", "what an edited script means for the state of the running one, and carrying it over",
     "usage: weir upgrade [options] STATE_DIR FILE...\n"
     "\n" SCRIPT_OPTIONS
     "  -p, --workers N      for a rebuild\n"
     "      --memory SIZE    for a rebuild\n"
     "      --apply          do it; without it only say what would happen (the job may be running)\n"
     "      --json           one JSON document\n"
     "\n"
     "For every state and output of the new script: kept (unchanged), moved (the same under another name), changed (an output that gets other\n"
     "rows from here on), rebuilt (computed anew from the logs, up to the checkpoint), dropped. With --apply the job must be stopped; the\n"
     "checkpoint is carried over and 'weir run --state-dir STATE_DIR FILE...' goes on. The way back is in STATE_DIR/before-upgrade:\n"
     "weir run --restore STATE_DIR/before-upgrade --state-dir NEW with the old script.\n"},
    {"audit", "is what was published what the log says? a closed period is counted again, and each difference explained",
     "usage: weir audit [options] FILE...\n"
     "\n" SCRIPT_OPTIONS
     "      --from TIME --to TIME   rows whose time column lies in [from, to): a period that is closed; without them the outputs are compared as a whole, up to\n"
     "                       the end of what the log has now. Times as '2024-05-01 00:00:00', in table.local-time-zone, or with a zone\n"
     "      --output TABLE   only this output, or several with commas\n"
     "      --time-column NAME   the column of the output that tells the period; default: its window_start, event time or window_end\n"
     "      --accept REASON  late, not-deterministic ...: such differences are shown and counted, but leave the audit equal (several with commas)\n"
     "      --limit N        so many differences of each output, and rows of each kind, are shown; default 20. All are counted\n"
     "  -p, --workers N      threads; --memory SIZE: budget, beyond it temporary files in TMPDIR\n"
     "      --json           one JSON document; progress on stderr as JSON lines\n"
     "  -q, --quiet          no progress\n"
     "\n"
     "The script's own plan runs over its own inputs, read again from as far back as its windows and joins need, with its outputs going nowhere; the tables are\n"
     "read back and compared. Rows that came too late for the job count as present. Each difference is put down to: late (by how much, which row), expired,\n"
     "not-published, refused, duplicate, orphan, changed, not-deterministic. Records that were refused and rows of interval joins without a partner are listed.\n"
     "Exit codes for cron: 0 equal, 1 something differs, 2 refused (no such period, a log that does not reach back far enough), 5 equal but an output cannot be\n"
     "read back, 6 the audit itself failed.\n"},
    {"story", "what goes wrong in a streaming job, told with real runs",
     "usage: weir story                  the list\n"
     "       weir story N [options]      tells one: a question, the trouble, the report that shows it, the fix, and the run that proves it\n"
     "       weir story DIR [options]    one of your own: a directory with story.txt (examples/stories/README.md)\n"
     "\n"
     "  -y, --yes            does not ask for a guess (nor when there is no terminal)\n"
     "      --seed N         other sizes; default 1\n"
     "      --quick          small sizes\n"
     "      --keep DIR       scripts, data and state stay in DIR, which is made\n"
     "      --json           one JSON document: checks and figures\n"
     "\n"
     "Every figure is measured while it is told. Exit code 1: a check is broken, or a command failed.\n"},
    {"why", "the one thing that limits a running job, and what to change",
     "usage: weir why [--json] [--token TOKEN] TARGET\n"
     "\n"
     "TARGET is the state directory of the job, or the address of its --ui (127.0.0.1:8080). Prints the class (slow-sink, slow-function, hot-key, fan-out,\n"
     "slow-lookup, memory, disk, slow-operator, slow-source, idle-partition, late-source, future-record, empty-table, no-input ...), the operator, the\n"
     "figures of the last seconds that show it, what to change, and who comes next; or that nothing limits it. Figures are shares of time, so the\n"
     "machine's speed does not matter.\n"},
    {"top", "a running job's operators, live",
     "usage: weir top [--once] [--json] [--token TOKEN] TARGET\n"
     "\n"
     "      --once           print it once (so it is done when stdout is no terminal)\n"
     "      --json           all that is known of the job, as GET /api/status gives it\n"
     "\n"
     "TARGET as with weir why. A line an operator: rows in and out a second; BUSY, the share of time in which its busiest instance works or waits for\n"
     "its other end; FULL, in which a queue behind it is full; WAIT, in which there is nothing for it; EVENT, how far its event time is behind the\n"
     "clock; LAG, how long rows are in queues on their way to it; its state, and its share of the bill. What limits the job is marked with '>'.\n"},
    {"lab", "experiments on the real engine that teach a rule each: remember, hot-key, panes, barriers, replay",
     "usage: weir lab                     lists the labs and their parameters\n"
     "       weir lab [options] NAME      a question, your guess, the run, what came out, and the rule\n"
     "\n"
     "      --set NAME=VALUE   a parameter of the lab, such as rate=100 or memory=4GiB\n"
     "      --seed N           other rows; default 1\n"
     "      --quick            smaller: a few seconds\n"
     "      --svg PATH         the plots: one file when PATH ends with .svg, else a directory with one each\n"
     "      --json             one document: figures, tables, plots, relations\n"
     "  -y, --yes              do not wait for a guess (nor is there one when stdin is no terminal)\n"
     "  -q, --quiet            no progress\n"
     "\n"
     "Each lab says what must hold and whether it was held or broken; exit code 1: something was broken. docs/labs.md shows them all.\n"},
    {"help", "this, and 'weir help COMMAND', exit-codes, settings, connectors, formats", NULL},
    {"version", "what this is", "usage: weir version\n"},
};

static const char EXIT_CODES[] =
    "exit codes\n"
    "  0   done\n"
    "  1   the job failed: bad data under 'on-error' = 'fail', input or output, a limit, a damaged checkpoint, or a ledger that does not close\n"
    "  2   refused before anything was read: usage, a script that cannot be read, or SQL that is wrong or not supported\n"
    "  3   stopped on request: Ctrl-C, SIGTERM, or nobody reads the output any more\n"
    "  4   a command that this version does not have\n"
    "  5   weir audit: nothing differs, but an output cannot be read back (1: something differs)\n"
    "  6   weir audit: it failed itself: an input or output cannot be read, a limit\n"
    "  12  the system gave no memory\n";

/* Commands of the plan that are not built. */
static const page later[] = {
    {"restore", "it is an option of run: weir run --restore SAVEPOINT --state-dir DIR job.sql", NULL},
    {"rescale", "rescaling a running job; a job stopped with --state-dir may go on with another -p", NULL},
};

int not_yet(const char *command) {
    for (size_t i = 0; i < WR_COUNT_OF(later); i++)
        if (!strcmp(later[i].name, command)) {
            fprintf(stderr, "weir %s is not in this version yet: %s\n", command, later[i].line);
            return CLI_NOT_YET;
        }
    return -1;
}

static void overview(FILE *to) {
    fputs("weir: streaming SQL. What does it cost to remember, when the input never ends?\n\nusage: weir COMMAND ...\n\n", to);
    for (size_t i = 0; i < WR_COUNT_OF(pages); i++) fprintf(to, "  %-9s %s\n", pages[i].name, pages[i].line);
    fputs("\nA look at a file:  weir sql orders.csv\n"
          "A first job:\n"
          "  weir gen nexmark --out /tmp/nx --events 100k\n"
          "  weir run examples/nexmark/q1.sql --set IN=/tmp/nx --set OUT=/tmp/nx/out\n", to);
}

static bool is_command(const char *name) {
    for (size_t i = 0; i < WR_COUNT_OF(pages); i++)
        if (!strcmp(pages[i].name, name) && pages[i].text) return true;
    return false;
}

void help_command(const char *command, FILE *to) {
    for (size_t i = 0; i < WR_COUNT_OF(pages); i++)
        if (!strcmp(pages[i].name, command) && pages[i].text) {
            fputs(pages[i].text, to);
            return;
        }
    overview(to);
}

int usage_error(const char *command, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    fprintf(stderr, "weir %s: ", command);
    vfprintf(stderr, fmt, ap);
    fprintf(stderr, "\n'weir help %s' lists the options\n", command);
    va_end(ap);
    return CLI_REFUSED;
}

static void print_specs(const wr_option_spec *specs) {
    for (; specs && specs->key; specs++) {
        printf("    '%s'%s", specs->key, specs->required ? " (required)" : "");
        if (specs->fallback && specs->fallback[0]) printf(" = '%s'", specs->fallback);
        printf("  %s\n", specs->doc ? specs->doc : "");
    }
}

static void list_connectors(void) {
    size_t n;
    const wr_connector *const *all = wr_connectors(&n);
    for (size_t i = 0; i < n; i++) {
        const wr_connector *c = all[i];
        if (!strcmp(c->name, "result")) continue;
        printf("%s: %s (%s%s%s)\n", c->name, c->doc ? c->doc : "", c->source_new ? "source" : "", c->source_new && c->sink_new ? ", " : "",
               c->sink_new ? "sink" : "");
        print_specs(c->specs);
    }
    puts("every source:");
    print_specs(wr_source_specs);
    puts("every table in a lookup join:");
    print_specs(wr_lookup_specs);
    puts("every table, for 'weir contract':");
    print_specs(wr_contract_specs);
    puts("every table, for what is promised of it (docs/monitoring.md):");
    print_specs(wr_slo_specs);
}

static void list_formats(void) {
    size_t n;
    const wr_format *const *all = wr_formats(&n);
    for (size_t i = 0; i < n; i++) {
        printf("%s: %s\n", all[i]->name, all[i]->can_write ? "read and write" : "read");
        print_specs(all[i]->specs);
    }
}

static void list_settings(void) {
    size_t n;
    const wr_setting_info *all = wr_settings(&n);
    for (size_t i = 0; i < n; i++) printf("%-42s %s%s%s%s\n", all[i].key, all[i].doc, all[i].fallback[0] ? " [" : "", all[i].fallback, all[i].fallback[0] ? "]" : "");
}

/* A command, and what its name means as a word; a word of several parts; a code. */
static int help_about(int n, char **words) {
    if (!n) return help_command("", stdout), finish_stdout(CLI_OK);
    int later_code = not_yet(words[0]);
    if (later_code >= 0) return later_code;
    bool command = n == 1 && is_command(words[0]);
    if (command) help_command(words[0], stdout), fputc('\n', stdout);
    wr_sbuf joined = {0};
    for (int i = 0; i < n; i++) wr_sbuf_printf(&joined, "%s%s", i ? " " : "", words[i]);
    bool word = help_word(wr_sbuf_str(&joined), !command);
    wr_sbuf_free(&joined);
    return finish_stdout(command || word ? CLI_OK : CLI_REFUSED);
}

int cmd_help(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    if (!strcmp(what, "exit-codes")) fputs(EXIT_CODES, stdout);
    else if (!strcmp(what, "settings")) list_settings();
    else if (!strcmp(what, "connectors")) {
        wr_session_free(wr_session_new(NULL)); /* registers those of api/ */
        list_connectors();
    } else if (!strcmp(what, "formats")) list_formats();
    else return help_about(argc - 1, argv + 1);
    return finish_stdout(CLI_OK);
}
