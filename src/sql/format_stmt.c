/* sql/format_stmt.c: statements back to text.
 *
 * Idea       clauses in the order in which Flink's manual writes them; columns, watermarks, constraints and options one a line.
 * Invariant  as format_expr.c.                                                                                        */
#include "format.h"
#include "parse.h"

#define OUT(text) wr_sbuf_addz(p->out, (text))

static void print_stmt(wr_printer *p, const wr_ast_stmt *s);

static void name(wr_printer *p, wr_ast_name n) { wr_sql_name_text(n, p->out); }
static void string(wr_printer *p, wr_ast_text t) { wr_print_string(p->out, t.text); }

static void print_comment(wr_printer *p, const wr_ast_text *comment, const char *before) {
    if (!comment->text.ptr) return;
    OUT(before);
    OUT("COMMENT ");
    string(p, *comment);
}

static void print_options(wr_printer *p, const wr_ast_options *options, bool keys_only) {
    OUT("(");
    for (uint32_t i = 0; i < options->n; i++) {
        if (i) OUT(",");
        OUT("\n  ");
        string(p, options->at[i].key);
        if (!keys_only) OUT(" = "), string(p, options->at[i].value);
    }
    OUT(options->n ? "\n)" : ")");
}

static void print_enforced(wr_printer *p, bool not_enforced, bool enforced) {
    if (not_enforced) OUT(" NOT ENFORCED");
    if (enforced) OUT(" ENFORCED");
}

static void print_column(wr_printer *p, const wr_ast_column *c) {
    wr_sql_ident_text(c->name, p->out);
    if (c->kind == WR_AST_COL_COMPUTED) {
        OUT(" AS ");
        wr_print_expr(p, c->expr, LEVEL_ANY);
    } else if (c->kind != WR_AST_COL_NAME_ONLY) {
        OUT(" ");
        wr_print_type(p, c->type);
    }
    if (c->kind == WR_AST_COL_METADATA) {
        OUT(" METADATA");
        if (c->metadata_key.text.ptr) OUT(" FROM "), string(p, c->metadata_key);
        if (c->is_virtual) OUT(" VIRTUAL");
    }
    if (c->primary_key) OUT(" PRIMARY KEY");
    if (c->primary_key) print_enforced(p, c->not_enforced, c->enforced);
    if (c->unique) OUT(" UNIQUE");
    if (c->unique) print_enforced(p, c->not_enforced, c->enforced);
    print_comment(p, &c->comment, " ");
}

static void print_constraint(wr_printer *p, const wr_ast_constraint *c) {
    if (c->name.text.ptr) OUT("CONSTRAINT "), wr_sql_ident_text(c->name, p->out), OUT(" ");
    OUT(c->unique ? "UNIQUE " : "PRIMARY KEY ");
    wr_print_idents(p->out, &c->columns);
    print_enforced(p, c->not_enforced, c->enforced);
}

static void print_watermark(wr_printer *p, const wr_ast_watermark *w) {
    OUT("WATERMARK FOR ");
    name(p, w->column);
    OUT(" AS ");
    wr_print_expr(p, w->expr, LEVEL_ANY);
}

static void element_start(wr_printer *p, bool *first) {
    OUT(*first ? " (\n  " : ",\n  ");
    *first = false;
}

static void print_elements(wr_printer *p, const wr_ast_create_table *t) {
    bool first = true;
    for (uint32_t i = 0; i < t->columns.n; i++) element_start(p, &first), print_column(p, &t->columns.at[i]);
    for (uint32_t i = 0; i < t->watermarks.n; i++) element_start(p, &first), print_watermark(p, &t->watermarks.at[i]);
    for (uint32_t i = 0; i < t->constraints.n; i++) element_start(p, &first), print_constraint(p, &t->constraints.at[i]);
    if (!first) OUT("\n)");
}

