"""Rules of pruning made sharper than they may be: what is replaced in which module, and by what."""

from __future__ import annotations

from sdb.packfile.prune import inlist, ngrams, prune, rules
from sdb.query.analyze import regexes
from sdb.query.catalog import prefixes, reduction
from sdb.query.plan import keyfilters
from sdb.query.run import joinkeys

MUTATIONS = {
    "bounds are not values": (rules, "(least <= value)", "(least < value)"),
    "upper bounds neither": (rules, "bool(value <= greatest)", "bool(value < greatest)"),
    "at most is less": (rules, "](least, value))", "](least, value) and least != value)"),
    "at least is more": (
        rules,
        "](greatest, value))",
        "](greatest, value) and greatest != value)",
    ),
    "NaN has bounds": (rules, "if zone.has_nan or ", "if "),
    "numbers are doubles": (rules, "op, number)\n", "op, float(number))\n"),
    "one type of number": (rules, "zone.types & NUMBER_TYPES", "zone.types & (0b011 << 2)"),
    "integers are positive": (rules, "zone.types & NUMBER_TYPES", "zone.types & (0b101 << 2)"),
    "texts have an upper bound": (rules, "greatest is None or ", "greatest is not None and "),
    "prefixes are whole bounds": (rules, "least[: len(wanted)] <=", "least <="),
    "prefixes are below": (rules, "wanted <= greatest)", "wanted < greatest)"),
    "one prefix is enough": (rules, "any(prefix_fits", "all(prefix_fits"),
    "NULL is unequal to NULL": (rules, '{"=", "<=", ">="}', '{"<=", ">="}'),
    "NULL differs from nothing": (rules, "zone.types & ~kind)", "zone.types & ~kind & ~1)"),
    "types do not differ": (rules, "return bool(zone.types & ~kind) or ", "return "),
    "one time is all": (rules, "zone.times == (us, us)", "zone.times and zone.times[0] == us"),
    "one number is all": (
        rules,
        "zone.numbers == (value, value)",
        "zone.numbers and zone.numbers[1] == value",
    ),
    "NaN equals": (rules, "(value, value) and not zone.has_nan", "(value, value)"),
    "a boolean is all": (rules, "zone.booleans == (_TRUE if value else _FALSE)", "True"),
    "no booleans are less": (
        rules,
        "((False, _FALSE), (True, _TRUE))",
        "((True, _TRUE),)",
    ),
    "all is there": (rules, "or_missing and (", "False and ("),
    "one may lack": (rules, "zone.values < rows", "zone.values < rows - 1"),
    "elements are rows": (rules, "None in path or some_lack(", "some_lack("),
    "filters hold other numbers": (rules, "(number,)", "(number + 1,)"),
    "filters are for all ops": (rules, 'Compare(path, "=", str()', "Compare(path, _, str()"),
    "and is or": (prune, "common(left, possible(part, count, compared)) if left else ()", "()"),
    "lists are in summaries": (prune, "if None not in path:", "if path:"),
    "present is NULL": (prune, "return NULL_TYPE", "return 0"),
    "missing has no type": (prune, "return or_missing or", "return"),
    "FALSE is all that is not TRUE": (
        reduction,
        '"<>" if negated else "="',
        '"=" if negated else "="',
    ),
    "NOT stays": (
        reduction,
        "_reduce(operand, negated=not negated)",
        "_reduce(operand, negated=negated)",
    ),
    "OR of opposites": (reduction, '(op == "AND") is not negated', 'op == "AND"'),
    "NOT NULL is MISSING": (
        reduction,
        'types, words = ANY_TYPE & ~types, f"NOT',
        'types, words = types, f"NOT',
    ),
    "NULL is MISSING": (
        reduction,
        'types = 0 if expr.what == "MISSING" else NULL_TYPE',
        "types = NULL_TYPE\n    types &= 0 if expr.negated else 0",
    ),
    "NOT NULL is all": (reduction, "= not or_missing or (", "= False and ("),
    "IS NOT TRUE is FALSE": (reduction, "if truth:", "if False:"),
    "NOT LIKE is LIKE": (reduction, "negated=expr.negated is not negated", "negated=False"),
    "LIKE has no wildcards": (reduction, "if is_whole:", "if True:"),
    "lists do without": (reduction, "TypeTest(path, LIST_TYPE", "TypeTest(path, NULL_TYPE"),
    "folding is of ASCII": (prefixes, ', "")', ', "")[:0]'),
    "upper case alone": (prefixes, "else lower + upper", "else upper"),
    "regexes begin": (prefixes, 'not pattern.startswith("^") or ', ""),
    "alternatives have a begin": (prefixes, '("^") or "|" in pattern', '("^")'),
    "quantifiers ask for one": (prefixes, 'frozenset("*?{")', 'frozenset("*")'),
    "octets are short": (prefixes, "digits in (1, 2, 3)", "digits in (1,)"),
    "networks end at octets": (prefixes, "range(first, last + 1)", "range(first, last)"),
    "LIKE knows one wildcard": (prefixes, 'character in "%_"', 'character in "%"'),
    "escapes are wild": (prefixes, "if character == escape:", "if False:"),
}

