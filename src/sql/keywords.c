/* sql/keywords.c: the words of the grammar, how each gives way to being a name, and the words Flink reserves beyond ours.
 *
 * Idea       one sorted table; the lexer looks every plain word up in it. Words that only Flink reserves matter to the formatter,
 *            which puts them in backticks so that the text can be read by Flink too.
 * Invariant  both tables are sorted (checked by a test); codes are those that lemon wrote into grammar.h.            */
#include "parse.h"
#include "grammar.h"
#include <ctype.h>

#define R WR_KW_RESERVED
#define F WR_KW_FREE
#define C WR_KW_CALL
static const wr_keyword KEYWORDS[] = {
    {"ABSENT", TK_ABSENT, F},
    {"ADD", TK_ADD, F},
    {"AFTER", TK_AFTER, F},
    {"ALL", TK_ALL, R},
    {"ALTER", TK_ALTER, F},
    {"AND", TK_AND, R},
    {"ANY", TK_ANY, C},
    {"ARRAY", TK_ARRAY, WR_KW_BRACKET},
    {"AS", TK_AS, R},
    {"ASC", TK_ASC, F},
    {"ASYMMETRIC", TK_ASYMMETRIC, F},
    {"BETWEEN", TK_BETWEEN, R},
    {"BOTH", TK_BOTH, F},
    {"BUCKETS", TK_BUCKETS, F},
    {"BY", TK_BY, F},
    {"CASCADE", TK_CASCADE, F},
    {"CASE", TK_CASE, R},
    {"CAST", TK_CAST, C},
    {"CATALOG", TK_CATALOG, F},
    {"CATALOGS", TK_CATALOGS, F},
    {"CEIL", TK_FLOOR, C},
    {"CEILING", TK_FLOOR, C},
    {"CHANGELOG_MODE", TK_CHANGELOG_MODE, F},
    {"COLUMN", TK_COLUMN, F},
    {"COLUMNS", TK_COLUMNS, F},
    {"COMMENT", TK_COMMENT, F},
    {"CONDITIONAL", TK_CONDITIONAL, F},
    {"CONSTRAINT", TK_CONSTRAINT, F},
    {"CREATE", TK_CREATE, R},
    {"CROSS", TK_CROSS, R},
    {"CUBE", TK_CUBE, C},
    {"CURRENT", TK_CURRENT, F},
    {"CURRENT_DATE", TK_NILADIC, WR_KW_NILADIC},
    {"CURRENT_TIME", TK_NILADIC, WR_KW_NILADIC},
    {"CURRENT_TIMESTAMP", TK_NILADIC, WR_KW_NILADIC},
    {"DATABASE", TK_DATABASE, F},
    {"DATABASES", TK_DATABASES, F},
    {"DATE", TK_DATE, WR_KW_LITERAL},
    {"DAY", TK_DAY, F},
    {"DAYS", TK_DAY, F},
    {"DEFAULT", TK_DEFAULT, F},
    {"DEFINE", TK_DEFINE, F},
    {"DESC", TK_DESC, F},
    {"DESCRIBE", TK_DESCRIBE, F},
    {"DESCRIPTOR", TK_DESCRIPTOR, C},
    {"DISTINCT", TK_DISTINCT, R},
    {"DISTRIBUTED", TK_DISTRIBUTED, F},
    {"DROP", TK_DROP, F},
    {"ELSE", TK_ELSE, R},
    {"EMPTY", TK_EMPTY, F},
    {"END", TK_END, WR_KW_END},
    {"ENFORCED", TK_ENFORCED, F},
    {"ERROR", TK_ERROR, F},
    {"ESCAPE", TK_ESCAPE, F},
    {"ESTIMATED_COST", TK_ESTIMATED_COST, F},
    {"EXCEPT", TK_EXCEPT, R},
    {"EXCLUDING", TK_EXCLUDING, F},
    {"EXISTS", TK_EXISTS, F},
    {"EXPLAIN", TK_EXPLAIN, F},
    {"EXTENDED", TK_EXTENDED, F},
    {"EXTRACT", TK_EXTRACT, C},
    {"FALSE", TK_FALSE, R},
    {"FETCH", TK_FETCH, F},
    {"FILTER", TK_FILTER, C},
    {"FINAL", TK_FINAL, WR_KW_RUNNING},
    {"FIRST", TK_FIRST, F},
    {"FLOOR", TK_FLOOR, C},
    {"FOLLOWING", TK_FOLLOWING, F},
    {"FOR", TK_FOR, R},
    {"FRESHNESS", TK_FRESHNESS, F},
    {"FROM", TK_FROM, R},
    {"FULL", TK_FULL, F},
    {"FUNCTION", TK_FUNCTION, F},
    {"FUNCTIONS", TK_FUNCTIONS, F},
    {"GROUP", TK_GROUP, R},
    {"GROUPING", TK_GROUPING, F},
    {"HAVING", TK_HAVING, R},
    {"HOUR", TK_HOUR, F},
    {"HOURS", TK_HOUR, F},
    {"IF", TK_IF, F},
    {"IGNORE", TK_IGNORE, F},
    {"ILIKE", TK_ILIKE, F},
    {"IN", TK_IN, R},
    {"INCLUDING", TK_INCLUDING, F},
    {"INNER", TK_INNER, R},
    {"INSERT", TK_INSERT, F},
    {"INTERSECT", TK_INTERSECT, R},
    {"INTERVAL", TK_INTERVAL, WR_KW_INTERVAL},
    {"INTO", TK_INTO, R},
    {"IS", TK_IS, R},
    {"JAR", TK_JAR, F},
    {"JARS", TK_JARS, F},
    {"JOBS", TK_JOBS, F},
    {"JOIN", TK_JOIN, R},
    {"JSON", TK_JSON, F},
    {"JSON_ARRAY", TK_JSON_LIST, C},
    {"JSON_ARRAYAGG", TK_JSON_LIST, C},
    {"JSON_EXECUTION_PLAN", TK_JSON_EXECUTION_PLAN, F},
    {"JSON_EXISTS", TK_JSON_LIST, C},
    {"JSON_OBJECT", TK_JSON_PAIRS, C},
    {"JSON_OBJECTAGG", TK_JSON_PAIRS, C},
    {"JSON_QUERY", TK_JSON_LIST, C},
    {"JSON_VALUE", TK_JSON_LIST, C},
    {"KEY", TK_KEY, F},
    {"LANGUAGE", TK_LANGUAGE, F},
    {"LAST", TK_LAST, F},
    {"LATERAL", TK_LATERAL, R},
    {"LEADING", TK_LEADING, F},
    {"LEFT", TK_LEFT, WR_KW_JOIN},
    {"LIKE", TK_LIKE, R},
    {"LIMIT", TK_LIMIT, R},
    {"LOAD", TK_LOAD, F},
    {"LOCAL", TK_LOCAL, F},
    {"LOCALTIME", TK_NILADIC, WR_KW_NILADIC},
    {"LOCALTIMESTAMP", TK_NILADIC, WR_KW_NILADIC},
    {"MAP", TK_MAP, WR_KW_BRACKET},
    {"MATCH", TK_MATCH, F},
    {"MATCH_RECOGNIZE", TK_MATCH_RECOGNIZE, C},
    {"MATERIALIZED", TK_MATERIALIZED, F},
    {"MEASURES", TK_MEASURES, F},
    {"METADATA", TK_METADATA, F},
    {"MINUTE", TK_MINUTE, F},
    {"MINUTES", TK_MINUTE, F},
    {"MODIFY", TK_MODIFY, F},
    {"MODULE", TK_MODULE, F},
    {"MODULES", TK_MODULES, F},
    {"MONTH", TK_MONTH, F},
    {"MONTHS", TK_MONTH, F},
    {"MULTISET", TK_MULTISET, WR_KW_BRACKET},
    {"NATURAL", TK_NATURAL, R},
    {"NEXT", TK_NEXT, F},
    {"NOT", TK_NOT, R},
    {"NULL", TK_NULL, R},
    {"NULLS", TK_NULLS, F},
    {"OBJECT", TK_OBJECT, F},
    {"OF", TK_OF, F},
    {"OFFSET", TK_OFFSET, F},
    {"ON", TK_ON, R},
    {"ONE", TK_ONE, F},
    {"ONLY", TK_ONLY, F},
    {"OR", TK_OR, R},
    {"ORDER", TK_ORDER, R},
    {"ORDINALITY", TK_ORDINALITY, F},
    {"OUTER", TK_OUTER, F},
    {"OVER", TK_OVER, F},
    {"OVERLAPS", TK_OVERLAPS, F},
    {"OVERLAY", TK_OVERLAY, C},
    {"OVERWRITE", TK_OVERWRITE, F},
    {"OVERWRITING", TK_OVERWRITING, F},
    {"PARTITION", TK_PARTITION, F},
    {"PARTITIONED", TK_PARTITIONED, F},
    {"PARTITIONS", TK_PARTITIONS, F},
    {"PAST", TK_PAST, F},
    {"PATTERN", TK_PATTERN, F},
    {"PER", TK_PER, F},
    {"PERMUTE", TK_PERMUTE, C},
    {"PLACING", TK_PLACING, F},
    {"PLAN", TK_PLAN, F},
    {"PLAN_ADVICE", TK_PLAN_ADVICE, F},
    {"POSITION", TK_POSITION, C},
    {"PRECEDING", TK_PRECEDING, F},
    {"PRECISION", TK_PRECISION, F},
    {"PRIMARY", TK_PRIMARY, F},
    {"PROCEDURES", TK_PROCEDURES, F},
    {"QUALIFY", TK_QUALIFY, F},
    {"QUARTER", TK_QUARTER, F},
    {"QUARTERS", TK_QUARTER, F},
    {"RANGE", TK_RANGE, F},
    {"RECURSIVE", TK_RECURSIVE, F},
    {"REFRESH_MODE", TK_REFRESH_MODE, F},
    {"RENAME", TK_RENAME, F},
    {"REPLACE", TK_REPLACE, F},
    {"RESET", TK_RESET, F},
    {"RESPECT", TK_RESPECT, F},
    {"RESTRICT", TK_RESTRICT, F},
    {"RETURNING", TK_RETURNING, F},
    {"RIGHT", TK_RIGHT, WR_KW_JOIN},
    {"ROLLUP", TK_ROLLUP, C},
    {"ROW", TK_ROW, R},
    {"ROWS", TK_ROWS, F},
    {"RUNNING", TK_RUNNING, WR_KW_RUNNING},
    {"SCALAR", TK_SCALAR, F},
    {"SECOND", TK_SECOND, F},
    {"SECONDS", TK_SECOND, F},
    {"SELECT", TK_SELECT, R},
    {"SET", TK_SET, F},
    {"SETS", TK_SETS, F},
    {"SHOW", TK_SHOW, F},
    {"SIMILAR", TK_SIMILAR, F},
    {"SKIP", TK_SKIP, F},
    {"SOME", TK_ANY, C},
    {"SUBSET", TK_SUBSET, F},
    {"SUBSTRING", TK_SUBSTRING, C},
    {"SYMMETRIC", TK_SYMMETRIC, F},
    {"SYSTEM", TK_SYSTEM, F},
    {"SYSTEM_TIME", TK_SYSTEM_TIME, F},
    {"TABLE", TK_TABLE, R},
    {"TABLES", TK_TABLES, F},
    {"TEMPORARY", TK_TEMPORARY, F},
    {"THEN", TK_THEN, R},
    {"TIME", TK_TIME, WR_KW_LITERAL},
    {"TIMESTAMP", TK_TIMESTAMP, WR_KW_LITERAL},
    {"TO", TK_TO, F},
    {"TRAILING", TK_TRAILING, F},
    {"TRIM", TK_TRIM, C},
    {"TRUE", TK_TRUE, R},
    {"TRY_CAST", TK_TRY_CAST, C},
    {"UNBOUNDED", TK_UNBOUNDED, F},
    {"UNCONDITIONAL", TK_UNCONDITIONAL, F},
    {"UNION", TK_UNION, R},
    {"UNIQUE", TK_UNIQUE, F},
    {"UNKNOWN", TK_UNKNOWN, F},
    {"UNLOAD", TK_UNLOAD, F},
    {"UNNEST", TK_UNNEST, C},
    {"USE", TK_USE, F},
    {"USER", TK_USER, F},
    {"USING", TK_USING, R},
    {"VALUE", TK_VALUE, F},
    {"VALUES", TK_VALUES, R},
    {"VARYING", TK_VARYING, F},
    {"VIEW", TK_VIEW, F},
    {"VIEWS", TK_VIEWS, F},
    {"VIRTUAL", TK_VIRTUAL, F},
    {"WATERMARK", TK_WATERMARK, F},
    {"WEEK", TK_WEEK, F},
    {"WEEKS", TK_WEEK, F},
    {"WHEN", TK_WHEN, R},
    {"WHERE", TK_WHERE, R},
    {"WINDOW", TK_WINDOW, F},
    {"WITH", TK_WITH, R},
    {"WITHIN", TK_WITHIN, F},
    {"WITHOUT", TK_WITHOUT, F},
    {"WRAPPER", TK_WRAPPER, F},
    {"YEAR", TK_YEAR, F},
    {"YEARS", TK_YEAR, F},
    {"ZONE", TK_ZONE, F},
};
#undef R
#undef F
#undef C