static void print_distribution(wr_printer *p, const wr_ast_create_table *t) {
    if (!t->distributed) return;
    OUT("\nDISTRIBUTED");
    if (t->dist_columns.n) {
        OUT(" BY ");
        if (wr_str_ieq(t->dist_kind.text, WR_STR("RANGE")) && !t->dist_kind.quoted) OUT("RANGE");
        else if (t->dist_kind.text.ptr) wr_sql_ident_text(t->dist_kind, p->out);
        wr_print_idents(p->out, &t->dist_columns);
    }
    if (t->dist_buckets >= 0) wr_sbuf_printf(p->out, " INTO %lld BUCKETS", (long long)t->dist_buckets);
}

static void print_like(wr_printer *p, const wr_ast_create_table *t) {
    static const char *const MODES[] = {"INCLUDING ", "EXCLUDING ", "OVERWRITING "};
    OUT("\nLIKE ");
    name(p, t->like);
    for (uint32_t i = 0; i < t->like_options.n; i++) {
        OUT(i ? "\n  " : " (\n  ");
        OUT(MODES[t->like_options.at[i].mode]);
        wr_sbuf_add_str(p->out, t->like_options.at[i].what);
    }
    if (t->like_options.n) OUT("\n)");
}

static void print_create_table(wr_printer *p, const wr_ast_create_table *t) {
    OUT(t->replace ? "REPLACE " : "CREATE ");
    if (t->or_replace && !t->replace) OUT("OR REPLACE ");
    if (t->or_alter) OUT("OR ALTER ");
    if (t->temporary) OUT("TEMPORARY ");
    if (t->materialized) OUT("MATERIALIZED ");
    OUT(t->if_not_exists ? "TABLE IF NOT EXISTS " : "TABLE ");
    name(p, t->name);
    print_elements(p, t);
    print_comment(p, &t->comment, "\n");
    print_distribution(p, t);
    if (t->partitioned_by.n) OUT("\nPARTITIONED BY "), wr_print_idents(p->out, &t->partitioned_by);
    if (t->options.n) OUT("\nWITH "), print_options(p, &t->options, false);
    if (t->like.n) print_like(p, t);
    if (t->freshness) OUT("\nFRESHNESS = "), wr_print_expr(p, t->freshness, LEVEL_ANY);
    if (t->refresh_mode.text.ptr) {
        OUT("\nREFRESH_MODE = ");
        if (wr_str_ieq(t->refresh_mode.text, WR_STR("FULL"))) OUT("FULL");
        else wr_sql_ident_text(t->refresh_mode, p->out);
    }
    if (t->as) OUT("\nAS "), wr_print_query(p, t->as);
}

static void print_create_view(wr_printer *p, const wr_ast_create_view *v) {
    OUT("CREATE ");
    if (v->or_replace) OUT("OR REPLACE ");
    if (v->or_alter) OUT("OR ALTER ");
    if (v->temporary) OUT("TEMPORARY ");
    if (v->materialized) OUT("MATERIALIZED ");
    OUT(v->if_not_exists ? "VIEW IF NOT EXISTS " : "VIEW ");
    name(p, v->name);
    for (uint32_t i = 0; i < v->columns.n; i++) {
        OUT(i ? ", " : " (");
        wr_sql_ident_text(v->columns.at[i].name, p->out);
        print_comment(p, &v->columns.at[i].comment, " ");
    }
    if (v->columns.n) OUT(")");
    print_comment(p, &v->comment, "\n");
    if (v->options.n) OUT("\nWITH "), print_options(p, &v->options, false);
    OUT(" AS\n");
    wr_print_query(p, v->query);
}