WORD_MUTATIONS = {
    "one text of several is all": (
        ngrams,
        "return Either(tuple([_predicate(piece, test) for piece in needed]))",
        "return _predicate(needed[0], test)",
    ),
    "case is of ASCII": (reduction, "ascii_parts(part)", "[part]"),
    "cases of letters are of ASCII": (
        prefixes,
        "[part for part in _BEYOND_ASCII.split(text) if part]",
        "[text]",
    ),
    "an i is an i": (prefixes, "texts=held, i_form=I_FORMS[name]", "texts=held"),
    "equal texts have their i": (prefixes, "words, i_form=I_FORMS[name]", "words"),
    "both functions have one i": (prefixes, '"UPPER": "\\u0131"', '"UPPER": "\\u0130"'),
    "begins have a case": (prefixes, "[forms(prefix) for prefix in prefixes]", "[prefixes]"),
    "all i are known": (ngrams, "fillvalue=_REPLACED", 'fillvalue=""'),
    "an i has one form": (ngrams, '("i", test.i_form)', '("i",)'),
    "SIMILAR TO has no percent": (regexes, '"(?s:.*)"', '"(?:)"'),
    "SIMILAR TO has one alternative": (regexes, '"|*+?{},()"', '"*+?{},()"'),
    "case is the same": (reduction, 'ignore_case=match.op == "~*"', "ignore_case=False"),
    "LIKE has no escape": (
        reduction,
        "like_texts(match.pattern, match.escape)\n        case",
        "like_texts(match.pattern, None)\n        case",
    ),
    "LIKE is one text": (reduction, "tuple(filter(None, texts))", '("".join(texts),)'),
    "NOT is nothing": (
        reduction,
        "if negated or not (begins_with or held)",
        "if not (begins_with or held)",
    ),
    "NOT LIKE holds": (
        reduction,
        "    if negated:\n        return _is_text(path, words)",
        "    if False:\n        pass",
    ),
}

PREFIX_MUTATIONS = {
    "networks end early": (rules, "range(first, last + 1)", "range(first, last)"),
    "prefixes have one length": (rules, "1 << length | prefix", "1 << 8 | prefix"),
    "few begins are all": (rules, 'text[-1] != "."', "True"),
    "all texts are addresses": (
        rules,
        "if values is not None and prefixes else",
        "if values else",
    ),
    "a network is its first address": (reduction, "int(network[-1])", "int(network[0])"),
    "networks have no host bits": (reduction, "int(network[0]), int", "int(network[0]) + 1, int"),
    "others are in the network": (
        reduction,
        '    if negated:\n        return _is_text(path, "is a text")\n    words =',
        "    words =",
    ),
}

JOIN_MUTATIONS = {
    "keys end early": (inlist, "bisect_left(values[0], bounds[0])", "len(values[0]) // 2"),
    "keys are of one type": (
        inlist,
        "for value in (*near, *self._others)",
        "for value in near",
    ),
    "all keys are held": (
        inlist,
        "        return any(\n            (",
        "        return all(\n            (",
    ),
    "ON of outer joins is certain": (
        keyfilters,
        "if id(source) not in self._optional]",
        "]\n        self._inner, _OUTER = list(sources), ()",
    ),
    "less is equal": (keyfilters, 'part.op == "="', 'part.op in ("=", "<", "<>")'),
    "inner names are of the table": (
        joinkeys,
        "if rows is not None and not all",
        "if False and not all",
    ),
    "some keys are all": (
        joinkeys,
        "len(known) == len(literals) <= most",
        "len(known) <= most",
    ),
    "first value tells": (
        prune,
        "union(chain.from_iterable(ranges for _, ranges in answers))",
        "answers[0][1]",
    ),
}
