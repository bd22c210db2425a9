"""Names that say nothing by themselves: every language's own types have them, so a call on something unknown may mean any."""

from __future__ import annotations

_CONTAINERS = """
    add addAll add_all all any append at clear collect concat contains containsKey containsValue copy count delete difference discard each
    each_with_index empty entries enumerate every exists extend fill filter filter_map find findIndex find_all first flat flatMap flat_map
    flatten fold forEach for_each get getOrDefault get_mut get_or_insert_with group_by has hasNext has_key include includes index indexOf
    insert intersection isEmpty is_empty items iter iter_mut iterator join keys last len length map max min next none nth peek pop popitem
    push push_back push_str put putAll putIfAbsent reduce reject remove removeAll removeIf reverse reversed rev select set setdefault shift
    size skip slice some sort sortBy sort_by sorted splice stream sum take toArray toList to_a to_vec union uniq unshift update values zip
"""
_TEXTS = """
    capitalize charAt chars compare compareTo decode downcase encode end_with endsWith ends_with endswith equals format gsub hashCode lower
    lstrip match matches replace replaceAll rstrip split splitlines start_with startsWith starts_with startswith strip sub substr substring
    toLowerCase toString toUpperCase to_h to_i to_owned to_s to_str to_string to_sym trim upcase upper valueOf
"""
_VALUES_AND_LOCKS = """
    acquire and_then apply as_mut as_ref as_str bind borrow borrow_mut call catch clone cloned copied dup expect finally freeze ifPresent
    into isPresent is_a is_err is_none is_ok is_some lock map_err new nil ok ok_or or_else orElse orElseGet orElseThrow release respond_to
    then to_json unlock unwrap unwrap_or unwrap_or_default unwrap_or_else wait
"""
_STREAMS = (
    "close debug error flush info log print printf println puts read readLine readline readlines seek tell warn warning write writelines"
)
_FUNCTIONS = """
    abs bool cap cmp dict float getattr hasattr hash id int isinstance isset issubclass lambda list make panic parseInt proc raise range
    repr require round setattr str strlen super tuple type
"""
#: Written with a capital first they are the same, in languages that write methods so.
BUILTIN_NAMES = frozenset(
    form
    for words in (_CONTAINERS, _TEXTS, _VALUES_AND_LOCKS, _STREAMS, _FUNCTIONS)
    for one in words.split()
    for form in (one, one[0].upper() + one[1:])
)