static void print_create_function(wr_printer *p, const wr_ast_create_function *f) {
    OUT(f->or_alter ? "ALTER " : "CREATE ");
    if (f->temporary) OUT("TEMPORARY ");
    if (f->system) OUT("SYSTEM ");
    OUT("FUNCTION ");
    if (f->if_not_exists) OUT(f->or_alter ? "IF EXISTS " : "IF NOT EXISTS ");
    name(p, f->name);
    OUT(" AS ");
    string(p, f->implementation);
    if (f->language.text.ptr) OUT(" LANGUAGE "), wr_sql_ident_text(f->language, p->out);
    for (uint32_t i = 0; i < f->jars.n; i++) {
        OUT(i ? ", JAR " : " USING JAR ");
        string(p, f->jars.at[i]);
    }
    for (uint32_t i = 0; i < f->libraries.n; i++) {
        OUT(i || f->jars.n ? ", LIBRARY " : " USING LIBRARY ");
        string(p, f->libraries.at[i]);
    }
}

static const char *object_text(wr_ast_object what) {
    static const char *const TEXT[] = {"TABLE", "VIEW", "MATERIALIZED TABLE", "MATERIALIZED VIEW", "FUNCTION", "DATABASE", "CATALOG", "MODULES", "MODULE", "MODULE"};
    return TEXT[what];
}

static void print_drop(wr_printer *p, const wr_ast_drop *d) {
    OUT("DROP ");
    if (d->temporary) OUT("TEMPORARY ");
    if (d->system) OUT("SYSTEM ");
    OUT(object_text(d->what));
    OUT(d->if_exists ? " IF EXISTS " : " ");
    name(p, d->name);
    if (d->cascade) OUT(" CASCADE");
    if (d->restrict_) OUT(" RESTRICT");
}

static void print_element(wr_printer *p, const wr_ast_alter_action *a) {
    if (a->kind == WR_ALTER_ADD_COLUMN || a->kind == WR_ALTER_MODIFY_COLUMN) {
        print_column(p, &a->column);
        if (a->first) OUT(" FIRST");
        if (a->after.text.ptr) OUT(" AFTER "), wr_sql_ident_text(a->after, p->out);
    } else if (a->kind == WR_ALTER_ADD_CONSTRAINT || a->kind == WR_ALTER_MODIFY_CONSTRAINT) {
        print_constraint(p, &a->constraint);
    } else {
        print_watermark(p, &a->watermark);
    }
}

/* ADD (..), MODIFY (..): all actions of the statement. */
static void print_changes(wr_printer *p, const wr_ast_alter *a) {
    bool modify = a->actions.at[0].kind == WR_ALTER_MODIFY_COLUMN || a->actions.at[0].kind == WR_ALTER_MODIFY_CONSTRAINT ||
                  a->actions.at[0].kind == WR_ALTER_MODIFY_WATERMARK;
    OUT(modify ? "MODIFY (" : "ADD (");
    for (uint32_t i = 0; i < a->actions.n; i++) {
        OUT(i ? ",\n  " : "\n  ");
        print_element(p, &a->actions.at[i]);
    }
    OUT("\n)");
}

static void print_action(wr_printer *p, const wr_ast_alter *alter) {
    const wr_ast_alter_action *a = &alter->actions.at[0];
    switch (a->kind) {
    case WR_ALTER_RENAME: OUT("RENAME TO "), name(p, a->new_name); break;
    case WR_ALTER_SET: OUT("SET "), print_options(p, &a->options, false); break;
    case WR_ALTER_RESET: OUT("RESET "), print_options(p, &a->options, true); break;
    case WR_ALTER_DROP_COLUMNS: OUT("DROP "), wr_print_idents(p->out, &a->names); break;
    case WR_ALTER_RENAME_COLUMN:
        OUT("RENAME ");
        wr_sql_ident_text(a->names.at[0], p->out);
        OUT(" TO ");
        wr_sql_ident_text(a->names.at[1], p->out);
        break;
    case WR_ALTER_DROP_CONSTRAINT: OUT("DROP CONSTRAINT "), wr_sql_ident_text(a->names.at[0], p->out); break;
    case WR_ALTER_DROP_PRIMARY_KEY: OUT("DROP PRIMARY KEY"); break;
    case WR_ALTER_DROP_WATERMARK: OUT("DROP WATERMARK"); break;
    case WR_ALTER_AS_QUERY: OUT("AS\n"), wr_print_query(p, a->query); break;
    case WR_ALTER_ADD_COLUMN:
    case WR_ALTER_MODIFY_COLUMN:
    case WR_ALTER_ADD_CONSTRAINT:
    case WR_ALTER_MODIFY_CONSTRAINT:
    case WR_ALTER_ADD_WATERMARK:
    case WR_ALTER_MODIFY_WATERMARK: print_changes(p, alter); break;
    }
}

