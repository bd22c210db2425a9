"""Secrets are found wherever they stand, and what only looks like one is left alone.

No secret is written out in this file: samples say what to draw, and are drawn when the tests run.
"""

from __future__ import annotations

import random
import time

from hypothesis import given, settings
from hypothesis import strategies as st

from campaigns import examples
from sample_trees import SOURCES
from small_cases import each
from whence.text.secrets import KINDS, Secret, find_secrets, redact_secrets
from whence_bench.faults.planted_secrets import BODY, FILES, SAMPLES, draw


def drawn(sample: str) -> tuple[str, str]:
    """A text made from a sample, and the secret in it."""
    text, [planted] = draw("", sample, "", random.Random(sample))
    return text, planted.secret


def ids(sample: object) -> str:
    return str(sample)[:40] if str(sample) in KINDS else ""


@each(("kind", "sample"), SAMPLES)
def test_a_secret_is_found_with_its_kind_and_its_line(kind, sample):
    text, secret = drawn(sample)
    text = f"What we use here.\n\n{text}\n\nNothing more.\n"
    [found] = find_secrets(text)
    assert (found.kind, text[found.start : found.end]) == (kind, secret)
    assert found.line == text[: text.index(secret)].count("\n") + 1


@each(("kind", "sample"), SAMPLES)
def test_nothing_of_a_secret_is_left_in_a_redacted_text(kind, sample):
    text, secret = drawn(sample)
    clean = redact_secrets(text, find_secrets(text))
    assert f"[redacted: {kind}]" in clean
    rest = clean.replace(f"[redacted: {kind}]", "")
    assert [piece for at in range(len(secret) - 7) if (piece := secret[at : at + 8]) in rest] == []
    assert find_secrets(clean) == []


def test_every_kind_has_a_sample():
    assert {kind for kind, *_ in (*SAMPLES, *FILES)} == set(KINDS)
    assert len(KINDS) >= 45


@each(("kind", "path", "sample"), FILES)
def test_a_file_that_holds_logins_tells_by_its_name_what_is_secret(kind, path, sample):
    text, planted = draw(kind, sample, path, random.Random(sample))
    found = find_secrets(text, path)
    assert [text[one.start : one.end] for one in found] == [one.secret for one in planted]
    assert not [one for one in find_secrets(text, "docs/notes.txt") if one.kind == kind]


SETTINGS = """
DEBUG=true
STAGE=production
PORT=8000
LOG_LEVEL=info
TIMEOUT=30s
HOST=db.internal:5432
API=https://api.internal/v1
DATA_DIR=/var/lib/app
APP_NAME="Corner Shop"
EMPTY=
SECRET=${VAULT_SECRET}
VERSION=1.24.3
""".strip()


def test_plain_settings_of_an_environment_stay_to_be_found():
    assert find_secrets(SETTINGS, ".env") == []
    text, _ = drawn("TOKEN=«{g24}»")
    assert find_secrets(text, ".env.example") == find_secrets(text)  # what has a form of its own is one everywhere
    assert find_secrets("PASSWORD=changeme\nLICENCE=yes-please-4711", ".env.example") == []
    assert [one.line for one in find_secrets("PASSWORD=changeme\nLICENCE=yes-please-4711", ".env")] == [1, 2]


HARMLESS = """
The password is stored in the keychain, the token is refreshed every hour, and the secret is rotated by hand.
Ask for a token: see https://docs.internal/tokens/how-to-get-one-2024 and the key management pages.
password = get_password()
password = getpass.getpass("Password for user42: ")
self.token = self.tokens[token_index_2]
private_key = ed25519.Ed25519PrivateKey.generate()
API_KEY = os.environ["OPENAI_API_KEY_2"]
api_key: ${API_KEY_V2_PRODUCTION}
token: "{{ secrets.DEPLOY_TOKEN_2 }}"
client_secret: <your-client-secret-123>
SECRET=$(vault read -field=value secret/app1/token2)
GITHUB_TOKEN=ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
aws_access_key_id = AKIAIOSFODNN7EXAMPLE
aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY
password: changeme
password: "********"
password = "Password123"
DB_PASSWORD=hunter2
api_key = "your-api-key-goes-here-1234"
commit 9fceb02d0ae598e95dc970b74767f19372d61af8
key: 550e8400-e29b-41d4-a716-446655440000
request_id=550e8400-e29b-41d4-a716-446655440000 token_id=7c9e6679-7425-40de-944b-e07fc1f90ae7
token_sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
"integrity": "sha512-v2kDEe57lecTulaDIuNTPy3Ry4gLGJ6Z1O3vE1krgXZNrsQ+LFTGHVxVjcXPs17LhbZVGedAJv8XZ1tvj5FvSg==",
requests==2.31.0 --hash=sha256:58cd2187c01e70e6e26505bca751777aa9f2ee0b7f4300988b709f44e013003f
background: url(data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/w38GIAXDIBKE0DHxgljNBAAO)
https://user@host.internal:8080/path and ssh://git@host.internal:22/x.git, or mailto:someone@host.internal
postgres://user:password@localhost:5432/db
postgresql://scott:tiger@localhost/test
https://${USER}:${TOKEN}@host.internal/
https://<user>:<password>@host.internal/
Authorization: Bearer <token>
Authorization: Bearer $ACCESS_TOKEN_V2
headers = {"Authorization": f"Bearer {self.access_token_v2}"}
Authorization: Basic dXNlcjpwYXNzd29yZA==
A basic understanding of authentication1 helps.
The file starts with -----BEGIN RSA PRIVATE KEY----- and ends with -----END RSA PRIVATE KEY-----.
PASSWORD_PATTERN = r"^(?=.*[a-z])(?=.*[A-Z])(?=.*\\d)[A-Za-z\\d]{8,}$"
token_url = "https://login.host.internal/oauth2/v2.0/token"
aws_sdk_key: 9fceb02d0ae598e95dc970b74767f19372d61af8
next_page_token = "CAUQAA8kYx71TqPsVb92"
public_key = "MCowBQYDK2VwAyEAGb9ECWmEzf6FQbrBZ9w7lshQhqowtrbLDFw4rXAxZuE"
credentials_file = "/etc/app1/credentials-v2.json"
monkey = "a1b2c3d4e5f6g7h8i9j0k1l2"
<input type="password" name="password2" value="">
keyboard: us-intl-altgr-v2, secretary: J2-office-4711
[redacted: github-token]
""".strip().splitlines()