/* Reserved by Flink 2.x and no keyword of our grammar. */
static const char *const FLINK_RESERVED[] = {
    "ABS", "ALLOCATE", "ALLOW", "ANALYZE", "ARE", "ARRAY_AGG", "ASENSITIVE", "AT", "ATOMIC", "AUTHORIZATION", "AVG", "BEGIN", "BIGINT",
    "BINARY", "BIT", "BLOB", "BOOLEAN", "BYTES", "CALL", "CALLED", "CARDINALITY", "CASCADED", "CHAR", "CHARACTER", "CHARACTER_LENGTH",
    "CHAR_LENGTH", "CHECK", "CLASSIFIER", "CLOB", "CLOSE", "COALESCE", "COLLATE", "COLLECT", "COMMIT", "CONNECT", "CONTAINS", "CONVERT",
    "CORR", "CORRESPONDING", "COUNT", "COVAR_POP", "COVAR_SAMP", "CUME_DIST", "CURRENT_CATALOG", "CURRENT_ROLE", "CURRENT_SCHEMA",
    "CURRENT_USER", "CURSOR", "CYCLE", "DEALLOCATE", "DEC", "DECIMAL", "DECLARE", "DELETE", "DENSE_RANK", "DEREF", "DETERMINISTIC",
    "DISALLOW", "DISCONNECT", "DOUBLE", "DYNAMIC", "EACH", "ELEMENT", "END_EXEC", "EQUALS", "EVERY", "EXEC", "EXECUTE", "EXP", "EXPLAIN",
    "EXTEND", "EXTERNAL", "FIRST_VALUE", "FLOAT", "FOREIGN", "FREE", "FUSION", "GET", "GLOBAL", "GRANT", "GROUPS", "HOLD", "IDENTITY",
    "IMPORT", "INDICATOR", "INITIAL", "INOUT", "INSENSITIVE", "INT", "INTEGER", "INTERSECTION", "LAG", "LARGE", "LAST_VALUE", "LEAD",
    "LIKE_REGEX", "LN", "LOWER", "MATCHES", "MATCH_NUMBER", "MAX", "MEMBER", "MERGE", "METHOD", "MIN", "MINUS", "MOD", "MODIFIES",
    "NATIONAL", "NCHAR", "NCLOB", "NEW", "NO", "NONE", "NORMALIZE", "NTH_VALUE", "NTILE", "NULLIF", "NUMERIC",
    "OCCURRENCES_REGEX", "OCTET_LENGTH", "OLD", "OMIT", "OPEN", "OUT", "PARAMETER", "PERCENT", "PERCENTILE_CONT", "PERCENTILE_DISC",
    "PERCENT_RANK", "PERIOD", "PIVOT", "PORTION", "POSITION_REGEX", "POWER", "PRECEDES", "PREPARE", "PREV", "PROCEDURE", "RANK", "RAW",
    "READS", "REAL", "REF", "REFERENCES", "REFERENCING", "RELEASE", "RESULT", "RETURN", "RETURNS", "REVOKE", "ROLLBACK", "ROW_NUMBER",
    "SAVEPOINT", "SCOPE", "SCROLL", "SEARCH", "SEEK", "SENSITIVE", "SESSION_USER", "SHOW", "SMALLINT", "SPECIFIC", "SPECIFICTYPE", "SQL",
    "SQLEXCEPTION", "SQLSTATE", "SQLWARNING", "SQRT", "START", "STATEMENT", "STATIC", "STDDEV_POP", "STDDEV_SAMP", "STREAM", "STRING",
    "SUBMULTISET", "SUBSTRING_REGEX", "SUCCEEDS", "SUM", "SYSTEM_USER", "TABLESAMPLE", "TIMEZONE_HOUR", "TIMEZONE_MINUTE", "TINYINT",
    "TRANSLATE", "TRANSLATE_REGEX", "TRANSLATION", "TREAT", "TRIGGER", "TRIM_ARRAY", "TRUNCATE", "UESCAPE", "UPDATE", "UPPER", "UPSERT",
    "VARBINARY", "VARCHAR", "VARIANT", "VAR_POP", "VAR_SAMP", "VERSIONING", "WIDTH_BUCKET",
};