static void print_alter(wr_printer *p, const wr_ast_alter *a) {
    OUT("ALTER ");
    OUT(object_text(a->what));
    OUT(a->if_exists ? " IF EXISTS " : " ");
    name(p, a->name);
    OUT(" ");
    print_action(p, a);
}

static void print_table_hints(wr_printer *p, const wr_ast_insert *i) {
    wr_ast_ref target = {.kind = WR_AST_REF_NAME, .hints = i->hints, .table = {.name = i->name}};
    wr_print_ref(p, &target);
}

static void print_insert(wr_printer *p, const wr_ast_insert *i) {
    OUT(i->overwrite ? "INSERT OVERWRITE " : "INSERT INTO ");
    print_table_hints(p, i);
    for (uint32_t k = 0; k < i->partition.n; k++) {
        OUT(k ? ", " : " PARTITION (");
        wr_sql_ident_text(i->partition.at[k].column, p->out);
        if (i->partition.at[k].value) OUT(" = "), wr_print_expr(p, i->partition.at[k].value, LEVEL_ANY);
    }
    if (i->partition.n) OUT(")");
    for (uint32_t k = 0; k < i->columns.n; k++) {
        OUT(k ? ", " : " (");
        name(p, i->columns.at[k]);
    }
    if (i->columns.n) OUT(")");
    OUT("\n");
    wr_print_query(p, i->query);
}

static void print_inserts(wr_printer *p, const wr_ast_stmts *inserts) {
    OUT("STATEMENT SET\nBEGIN\n");
    for (uint32_t i = 0; i < inserts->n; i++) {
        print_stmt(p, inserts->at[i]);
        OUT(";\n");
    }
    OUT("END");
}

static void print_explain(wr_printer *p, const wr_ast_explain *e) {
    static const char *const DETAILS[] = {"ESTIMATED_COST", "CHANGELOG_MODE", "JSON_EXECUTION_PLAN", "PLAN_ADVICE"};
    const char              *sep = " ";
    OUT("EXPLAIN");
    for (uint32_t i = 0; i < WR_COUNT_OF(DETAILS); i++) {
        if (e->details & (1u << i)) OUT(sep), OUT(DETAILS[i]), sep = ", ";
    }
    if (e->plan_for) OUT(" PLAN FOR");
    if (e->stmt->kind == WR_STMT_SET_OF_INSERTS) {
        OUT(" ");
        print_inserts(p, &e->stmt->inserts);
    } else {
        OUT("\n");
        print_stmt(p, e->stmt);
    }
}

static void print_show(wr_printer *p, const wr_ast_show *s) {
    static const char *const TEXT[] = {
        "CATALOGS", "CURRENT CATALOG", "DATABASES", "CURRENT DATABASE", "TABLES", "VIEWS", "MATERIALIZED TABLES", "MATERIALIZED VIEWS", "FUNCTIONS",
        "USER FUNCTIONS", "MODULES", "FULL MODULES", "COLUMNS", "CREATE TABLE", "CREATE VIEW", "CREATE MATERIALIZED TABLE", "CREATE CATALOG",
        "PARTITIONS", "JOBS", "JARS", "PROCEDURES",
    };
    bool of = s->kind == WR_SHOW_PARTITIONS || (s->kind >= WR_SHOW_CREATE_TABLE && s->kind <= WR_SHOW_CREATE_CATALOG);
    OUT("SHOW ");
    OUT(TEXT[s->kind]);
    if (s->name.n) OUT(of ? " " : " FROM "), name(p, s->name);
    if (!s->like.text.ptr) return;
    OUT(s->not_like ? " NOT" : "");
    OUT(s->ilike ? " ILIKE " : " LIKE ");
    string(p, s->like);
}

