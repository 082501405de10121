CREATE TABLE t (id INT, s STRING, p STRING, n INT) WITH ('connector'='filesystem','path'='${DIR}/strs.jsonl','format'='json');
-- case concat
SELECT id, s || p, CONCAT(s, '-', p), CONCAT_WS('/', s, p, 'z'), 'x' || s || 'y' FROM t;
-- case upper_lower_initcap
SELECT id, UPPER(s), LOWER(s), INITCAP(s) FROM t WHERE id NOT IN (3, 4);
-- case upper_lower_unicode
SELECT id, UPPER(s), LOWER(s) FROM t WHERE id IN (3, 4);
-- case lengths_basic
SELECT id, CHAR_LENGTH(s), CHARACTER_LENGTH(p) FROM t;
-- case substring
SELECT id, '[' || SUBSTRING(s, n) || ']', '[' || SUBSTRING(s, 2, 3) || ']', '[' || SUBSTRING(s FROM 3 FOR 2) || ']', '[' || SUBSTR(s, -3) || ']', '[' || SUBSTRING(s, 0, 2) || ']' FROM t;
-- case substring_edges
SELECT '[' || SUBSTRING('hello', 6) || ']', '[' || SUBSTRING('hello', 9, 2) || ']', '[' || SUBSTRING('hello', -3, 2) || ']', '[' || SUBSTRING('hello', 2, 0) || ']', '[' || SUBSTRING('hello', 4, 99) || ']';
-- case substring_far_negative
SELECT '[' || SUBSTRING('hello', -9) || ']', '[' || SUBSTRING('hello', -5) || ']', '[' || SUBSTRING('hello', -6, 3) || ']';
-- case trim
SELECT id, '[' || TRIM(s) || ']', '[' || TRIM(LEADING ' ' FROM s) || ']', '[' || TRIM(TRAILING ' ' FROM s) || ']', '[' || TRIM(BOTH 'a' FROM s) || ']', '[' || LTRIM(s) || ']', '[' || RTRIM(s) || ']' FROM t;
-- case btrim
SELECT id, '[' || BTRIM(s) || ']', '[' || BTRIM(s, 'ahd') || ']', '[' || LTRIM(s, 'ha') || ']', '[' || RTRIM(s, 'dx ') || ']' FROM t;
-- case pad
SELECT id, '[' || LPAD(s, n, '*') || ']', '[' || RPAD(s, n, 'ab') || ']', LPAD(s, 4, p), RPAD(s, 13, '') FROM t WHERE id <> 4;
-- case left_right
SELECT id, '[' || LEFT(s, n) || ']', '[' || RIGHT(s, n) || ']', LEFT(s, 2), RIGHT(s, 2) FROM t;
-- case repeat_reverse
SELECT id, REPEAT(p, 3), REVERSE(s), REPEAT(p, n) FROM t WHERE id <> 7;
-- case replace
SELECT id, REPLACE(s, p, '#'), REPLACE(s, 'l', ''), REPLACE(s, 'aa', 'a') FROM t WHERE id <> 2;
-- case replace_empty
SELECT REPLACE('', '', '#'), REPLACE('abc', '', '#'), REPLACE('abc', 'b', '');
-- case translate
SELECT id, TRANSLATE(s, 'lo', 'LO'), TRANSLATE(s, 'abc', 'x') FROM t;
-- case position
SELECT id, POSITION(p IN s), LOCATE(p, s), INSTR(s, p), LOCATE('o', s, 6) FROM t;
-- case overlay
SELECT id, OVERLAY(s PLACING '##' FROM 2), OVERLAY(s PLACING '##' FROM 2 FOR 1), OVERLAY(s PLACING '' FROM 1 FOR 2) FROM t WHERE id <> 4;
-- case ascii_chr
SELECT id, ASCII(s), CHR(n + 65) FROM t WHERE id NOT IN (3, 4);
-- case split_index
SELECT id, SPLIT_INDEX(s, ',', 0), SPLIT_INDEX(s, ',', 2), SPLIT_INDEX(s, ' ', 1), SPLIT_INDEX(s, ',', 9), SPLIT_INDEX(s, p, n) FROM t;
-- case starts_ends
SELECT id, STARTSWITH(s, 'h'), ENDSWITH(s, 'd'), STARTSWITH(s, p), ENDSWITH(s, p), STARTSWITH(s, '') FROM t;
-- case elt
SELECT id, ELT(n, 'one', 'two', s), ELT(1, s, p) FROM t;
-- case base64
SELECT id, TO_BASE64(s), FROM_BASE64(TO_BASE64(s)) FROM t;
-- case encode_decode
SELECT id, DECODE(ENCODE(s, 'UTF-8'), 'UTF-8') FROM t;
-- case url
SELECT id, URL_ENCODE(s), URL_DECODE(URL_ENCODE(s)) FROM t;
-- case parse_url
SELECT PARSE_URL('https://u:p@h.org:80/p/a.html?k1=v1&k2=v2#frag', 'HOST'), PARSE_URL('https://u:p@h.org:80/p/a.html?k1=v1&k2=v2#frag', 'PATH'), PARSE_URL('https://u:p@h.org:80/p/a.html?k1=v1&k2=v2#frag', 'QUERY'), PARSE_URL('https://u:p@h.org:80/p/a.html?k1=v1&k2=v2#frag', 'QUERY', 'k2'), PARSE_URL('https://u:p@h.org:80/p/a.html?k1=v1&k2=v2#frag', 'REF'), PARSE_URL('https://u:p@h.org:80/p/a.html?k1=v1&k2=v2#frag', 'PROTOCOL'), PARSE_URL('https://u:p@h.org:80/p/a.html?k1=v1&k2=v2#frag', 'AUTHORITY'), PARSE_URL('https://u:p@h.org:80/p/a.html?k1=v1&k2=v2#frag', 'FILE'), PARSE_URL('https://u:p@h.org:80/p/a.html?k1=v1&k2=v2#frag', 'USERINFO'), PARSE_URL('https://h.org/', 'QUERY');
-- case like
SELECT id, s LIKE 'h%', s LIKE '%o', s LIKE '_a_', s LIKE '%,%', s NOT LIKE '%a%', s LIKE '' FROM t;
-- case like_escape
SELECT id, s LIKE '%!%%' ESCAPE '!', s LIKE '%!_x%' ESCAPE '!', s LIKE '___%' FROM t;
-- case like_where
SELECT id FROM t WHERE s LIKE '%a%' OR s LIKE '% world';
-- case like_column_pattern
SELECT id, s LIKE p, s LIKE p || '%', s LIKE '%' || p || '%' FROM t WHERE id <> 8;
-- case like_unicode_newline
SELECT 'é😀x' LIKE '__x', 'a.b' LIKE 'a.b', 'axb' LIKE 'a.b', 'ABC' LIKE 'abc', 'a(b' LIKE 'a(%', 'a\b' LIKE 'a\b';
-- case similar
SELECT id, s SIMILAR TO '(h|a)%', s SIMILAR TO '[a-z ]+', s NOT SIMILAR TO '%o%', s SIMILAR TO 'a{3}', s SIMILAR TO '' FROM t;
-- case regexp
SELECT id, REGEXP(s, 'l+o'), REGEXP(s, '^a'), REGEXP(s, '[0-9]+'), s IS NULL FROM t;
-- case regexp_extract
SELECT id, REGEXP_EXTRACT(s, '([a-z]+) ([a-z]+)', 2), REGEXP_EXTRACT(s, '([a-z]+) ([a-z]+)', 0), REGEXP_EXTRACT(s, 'zz', 0), REGEXP_EXTRACT(s, '[0-9]+') FROM t;
-- case regexp_replace
SELECT id, REGEXP_REPLACE(s, '[aeiou]', '*'), REGEXP_REPLACE(s, '\s+', '_'), REGEXP_REPLACE(s, '', '-') FROM t WHERE id <> 4;
-- case regexp_replace_dollar
SELECT id, REGEXP_REPLACE(s, '(l)(o)', '$2$1') FROM t WHERE id = 1;
-- case regexp_count
SELECT id, REGEXP_COUNT(s, 'a'), REGEXP_INSTR(s, 'o'), REGEXP_SUBSTR(s, '[a-z]+') FROM t;
-- case regexp_classes
SELECT REGEXP_EXTRACT('order #123-ab', '#(\d+)-(\w+)', 1), REGEXP_EXTRACT('order #123-ab', '#(\d+)-(\w+)', 2), REGEXP('abc', '^b'), REGEXP('a.c', 'a\.c'), REGEXP_EXTRACT('aXbX', 'a(.*?)X', 1), REGEXP_EXTRACT('foothebar', 'foo(.*?)(bar)', 2);
-- case is_alpha_digit
SELECT id, IS_ALPHA(s), IS_DIGIT(s), IS_DECIMAL(s), IS_DIGIT('12'), IS_DECIMAL('1.5'), IS_ALPHA('ab') FROM t WHERE id <> 4;
-- case is_alpha_unicode
SELECT IS_ALPHA('é'), IS_ALPHA('é😀x'), IS_ALPHA('ß'), IS_DIGIT('１２');
-- case md5_sha
SELECT id, MD5(s), SHA1(s), SHA256(s) FROM t;
-- case sha_others
SELECT SHA224('abc'), SHA384('abc'), SHA512('abc'), SHA2('abc', 256), SHA2('abc', 512), MD5('');
-- case hex_unhex
SELECT id, HEX(s), DECODE(UNHEX(HEX(s)), 'UTF-8') FROM t;
-- case printf_levenshtein
SELECT PRINTF('%s-%d', 'a', 5), PRINTF('%5d|%-5s|%05.1f|%x|%%', 42, 'ab', CAST(3.14159 AS DOUBLE), 255);
-- case str_to_map
SELECT STR_TO_MAP('a=1,b=2')['b'], STR_TO_MAP('a:1;b:2', ';', ':')['a'], STR_TO_MAP('a=1')['zz'] FROM t WHERE id = 1;
-- case string_nulls
SELECT CONCAT('a', CAST(NULL AS STRING)), CONCAT_WS(CAST(NULL AS STRING), 'a', 'b'), CONCAT_WS('-', CAST(NULL AS STRING), 'b', ''), UPPER(CAST(NULL AS STRING)), REPLACE('abc', CAST(NULL AS STRING), 'x'), SUBSTRING('abc', CAST(NULL AS INT)), POSITION(CAST(NULL AS STRING) IN 'abc'), LPAD('a', 3, CAST(NULL AS STRING));
-- case quotes
SELECT 'it''s', 'a"b', CHAR_LENGTH(''''), 'x' || '''' || 'y';