enum { WORD_MAX = 24 };

static bool upper_word(wr_str word, char out[WORD_MAX]) {
    if (word.len == 0 || word.len >= WORD_MAX) return false;
    for (size_t i = 0; i < word.len; i++) {
        unsigned char c = (unsigned char)word.ptr[i];
        if (c >= 0x80) return false;
        out[i] = (char)(c >= 'a' && c <= 'z' ? c - 32 : c);
    }
    out[word.len] = 0;
    return true;
}

const wr_keyword *wr_sql_keyword(wr_str word) {
    char text[WORD_MAX];
    if (!upper_word(word, text)) return NULL;
    size_t low = 0, high = WR_COUNT_OF(KEYWORDS);
    while (low < high) {
        size_t mid = (low + high) / 2;
        int    c = strcmp(text, KEYWORDS[mid].text);
        if (c == 0) return &KEYWORDS[mid];
        if (c < 0) high = mid;
        else low = mid + 1;
    }
    return NULL;
}

const wr_keyword *wr_sql_keyword_at(size_t i) { return i < WR_COUNT_OF(KEYWORDS) ? &KEYWORDS[i] : NULL; }
const char       *wr_sql_word_at(size_t i) { return i < WR_COUNT_OF(KEYWORDS) ? KEYWORDS[i].text : NULL; }
const char       *wr_sql_flink_word_at(size_t i) { return i < WR_COUNT_OF(FLINK_RESERVED) ? FLINK_RESERVED[i] : NULL; }