@each("line", HARMLESS)
def test_what_is_no_secret_is_left_alone(line):
    assert [(one.kind, line[one.start : one.end]) for one in find_secrets(line)] == []


def test_the_sources_of_this_project_hold_no_secret():
    found = {path.name: find_secrets(path.read_text(encoding="utf-8")) for path in (SOURCES / "whence").rglob("*.py")}
    assert {name: secrets for name, secrets in found.items() if secrets} == {}


def test_several_secrets_are_named_in_order_each_with_its_line():
    lines = [drawn(sample)[0] for _, sample in SAMPLES if "BEGIN" not in sample]
    found = find_secrets("\r\n".join(lines) + "\r\n")
    assert [one.start for one in found] == sorted(one.start for one in found)
    assert len(found) == len(lines)
    first = dict(zip([one.kind for one in reversed(found)], [one.line for one in reversed(found)], strict=True))
    assert first["github-token"] == 1 + "\r\n".join(lines).split("ghp_")[0].count("\n")


def test_a_secret_of_a_known_kind_that_has_a_name_is_reported_once_under_its_kind():
    text, secret = drawn('password = "«ghp_{a36}»"')
    assert [one.kind for one in find_secrets(text)] == ["github-token"]
    text, secret = drawn("https://me:«glpat-{w20}»@git.internal/x.git")
    [found] = find_secrets(text)
    assert (found.kind, text[found.start : found.end]) == ("gitlab-token", secret)


def test_a_password_is_also_found_where_nothing_says_that_it_is_one():
    text, secret = drawn("password: «{g16}»\n\nLog in as root and type ")
    text += f"{secret}.\n"
    assert [one.line for one in find_secrets(text)] == [1, 3]
    assert secret not in redact_secrets(text, find_secrets(text))


def test_a_key_whose_last_line_is_missing_is_found_up_to_where_it_breaks_off():
    text, secret = drawn("«-----BEGIN RSA PRIVATE KEY-----\n" + BODY + "»\n\nThat was all that the terminal showed me.")
    [found] = find_secrets(text)
    assert text[found.start : found.end].startswith(secret.rstrip("="))
    assert "terminal showed me" in redact_secrets(text, [found])


def test_a_secret_tells_nothing_of_itself_when_it_is_printed():
    text, secret = drawn("«ghp_{a36}»")
    assert secret[4:12] not in repr(find_secrets(text))


def test_redacting_takes_secrets_in_any_order_and_overlapping():
    found = [Secret("jwt", 1, 4, 8), Secret("age-key", 1, 0, 2), Secret("jwt", 1, 6, 9)]
    assert redact_secrets("0123456789", found) == "[redacted: age-key]23[redacted: jwt]9"
    assert redact_secrets("0123456789", []) == "0123456789"


def test_letters_that_grow_in_lower_case_move_nothing():
    text, secret = drawn("İİİİ STAGING TOKEN: «{g24}»")
    [found] = find_secrets(text)
    assert text[found.start : found.end] == secret


PIECES = [
    *(drawn(sample)[0] for _, sample in SAMPLES[::9]),
    *"password token key = : \" ' ` \n \\n :// @ -----BEGIN PRIVATE KEY----- eyJ . ghp_ glpat- Bearer İ ${ } 0x é".split(" "),
]


@given(st.one_of(st.text(), st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=12)), max_size=12).map("".join)))
@settings(max_examples=examples(150), deadline=None)
def test_any_text_gives_spans_that_are_in_order_and_apart(text):
    found = find_secrets(text)
    ends = [0, *(one.end for one in found)]
    for before, one in zip(ends, found, strict=False):
        assert before <= one.start < one.end <= len(text)
        assert one.kind in KINDS
        assert one.line == text.count("\n", 0, one.start) + 1
    assert redact_secrets(text, found).count("[redacted: ") >= len(found)


@each("unit", ["a", "-", "=", "key=", "-eyJ", "://a:", "-----BEGIN PRIVATE KEY-----"])
def test_the_time_taken_grows_with_the_text_and_no_faster(unit):
    """Each takes a few tenths of a second; with the square of the length it would be minutes."""
    text = unit * (10**6 // len(unit))
    began = time.perf_counter()
    find_secrets(text)
    assert time.perf_counter() - began < 5
