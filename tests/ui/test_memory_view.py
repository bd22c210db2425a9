"""The memory view: what its API tells of notes and does to them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sample_trees import git
from small_cases import each
from ui.kept_notes import EDITED, SECRET, Kept, keeping, two_teams
from ui.pages import Served


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kept]:
    """A server with notes of each state."""
    with keeping(tmp_path_factory.mktemp("kept")) as one:
        yield one


def listed(served: Served, query: str = "") -> dict[str, Any]:
    status, said = served.ask(f"notes?{query}")
    assert status == 200, said
    return said


def keys_of(served: Served, query: str = "") -> list[str]:
    return [one["key"] for one in listed(served, query)["notes"]]


def read(served: Served, key: str) -> dict[str, Any]:
    status, said = served.ask(f"notes/{key}")
    assert status == 200, said
    return said


def refused(answer: tuple[int, Any], status: int = 400) -> str:
    """One line that says what is wrong, and what to do."""
    assert answer[0] == status, answer
    assert "\n" not in answer[1]["error"]
    return f"{answer[1]['error']} ({answer[1]['hint']})"


# Listing.
def test_notes_are_listed_with_their_states(kept):
    states = {one["key"]: one["state"] for one in listed(kept.served, "state=all&k=500")["notes"]}
    assert {key: states[key] for key in kept.states} == kept.states


@pytest.mark.parametrize("state", ["fresh", "stale", "archived"])
def test_notes_are_narrowed_to_a_state_and_counted(kept, state):
    said = listed(kept.served, f"state={state}&k=500")
    assert {one["state"] for one in said["notes"]} == {state}
    assert said["total"] == len(said["notes"]) == said["counts"]["states"][state]
    assert said["every"] == listed(kept.served, "state=all")["total"]


def test_archived_notes_are_not_listed_unless_asked_for(kept):
    assert "shop/herring-supplier" not in keys_of(kept.served)
    assert "shop/herring-supplier" in keys_of(kept.served, "state=all")


def test_a_stale_note_says_what_became_of_its_code(kept):
    found = {one["key"]: one["changed"] for one in listed(kept.served, "state=stale")["notes"]}
    assert found["shop/discount-rule"] == "shop/price.py#discount: the code has changed since"
    assert found["shop/the-receipt"] == "shop/checkout.py#receipt: the code is gone"


def test_notes_are_narrowed_by_project_kind_tag_and_day(kept):
    assert keys_of(kept.served, "project=ops") == ["ops/deploy-hangs"]
    assert keys_of(kept.served, "tag=%23PRICE") == ["shop/discount-rule"]
    assert keys_of(kept.served, "kind=skill") == []
    assert keys_of(kept.served, "project=-") == ["general/nobodys"]
    assert keys_of(kept.served, "since=2001-02-03&until=2001-02-03") == ["general/nobodys"]
    assert keys_of(kept.served, "until=2001-02-02") == []


def test_notes_take_the_other_options_of_a_recall(kept):
    assert keys_of(kept.served, "topic=deploy+hangs") == ["ops/deploy-hangs"]
    assert listed(kept.served, "topic=deploy+hangs")["counts"]["projects"] == {"ops": 1}
    assert {one["label"] for one in listed(kept.served, "q=rollout&strategy=lexical")["notes"]} == {"keyword-only"}
    assert "unknown strategy" in refused(kept.served.ask("notes?q=rollout&strategy=odd"))


def test_each_filter_is_counted_with_the_others_as_they_are(kept):
    counts = listed(kept.served, "project=ops&tag=ops")["counts"]
    assert counts["projects"] == {"ops": 1}
    assert counts["tags"]["ops"] == 1
    assert "price" not in counts["tags"]


def test_the_timeline_has_every_day_whatever_days_are_asked_for(kept):
    whole, one_day = listed(kept.served)["days"], listed(kept.served, "since=2001-02-03&until=2001-02-03")["days"]
    assert whole == one_day
    assert {"day": "2001-02-03", "project": "", "fresh": 1, "stale": 0, "archived": 0} in whole
    assert [one["day"] for one in whole] == sorted(one["day"] for one in whole)
    assert sum(one["fresh"] + one["stale"] + one["archived"] for one in whole) == listed(kept.served)["total"]


def test_the_latest_come_first_and_only_so_many(kept):
    found = listed(kept.served, "k=2")
    assert len(found["notes"]) == 2 < found["total"]
    assert keys_of(kept.served)[-1] == "general/nobodys"


@each("query", ["k=0", "k=501", "state=odd", "since=yesterday", "until=2026-11", "colour=red"])
def test_a_question_that_makes_no_sense_is_refused(kept, query):
    refused(kept.served.ask(f"notes?{query}"), 422)


# Recall.
def test_a_question_recalls_the_notes_that_answer_it_and_says_why(kept):
    first = listed(kept.served, "q=why+does+the+rollout+hang")["notes"][0]
    assert (first["key"], first["label"]) == ("ops/deploy-hangs", "exact")
    assert first["score"] > 0
    assert all(line["signal"].startswith("note_") and line["because"] for line in first["why"] if line["contribution"])
    assert any(marked for line in first["lines"] for _, _, marked in line["runs"])


def test_the_parts_of_a_score_add_up_to_it(kept):
    found = listed(kept.served, "q=discount+of+pieces")["notes"][0]
    total = 0.0
    for line in found["why"]:
        total = total * line["contribution"] if line["operation"] == "x" else total + line["contribution"]
    assert total == pytest.approx(found["score"], abs=1e-5)


def test_a_recall_is_narrowed_as_a_list_is(kept):
    assert keys_of(kept.served, "q=discount+of+pieces&state=stale&tag=sales") == ["shop/discount-rule"]
    assert "ops/deploy-hangs" not in keys_of(kept.served, "q=deploy+hangs&project=shop")
    assert keys_of(kept.served, "q=herring&state=archived") == ["shop/herring-supplier"]


def test_a_question_that_nothing_answers_finds_nothing(kept):
    assert keys_of(kept.served, "q=zyxxyqq+qqqqv") == []


def test_what_only_shares_words_is_said_to(kept):
    said = listed(kept.served, "q=mailed+quaternion+asteroid+telescope")
    assert {one["label"] for one in said["notes"]} <= {"keyword-only", "faint"}
    assert said["said"] == ["low confidence: these notes only share words with the question"]


# One note.
def test_a_note_is_shown_with_what_became_of_its_code(kept):
    status, said = kept.served.ask("notes/shop/discount-rule/code")
    assert status == 200
    (code,) = said["code"]
    assert (code["code"], code["root"], code["state"]) == ("shop/price.py#discount", "shop", "changed")
    assert code["commit"] == git("rev-parse", "HEAD", cwd=kept.root).strip()
    assert [(one["sign"], one["text"].strip()) for one in code["lines"] if one["sign"] in "+-"] == [
        ("-", "return price * count * (1 - RATE if count > 10 else 1)"),
        ("+", "return price * count * (1 - RATE if count >= 12 else 1)"),
    ]


def test_code_that_is_gone_is_shown_as_it_was(kept):
    (code,) = kept.served.ask("notes/shop/the-receipt/code")[1]["code"]
    assert code["state"] == "gone"
    assert {one["sign"] for one in code["lines"]} == {"-"}
    assert code["lines"][0]["text"] == "def receipt(cart: Cart):"


def test_code_that_is_as_it_was_has_nothing_to_compare(kept):
    (code,) = kept.served.ask("notes/shop/who-empties-the-cart/code")[1]["code"]
    assert (code["state"], code["lines"]) == ("fresh", [])


def test_a_note_has_all_that_it_was_newest_first(kept):
    note = kept.wrote("One.\n", topic="history")
    note = kept.changed(note, text="Two.\n", tags=["twice"])
    assert [one["number"] for one in note["versions"]] == [2, 1]
    newest, oldest = note["versions"]
    assert [(one["sign"], one["text"]) for one in newest["lines"]] == [("-", "One."), ("+", "Two.")]
    assert newest["changed"] == ["tags"]
    assert (oldest["text"], oldest["lines"], oldest["changed"]) == ("One.\n", [], [])


def test_of_many_versions_the_newest_are_shown_under_their_own_numbers(kept):
    note = kept.wrote("0\n", topic="often")
    for number in range(1, 53):
        note = kept.changed(note, text=f"{number}\n")
    numbers = [one["number"] for one in note["versions"]]
    assert numbers == list(range(53, 3, -1))
    assert [(one["sign"], one["text"]) for one in note["versions"][-1]["lines"]] == [("-", "2"), ("+", "3")]


ACTIONS = ["", "/code", "/archive", "/restore", "/affirm", "/forget"]


@each("action", ACTIONS)
def test_a_note_that_is_not_there_is_told_in_one_line(kept, action):
    body = None if action == "/code" else {"expected": "x"} if not action else {}
    assert "there is no note 'shop/discount-rules' (" in refused(kept.served.ask(f"notes/shop/discount-rules{action}", body))
    assert "shop/discount-rule" in refused(kept.served.ask("notes/shop/discount-rules"))


@each("key", ["..%2F..%2Fetc/passwd", "shop/..%2F..%2Fsecret", "shop/%00", ".history/shop", "shop/" + "x" * 5000])
def test_a_key_leads_nowhere_else(kept, key):
    assert kept.served.ask(f"notes/{key}")[0] in (400, 404)


def test_a_file_in_trouble_is_listed_and_never_rewritten(kept):
    path = kept.by_hand("shop/broken.md", "---\nkind: [\n---\n\nStill a text.\n")
    before = path.read_bytes()
    note = read(kept.served, "shop/broken")
    assert note["trouble"]
    assert "shop/broken" in keys_of(kept.served)
    for action, body in (("", {"text": "Mended.\n"}), ("/archive", {}), ("/affirm", {})):
        assert kept.served.ask(f"notes/shop/broken{action}", {"expected": note["seen"], **body})[0] == 400
    assert path.read_bytes() == before


def test_a_secret_that_somebody_wrote_into_a_file_is_not_shown(kept):
    kept.by_hand("shop/leaky.md", f"---\nproject: shop\n---\n\nThe key is {SECRET}\n")
    kept.by_hand("shop/leaky.md", f"---\nproject: shop\n---\n\nThe key was {SECRET}\n")
    note = read(kept.served, "shop/leaky")
    draft = kept.served.ask("notes/merge-draft", {"notes": [{"key": "shop/leaky"}, {"key": "shop/who-empties-the-cart"}]})[1]
    assert SECRET not in f"{note} {listed(kept.served)} {draft}"
    assert len(note["hidden"]) == 1


# Writing.
def test_a_new_note_belongs_to_the_repository_and_knows_its_code(kept):
    note = kept.wrote("Totals are sums.\n", topic="totals", tags=["sum"], about=["shop/cart.py#Cart.total"], source="a talk")
    assert (note["key"], note["project"], note["state"], note["tags"]) == ("shop/totals", "shop", "fresh", ["sum"])
    assert [(one["code"], one["state"]) for one in note["about"]] == [("shop/cart.py#Cart.total", "fresh")]
    assert keys_of(kept.served, "q=totals+are+sums")[0] == "shop/totals"


def test_a_note_of_a_topic_that_is_there_is_not_replaced_unless_asked_for(kept):
    before = kept.wrote("First.\n", topic="a topic")
    answer = kept.served.ask("notes", {"text": "Second.\n", "topic": "A topic"})
    assert "shop/a-topic has this topic already" in refused(answer, 409)
    assert answer[1]["now"]["text"] == "First.\n"
    assert read(kept.served, before["key"])["seen"] == before["seen"]
    assert kept.wrote("Second.\n", topic="a topic", replace=True)["versions"][1]["text"] == "First.\n"


def test_a_topic_that_another_wrote_a_moment_ago_is_seen(kept):
    kept.by_hand("shop/just-now.md", "---\nproject: shop\ntopic: just now\n---\n\nBy another.\n")
    refused(kept.served.ask("notes", {"text": "Mine.\n", "topic": "just now"}), 409)


def test_an_edit_changes_what_was_sent_and_nothing_else(kept):
    before = kept.wrote("Text.\n", topic="edited", tags=["kept"], source="somewhere")
    after = kept.changed(before, valid_until="2030-01-01")
    assert (after["text"], after["tags"], after["source"], after["valid_until"][:10]) == ("Text.\n", ["kept"], "somewhere", "2030-01-01")
    assert kept.changed(after, valid_until="")["valid_until"] is None


def test_an_edit_leaves_the_code_as_it_was_known_and_takes_new_code_as_it_is(kept):
    note = kept.wrote(EDITED, topic="known code", about=["shop/cart.py#Cart.add"])
    with kept.cart_changed():
        stale = kept.changed(
            note, text="Another text.\n", about=["shop/cart.py#Cart.add", "shop/cart.py#Cart.total", "shop/cart.py#Cart.total"]
        )
        assert [(one["code"], one["state"]) for one in stale["about"]] == [
            ("shop/cart.py#Cart.add", "changed"),
            ("shop/cart.py#Cart.total", "fresh"),
        ]


def test_what_another_wrote_meanwhile_is_never_overwritten(kept):
    mine = kept.wrote("The first.\n", topic="contested")
    theirs = kept.changed(mine, text="Theirs.\n")
    for action, body in (("", {"text": "Mine.\n"}), ("/archive", {}), ("/affirm", {}), ("/forget", {})):
        answer = kept.served.ask(f"notes/{mine['key']}{action}", {"expected": mine["seen"], **body})
        assert "was changed meanwhile" in refused(answer, 409)
        assert answer[1]["now"]["text"] == "Theirs.\n"
    assert read(kept.served, mine["key"])["seen"] == theirs["seen"]


def test_a_conflict_tells_how_what_is_there_differs_from_what_was_sent(kept):
    mine = kept.wrote("One.\nTwo.\n", topic="compared")
    kept.changed(mine, text="One.\nThree.\n")
    said = kept.served.ask(f"notes/{mine['key']}", {"expected": mine["seen"], "text": "One.\nFour.\n"})[1]
    assert [(one["sign"], one["text"]) for one in said["lines"]] == [(" ", "One."), ("-", "Four."), ("+", "Three.")]


def test_a_file_that_was_edited_by_hand_is_not_overwritten(kept):
    mine = kept.wrote("As it was.\n", topic="by hand")
    path = kept.notes / "shop/by-hand.md"
    path.write_text(path.read_text(encoding="utf-8").replace("As it was.", "By hand."), encoding="utf-8")
    refused(kept.served.ask("notes/shop/by-hand", {"expected": mine["seen"], "text": "Mine.\n"}), 409)
    assert "By hand." in path.read_text(encoding="utf-8")


def test_an_edit_must_say_what_it_saw(kept):
    note = kept.wrote("Seen.\n", topic="unseen")
    for body in ({"text": "Mine.\n"}, {"text": "Mine.\n", "expected": ""}):
        refused(kept.served.ask(f"notes/{note['key']}", body), 422)
    assert read(kept.served, note["key"])["text"] == "Seen.\n"


@each(
    ("fields", "said"),
    [
        ({"text": "  \n"}, "the note is empty"),
        ({"kind": "rumour"}, "unknown kind 'rumour'"),
        ({"valid_from": "2030-01-02", "valid_until": "2030-01-01"}, "expire before it becomes valid"),
        ({"valid_from": "soon"}, "soon"),
        ({"about": ["shop/nothing.py"]}, "shop/nothing.py"),
        ({"about": ["shop/cart.py#Cart.totals"]}, "nearest: Cart.total"),
        ({"about": ["../../etc/passwd"]}, "etc/passwd"),
        ({"topic": "who empties the cart"}, "has the topic"),
    ],
)
def test_what_cannot_be_stored_is_refused_and_nothing_is_lost(kept, fields, said):
    note = kept.served.ask("notes", {"text": "Unharmed.\n", "topic": "unharmed", "replace": True})[1]
    assert said in refused(kept.served.ask(f"notes/{note['key']}", {"expected": note["seen"], **fields}))
    assert read(kept.served, note["key"])["seen"] == note["seen"]


@pytest.mark.parametrize("field", ["text", "topic", "source"])
def test_a_secret_is_refused_in_one_line_and_stored_without_itself_on_request(kept, field):
    note = kept.wrote("No secret.\n", topic=f"secret {field}")
    asked = {"expected": note["seen"], field: f"use {SECRET} here"}
    said = refused(kept.served.ask(f"notes/{note['key']}", asked))
    assert "looks like a secret" in said
    assert SECRET not in said
    assert read(kept.served, note["key"])["seen"] == note["seen"]
    assert SECRET not in refused(kept.served.ask("notes", {"text": f"use {SECRET} here"}))
    stored = kept.served.ask(f"notes/{note['key']}", {**asked, "redact": True})
    assert stored[0] == 200
    assert SECRET not in "".join(path.read_text(encoding="utf-8") for path in kept.notes.glob("shop/secret-*.md"))


# Keeping, merging and letting go.
def test_a_note_is_archived_and_brought_back(kept):
    note = kept.wrote("Put away.\n", topic="put away")
    away = kept.did("archive", note)
    assert (away["state"], note["key"] in keys_of(kept.served)) == ("archived", False)
    back = kept.did("restore", away)
    assert (back["state"], back["archived"], note["key"] in keys_of(kept.served)) == ("fresh", None, True)


def test_a_note_that_is_still_true_knows_the_code_as_it_is_now(kept):
    note = kept.wrote("Adding appends.\n", topic="still true", about=["shop/cart.py#Cart.add"])
    with kept.cart_changed():
        stale = read(kept.served, note["key"])
        assert stale["state"] == "stale"
        affirmed = kept.did("affirm", stale)
        assert (affirmed["state"], affirmed["text"]) == ("fresh", "Adding appends.\n")


def test_a_note_whose_code_is_gone_cannot_be_still_true(kept):
    note = read(kept.served, "shop/the-receipt")
    said = refused(kept.served.ask("notes/shop/the-receipt/affirm", {"expected": note["seen"]}))
    assert "receipt" in said
    assert "edit the note" in said


def test_a_note_is_forgotten_with_all_that_it_was(kept):
    note = kept.changed(kept.wrote("One.\n", topic="forgotten"), text="Two.\n")
    assert kept.served.ask("notes/shop/forgotten/forget", {"expected": note["seen"]}) == (200, {"key": "shop/forgotten"})
    refused(kept.served.ask("notes/shop/forgotten"))
    assert [path for path in kept.notes.rglob("*forgotten*") if path.is_file()] == []


def together(*notes: dict[str, Any]) -> list[dict[str, str]]:
    return [{"key": one["key"], "expected": one["seen"]} for one in notes]


def test_a_draft_shows_what_notes_would_be_as_one_and_stores_nothing(kept):
    one = kept.wrote("First text.\n", topic="draft one", tags=["a"], about=["shop/cart.py#Cart"])
    two = kept.wrote("Second text.\n", topic="draft two", tags=["b", "a"], about=["shop/price.py"])
    status, draft = kept.served.ask("notes/merge-draft", {"notes": together(one, two)})
    assert status == 200
    assert draft["text"] == "## draft one\n\nFirst text.\n\n## draft two\n\nSecond text.\n"
    assert (draft["topic"], draft["tags"], draft["about"]) == ("draft one", ["a", "b"], ["shop/cart.py#Cart", "shop/price.py"])
    assert draft["notes"] == together(one, two)
    assert [read(kept.served, each["key"])["seen"] for each in (one, two)] == [one["seen"], two["seen"]]


@pytest.mark.parametrize("forget", [False, True])
def test_notes_are_merged_into_the_first_and_the_others_put_away(kept, forget):
    one, two = (kept.wrote(f"{name}\n", topic=f"merge {name} {forget}", tags=[name]) for name in ("left", "right"))
    status, done = kept.served.ask("notes/merge", {"notes": together(one, two), "text": "Both.\n", "forget": forget})
    assert status == 200
    assert (done["note"]["key"], done["note"]["text"], done["note"]["tags"]) == (one["key"], "Both.\n", ["left", "right"])
    assert (done["put_away"], done["left"]) == ([two["key"]], [])
    status, other = kept.served.ask(f"notes/{two['key']}")
    assert status == 400 if forget else other["state"] == "archived"


def test_a_note_that_was_changed_meanwhile_is_not_merged(kept):
    one, two = (kept.wrote(f"{name}\n", topic=f"contested merge {name}") for name in ("left", "right"))
    kept.changed(two, text="Changed.\n")
    assert "nothing was merged" in refused(kept.served.ask("notes/merge", {"notes": together(one, two)}), 409)
    assert read(kept.served, one["key"])["seen"] == one["seen"]
    assert read(kept.served, two["key"])["state"] == "fresh"


def test_a_merge_is_of_two_notes_that_are_there(kept):
    one = kept.wrote("Alone.\n", topic="alone")
    refused(kept.served.ask("notes/merge", {"notes": together(one)}), 422)
    assert "name each of them once" in refused(kept.served.ask("notes/merge", {"notes": together(one, one)}))
    refused(kept.served.ask("notes/merge", {"notes": [*together(one), {"key": "shop/nowhere"}]}))
    assert read(kept.served, one["key"])["seen"] == one["seen"]


# Several folders of notes.
def test_notes_of_one_key_in_two_repositories_are_told_apart(tmp_path):
    with two_teams(tmp_path) as served:
        found = {(one["root"], one["headline"]) for one in listed(served)["notes"]}
        assert found == {("app", "rule of app"), ("lib", "rule of lib")}
        for root in ("app", "lib"):
            assert served.ask(f"notes/general/rule?root={root}")[1]["text"] == f"The rule of {root}."
        assert served.ask("notes/general/rule/forget", {"root": "lib"})[0] == 200
        assert [one["root"] for one in listed(served)["notes"]] == ["app"]


def test_the_notes_are_files_below_the_home(kept):
    assert [Path(one) for one in listed(kept.served)["directories"]] == [kept.notes]