static bool flink_reserved(wr_str word) {
    char text[WORD_MAX];
    if (!upper_word(word, text)) return false;
    size_t low = 0, high = WR_COUNT_OF(FLINK_RESERVED);
    while (low < high) {
        size_t mid = (low + high) / 2;
        int    c = strcmp(text, FLINK_RESERVED[mid]);
        if (c == 0) return true;
        if (c < 0) high = mid;
        else low = mid + 1;
    }
    return false;
}

bool wr_sql_is_reserved(wr_str word) {
    const wr_keyword *k = wr_sql_keyword(word);
    return k && (k->mode == WR_KW_RESERVED || k->mode == WR_KW_JOIN || k->mode == WR_KW_NILADIC);
}

static bool plain_word(wr_str word) {
    for (size_t i = 0; i < word.len; i++) {
        unsigned char c = (unsigned char)word.ptr[i];
        bool          letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        if (!letter && (i == 0 || !(c >= '0' && c <= '9'))) return false;
    }
    return word.len > 0;
}

bool wr_sql_needs_quotes(wr_str word) { return !plain_word(word) || wr_sql_keyword(word) || flink_reserved(word); }

const char *wr_sql_token_name(int code) {
    static const struct { int code; const char *name; } SIGNS[] = {
        {TK_COMMA, ","}, {TK_LP, "("}, {TK_RP, ")"}, {TK_LB, "["}, {TK_RB, "]"}, {TK_DOT, "."}, {TK_EQ, "="}, {TK_ARROW, "=>"},
        {TK_STAR, "*"}, {TK_PLUS, "+"}, {TK_MINUS, "-"}, {TK_SLASH, "/"}, {TK_PERCENT, "%"}, {TK_CONCAT, "||"}, {TK_NE, "<>"},
        {TK_LT, "<"}, {TK_LE, "<="}, {TK_GT, ">"}, {TK_GE, ">="}, {TK_PIPE, "|"}, {TK_LBRACE, "{"}, {TK_RBRACE, "}"},
        {TK_LBRACE_MINUS, "{-"}, {TK_MINUS_RBRACE, "-}"}, {TK_QUESTION, "?"}, {TK_CARET, "^"}, {TK_DOLLAR, "$"},
        {TK_HINT_BEGIN, "/*+"}, {TK_HINT_END, "*/"}, {TK_INTEGER, "a whole number"}, {TK_STRING, "a string in '...'"},
        {TK_ID, "a name"}, {TK_ARRAY_POSTFIX, "ARRAY"}, {TK_MULTISET_POSTFIX, "MULTISET"},
    };
    for (size_t i = 0; i < WR_COUNT_OF(SIGNS); i++) {
        if (SIGNS[i].code == code) return SIGNS[i].name;
    }
    for (size_t i = 0; i < WR_COUNT_OF(KEYWORDS); i++) {
        if (KEYWORDS[i].code == code) {
            bool shown = code != TK_NILADIC && code != TK_JSON_LIST && code != TK_JSON_PAIRS;
            return shown ? KEYWORDS[i].text : NULL;
        }
    }
    return NULL;
}
