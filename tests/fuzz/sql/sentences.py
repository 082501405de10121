#!/usr/bin/env python3
"""Random sentences of src/sql/grammar.y, one statement a line: seeds for parse_fuzz, and a check that lexer, keyword decision
and grammar agree. A few sentences are refused for good reasons, such as INTERVAL '1' MONTH TO YEAR.

usage: sentences.py SEED COUNT [GRAMMAR]
"""
import random
import re
import sys

SIGNS = {
    "COMMA": ",", "LP": "(", "RP": ")", "LB": "[", "RB": "]", "DOT": ".", "EQ": "=", "ARROW": "=>", "STAR": "*", "PLUS": "+", "MINUS": "-",
    "SLASH": "/", "PERCENT": "%", "CONCAT": "||", "NE": "<>", "LT": "<", "LE": "<=", "GT": ">", "GE": ">=", "PIPE": "|", "LBRACE": "{",
    "RBRACE": "}", "LBRACE_MINUS": "{-", "MINUS_RBRACE": "-}", "QUESTION": "?", "CARET": "^", "DOLLAR": "$", "HINT_BEGIN": "/*+",
    "HINT_END": "*/", "WITH_ZONE": "WITH", "WITHOUT_ZONE": "WITHOUT", "ARRAY_POSTFIX": "ARRAY", "MULTISET_POSTFIX": "MULTISET",
    "JSON_PAIRS": "JSON_OBJECT", "APPROX": "1e3", "BINARY": "X'0aFF'",
}
CHOICES = {
    "ID": ["a", "b", "t", "x1", "Foo", "`a b`", "`select`", "`x``y`", "größe", "abc_d", "zz", "`order`", "`timestamp`", "data", "name"],
    "INTEGER": ["1", "0", "3", "9"],
    "DECIMAL": ["1.5", ".5", "3."],
    "STRING": ["'x'", "'it''s'", "''", "'a b'", "U&'\\0041'"],
    "NILADIC": ["CURRENT_DATE", "LOCALTIME", "CURRENT_TIMESTAMP"],
    "JSON_LIST": ["JSON_VALUE", "JSON_QUERY", "JSON_ARRAY"],
    "FLOOR": ["FLOOR", "CEIL"],
    "ANY": ["ANY", "SOME"],
}
ENDLESS = 10**6


def without_actions(text):
    """Drops comments and everything in braces."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    out, depth, at = [], 0, 0
    while at < len(text):
        c = text[at]
        if depth and c in "\"'":
            end = at + 1
            while text[end] != c:
                end += 2 if text[end] == "\\" else 1
            at = end + 1
            continue
        if c == "{":
            depth += 1
        elif c == "}":
            depth -= 1
        elif depth == 0:
            out.append(c)
        at += 1
    return "".join(out)


def read_rules(path):
    rules = {}
    with open(path, encoding="utf-8") as f:
        text = without_actions(f.read())
    for m in re.finditer(r"([a-z_]+)(?:\([A-Z]\))?\s*::=\s*([^.]*)\.", text):
        rules.setdefault(m.group(1), []).append([re.sub(r"\(.*?\)", "", x) for x in m.group(2).split()])
    return rules


def least_depths(rules):
    least = {name: ENDLESS for name in rules}
    changed = True
    while changed:
        changed = False
        for name, choices in rules.items():
            best = min(1 + max([0] + [least.get(x, 0) for x in rhs]) for rhs in choices)
            if best < least[name]:
                least[name] = best
                changed = True
    return least


def main():
    rnd = random.Random(int(sys.argv[1]))
    rules = read_rules(sys.argv[3] if len(sys.argv) > 3 else "src/sql/grammar.y")
    least = least_depths(rules)

    def depth(rhs):
        return 1 + max([0] + [least.get(x, 0) for x in rhs])

    def expand(symbol, budget, out):
        if symbol not in rules:
            out.append(rnd.choice(CHOICES[symbol]) if symbol in CHOICES else SIGNS.get(symbol, symbol))
            return
        choices = rules[symbol]
        fitting = [rhs for rhs in choices if depth(rhs) <= budget] or [min(choices, key=depth)]
        for x in rnd.choice(fitting):
            expand(x, budget - 1, out)

    for _ in range(int(sys.argv[2])):
        out = []
        expand("statement", rnd.choice([12, 16, 20, 24, 28]), out)
        if len(out) <= 3000:
            print(" ".join(out) + ";")


if __name__ == "__main__":
    main()