static void print_create_space(wr_printer *p, const wr_ast_create_space *c) {
    OUT(c->database ? "CREATE DATABASE " : "CREATE CATALOG ");
    if (c->if_not_exists) OUT("IF NOT EXISTS ");
    name(p, c->name);
    print_comment(p, &c->comment, "\n");
    if (c->options.n) OUT("\nWITH "), print_options(p, &c->options, false);
}

static void print_use(wr_printer *p, const wr_ast_use *u) {
    OUT(u->what == WR_OBJ_LOAD_MODULE ? "LOAD " : u->what == WR_OBJ_UNLOAD_MODULE ? "UNLOAD " : "USE ");
    if (u->what == WR_OBJ_CATALOG) OUT("CATALOG ");
    if (u->what == WR_OBJ_CATALOG || u->what == WR_OBJ_DATABASE) {
        name(p, u->name);
        return;
    }
    OUT(object_text(u->what));
    OUT(" ");
    for (uint32_t i = 0; i < u->modules.n; i++) {
        if (i) OUT(", ");
        wr_sql_ident_text(u->modules.at[i], p->out);
    }
}

static void print_setting(wr_printer *p, const wr_ast_stmt *s) {
    OUT(s->kind == WR_STMT_SET ? "SET" : "RESET");
    if (s->set.key.text.ptr) OUT(" "), string(p, s->set.key);
    if (s->set.value.text.ptr) OUT(" = "), string(p, s->set.value);
}

static void print_describe(wr_printer *p, const wr_ast_describe *d) {
    OUT("DESCRIBE ");
    if (d->what != WR_OBJ_TABLE) OUT(object_text(d->what)), OUT(" ");
    if (d->extended) OUT("EXTENDED ");
    name(p, d->name);
}

static void print_stmt(wr_printer *p, const wr_ast_stmt *s) {
    switch (s->kind) {
    case WR_STMT_QUERY: wr_print_query(p, s->query); break;
    case WR_STMT_INSERT: print_insert(p, &s->insert); break;
    case WR_STMT_SET_OF_INSERTS: OUT("EXECUTE "), print_inserts(p, &s->inserts); break;
    case WR_STMT_CREATE_TABLE: print_create_table(p, &s->create_table); break;
    case WR_STMT_CREATE_VIEW: print_create_view(p, &s->create_view); break;
    case WR_STMT_CREATE_FUNCTION:
    case WR_STMT_ALTER_FUNCTION: print_create_function(p, &s->create_function); break;
    case WR_STMT_CREATE_SPACE: print_create_space(p, &s->create_space); break;
    case WR_STMT_DROP: print_drop(p, &s->drop); break;
    case WR_STMT_ALTER: print_alter(p, &s->alter); break;
    case WR_STMT_USE: print_use(p, &s->use); break;
    case WR_STMT_SET:
    case WR_STMT_RESET: print_setting(p, s); break;
    case WR_STMT_EXPLAIN: print_explain(p, &s->explain); break;
    case WR_STMT_SHOW: print_show(p, &s->show); break;
    case WR_STMT_DESCRIBE: print_describe(p, &s->describe); break;
    }
}

void wr_sql_format(const wr_ast_stmt *stmt, wr_sbuf *out) {
    wr_printer p = {.out = out, .pretty = true};
    print_stmt(&p, stmt);
}
