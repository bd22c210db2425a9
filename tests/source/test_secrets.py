"""Secrets are found wherever they stand, and what only looks like one is left alone.

No secret is written out in this file: samples say what to draw, and are drawn when the tests run.
"""

from __future__ import annotations

import random
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sample_trees import SOURCES
from whence.source.secrets import KINDS, Secret, find_secrets, redacted

#: What a letter in a sample stands for: `{a36}` is 36 letters and digits.
ALPHABETS = {
    "a": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789",
    "b": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
    "w": "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_",
    "h": "0123456789abcdef",
    "d": "0123456789",
    "l": "abcdefghijklmnopqrstuvwxyz0123456789",
    "u": "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789",
    "t": "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
    "s": "abcdefghijklmnopqrstuvwxyz234567",
    "j": "abcdefghijklmnopqrstuvwxyz0123456789!@#$%^&*(-_=+)",
    "g": "bcdfghjkmnpqrstvwxzBCDFGHJKLMNPQRSTVWXZ2345678",
}
UUID = "{h8}-{h4}-{h4}-{h4}-{h12}"
BODY = "{b64}\n{b64}\n{b31}="
BLOCK = "-----BEGIN %s-----\n" + BODY + "\n-----END %s-----"

#: Every kind at least once. The secret is what stands between « and ».
SAMPLES = [
    ("private-key", "«" + BLOCK.replace("%s", "RSA PRIVATE KEY") + "»"),
    ("private-key", "«" + BLOCK.replace("%s", "PRIVATE KEY") + "»"),
    ("private-key", "«" + BLOCK.replace("%s", "ENCRYPTED PRIVATE KEY") + "»"),
    ("private-key", 'key = "«-----BEGIN EC PRIVATE KEY-----\\n{b64}\\n{b20}==\\n-----END EC PRIVATE KEY-----»\\n"'),
    ("private-key", "«---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\n" + BODY + "\n---- END SSH2 ENCRYPTED PRIVATE KEY ----»"),
    ("openssh-private-key", "«" + BLOCK.replace("%s", "OPENSSH PRIVATE KEY") + "»"),
    ("pgp-private-key", "«-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: 1\n\n" + BODY + "\n-----END PGP PRIVATE KEY BLOCK-----»"),
    ("putty-private-key", "Public-Lines: 1\nAAAA\nPrivate-Lines: 3\n«" + BODY + "»\nPrivate-MAC: 12"),
    (
        "gcp-service-account",
        '{"type": "service_account",\n "private_key": "«-----BEGIN PRIVATE KEY-----\\n{b64}\\n{b60}\\n-----END PRIVATE KEY-----»\\n"}',
    ),
    ("aws-access-key", "aws_access_key_id = «AKIA{t16}»"),
    ("aws-access-key", "temporary: «ASIA{t16}»"),
    ("aws-secret-key", "aws_secret_access_key = «{b40}»"),
    ("aws-bedrock-key", "«ABSK{b120}=»"),
    ("google-api-key", 'maps: "«AIza{w35}»"'),
    ("google-oauth-token", "«ya29.{w60}»"),
    ("google-oauth-secret", "«GOCSPX-{w28}»"),
    ("google-refresh-token", "refresh «1//0{w60}»"),
    ("azure-storage-key", "AccountName=x;AccountKey=«{b86}==»;EndpointSuffix=y"),
    ("azure-shared-access-key", "Endpoint=sb://x/;SharedAccessKeyName=y;SharedAccessKey=«{b43}=»"),
    ("azure-client-secret", "«{a3}8Q~{a34}»"),
    ("azure-sas-token", "https://x/y?sv=2022-11-02&se=2030-01-01&sr=b&sig=«{a43}%3D»"),
    ("azure-devops-token", "pat «{a76}AZDO{a4}»"),
    ("github-token", "«ghp_{a36}»"),
    ("github-token", "clone https://«gho_{a36}»@host/x.git"),
    ("github-token", '{"text": "first\\n«ghs_{a36}»\\nlast"}'),
    ("github-fine-grained-token", "«github_pat_{w82}»"),
    ("gitlab-token", "«glpat-{w20}»"),
    ("gitlab-token", "«glptt-{h40}»"),
    ("bitbucket-token", "«ATBB{a32}»"),
    ("atlassian-token", "«ATATT3{w180}»"),
    ("slack-token", "«xoxb-{d12}-{d12}-{a24}»"),
    ("slack-app-token", "«xapp-1-{u11}-{d13}-{h64}»"),
    ("slack-webhook", "https://hooks.slack.com/«services/T{u8}/B{u8}/{a24}»"),
    ("discord-token", "token = '«MT{a22}.{w6}.{w30}»'"),
    ("discord-webhook", "https://discord.com/api/webhooks/«{d18}/{w68}»"),
    ("teams-webhook", "https://x.webhook.office.com/webhookb2/y/IncomingWebhook/«{h32}/" + UUID + "»"),
    ("telegram-bot-token", "bot «7{d9}:AA{w33}»"),
    ("stripe-key", "«sk_live_{a24}»"),
    ("stripe-webhook-secret", "«whsec_{a32}»"),
    ("square-token", "«sq0atp-{w22}»"),
    ("braintree-token", "«access_token$production${l16}${h32}»"),
    ("paypal-secret", "PAYPAL_SECRET=«E{w79}»"),
    ("twilio-key", "sid «SK{h32}»"),
    ("twilio-key", "TWILIO_AUTH_TOKEN=«{h32}»"),
    ("sendgrid-key", "«SG.{w22}.{w43}»"),
    ("mailgun-key", "«key-{h32}»"),
    ("mailchimp-key", "«{h32}-us14»"),
    ("brevo-key", "«xkeysib-{h64}-{a16}»"),
    ("npm-token", "«npm_{a36}»"),
    ("npm-token", "//registry/:_authToken=«" + UUID + "»"),
    ("pypi-token", "password = «pypi-AgEIcHlwaS5vcmc{w120}»"),
    ("rubygems-key", "«rubygems_{h48}»"),
    ("nuget-key", "«oy2{l43}»"),
    ("crates-io-token", "«cio{a32}»"),
    ("clojars-token", "«CLOJARS_{l60}»"),
    ("docker-hub-token", "«dckr_pat_{w27}»"),
    ("hugging-face-token", "HF_TOKEN=«hf_{a34}»"),
    ("anthropic-key", "«sk-ant-api03-{w93}AA»"),
    ("openrouter-key", "«sk-or-v1-{h64}»"),
    ("openai-key", "«sk-proj-{w120}»"),
    ("openai-key", "OPENAI_API_KEY=«sk-{a20}T3BlbkFJ{a20}»"),
    ("groq-key", "«gsk_{a52}»"),
    ("xai-key", "«xai-{a80}»"),
    ("replicate-token", "«r8_{a37}»"),
    ("perplexity-key", "«pplx-{a48}»"),
    ("nvidia-key", "«nvapi-{w64}»"),
    ("langsmith-key", "«lsv2_pt_{h32}_{h10}»"),
    ("pinecone-key", "«pcsk_{a60}»"),
    ("cohere-key", "COHERE_API_KEY: «{a40}»"),
    ("mistral-key", "MISTRAL_API_KEY=«{a32}»"),
    ("wandb-key", "WANDB_API_KEY=«{h40}»"),
    ("databricks-token", "«dapi{h32}»"),
    ("digitalocean-token", "«dop_v1_{h64}»"),
    ("heroku-key", "HEROKU_API_KEY=«" + UUID + "»"),
    ("cloudflare-key", "cloudflare_api_token: «{w40}»"),
    ("fastly-token", 'fastly_key = "«{w32}»"'),
    ("netlify-token", "«nfp_{a36}»"),
    ("vercel-token", "VERCEL_TOKEN=«{a24}»"),
    ("shopify-token", "«shpat_{h32}»"),
    ("linear-key", "«lin_api_{a40}»"),
    ("notion-token", "«ntn_{d11}{a35}»"),
    ("asana-token", "token: «1/{d16}:{h32}»"),
    ("airtable-token", "«pat{a14}.{h64}»"),
    ("hubspot-token", "«pat-na1-" + UUID + "»"),
    ("datadog-key", "DD_API_KEY=«{h32}»"),
    ("new-relic-key", "«NRAK-{u27}»"),
    ("new-relic-key", "license «{h36}NRAL»"),
    ("grafana-token", "«glsa_{a32}_{h8}»"),
    ("sentry-token", "«sntryu_{h64}»"),
    ("pagerduty-key", "pagerduty_token: «u+{a18}»"),
    ("postman-key", "«PMAK-{h24}-{h34}»"),
    ("terraform-token", "«{a14}.atlasv1.{w64}»"),
    ("vault-token", "«hvs.{w95}»"),
    ("age-key", "«AGE-SECRET-KEY-1{u58}»"),
    ("1password-key", "«A3-{u6}-{u11}-{u5}-{u5}-{u5}»"),
    ("artifactory-key", "«AKCp{a69}»"),
    ("doppler-token", "«dp.pt.{a43}»"),
    ("dynatrace-token", "«dt0c01.{u24}.{u64}»"),
    ("planetscale-token", "«pscale_tkn_{w43}»"),
    ("pulumi-token", "«pul-{h40}»"),
    ("prefect-key", "«pnu_{a36}»"),
    ("buildkite-token", "«bkua_{h40}»"),
    ("circleci-token", "«CCIPAT_{a22}_{h40}»"),
    ("sonar-token", "«squ_{h40}»"),
    ("sourcegraph-token", "«sgp_{h40}»"),
    ("figma-token", "«figd_{w40}»"),
    ("supabase-key", "«sbp_{h40}»"),
    ("tailscale-key", "«tskey-auth-{a11}-{a32}»"),
    ("fly-io-token", "«fo1_{w43}»"),
    ("contentful-token", "«CFPAT-{w43}»"),
    ("typeform-token", "«tfp_{w44}»"),
    ("easypost-key", "«EZAK{a54}»"),
    ("alibaba-access-key", "«LTAI{a20}»"),
    ("facebook-token", "«EAAG{a120}»"),
    ("twitter-token", "«AAAAAAAAAAAAAAAAAAAAA{g90}»"),
    ("openshift-token", "«sha256~{w43}»"),
    ("django-secret-key", "SECRET_KEY = '«django-insecure-{j50}»'"),
    ("maxmind-key", "«{a6}_{a29}_mmk»"),
    ("mapbox-token", "«sk.eyJ{a60}.{a22}»"),
    ("okta-token", "OKTA_API_TOKEN=«00{w40}»"),
    ("algolia-key", "ALGOLIA_ADMIN_KEY=«{h32}»"),
    ("codecov-token", "CODECOV_TOKEN: «" + UUID + "»"),
    ("snyk-token", "SNYK_TOKEN=«" + UUID + "»"),
    ("splunk-token", "splunk_hec_token=«" + UUID + "»"),
    ("travis-token", "travis_token: «{a22}»"),
    ("linkedin-secret", "LINKEDIN_CLIENT_SECRET=«{a16}»"),
    ("dropbox-token", "dropbox_app_key = '«{l15}»'"),
    ("zendesk-token", "zendesk_token=«{a40}»"),
    ("trello-key", "TRELLO_KEY=«{h32}»"),
    ("jwt", "cookie «eyJ{a33}.eyJ{w80}.{w43}»"),
    ("url-password", "postgres://app:«{g12}»@db.internal:5432/shop"),
    ("url-password", "redis://:«{g12}»@cache:6379"),
    ("curl-password", "curl -s -u deploy:«{g14}» https://build.internal/job"),
    ("basic-auth", "Authorization: Basic «am9objpodW50ZXI0Mis5ISE=»"),
    ("bearer-token", "Authorization: Bearer «{w40}»"),
    ("generic-secret", 'api_key = "«{g32}»"'),
    ("generic-secret", "SECRET_KEY = '«{j50}»'"),
    ("generic-secret", "CLIENT_SECRET=«{h48}»"),
    ("generic-secret", "password: «Tr{d2}b4dor&3x»"),
    ("generic-secret", '<add key="password" value="«{g16}»" />'),
    ("generic-secret", "  - name: DB_PASSWORD\n    value: «{g16}»"),
    ("generic-secret", '"{\\"token\\": \\"«{g32}»\\"}"'),
    ("generic-secret", 'signing_key: bytes = b"«{g32}»"'),
    ("generic-secret", "the staging token is «{g24}», ask before use"),
    ("generic-secret", "and the token of production is «{g24}»."),
    ("generic-secret", "Password for the build server (new): «{g14}»"),
    ("generic-secret", "GET /feed?token=«{g24}»&page=2"),
    ("generic-secret", 'os.getenv("SECRET_KEY", "«{g40}»")'),
]


def drawn(sample: str) -> tuple[str, str]:
    """A text made from a sample, and the secret in it."""
    dice = random.Random(sample)

    def draw(match: re.Match[str]) -> str:
        return "".join(dice.choice(ALPHABETS[match[1]]) for _ in range(int(match[2])))

    before, secret, after = re.split("[«»]", re.sub(r"\{([a-z])(\d+)\}", draw, sample))
    return f"{before}{secret}{after}", secret


def ids(sample: object) -> str:
    return str(sample)[:40] if str(sample) in KINDS else ""


@pytest.mark.parametrize(("kind", "sample"), SAMPLES, ids=ids)
def test_a_secret_is_found_with_its_kind_and_its_line(kind, sample):
    text, secret = drawn(sample)
    text = f"What we use here.\n\n{text}\n\nNothing more.\n"
    [found] = find_secrets(text)
    assert (found.kind, text[found.start : found.end]) == (kind, secret)
    assert found.line == text[: text.index(secret)].count("\n") + 1


@pytest.mark.parametrize(("kind", "sample"), SAMPLES, ids=ids)
def test_nothing_of_a_secret_is_left_in_a_redacted_text(kind, sample):
    text, secret = drawn(sample)
    clean = redacted(text, find_secrets(text))
    assert f"[redacted: {kind}]" in clean
    rest = clean.replace(f"[redacted: {kind}]", "")
    assert [piece for at in range(len(secret) - 7) if (piece := secret[at : at + 8]) in rest] == []
    assert find_secrets(clean) == []


def test_every_kind_has_a_sample():
    assert {kind for kind, _ in SAMPLES} == set(KINDS)
    assert len(KINDS) >= 45


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


@pytest.mark.parametrize("line", HARMLESS)
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
    assert secret not in redacted(text, find_secrets(text))


def test_a_key_whose_last_line_is_missing_is_found_up_to_where_it_breaks_off():
    text, secret = drawn("«-----BEGIN RSA PRIVATE KEY-----\n" + BODY + "»\n\nThat was all that the terminal showed me.")
    [found] = find_secrets(text)
    assert text[found.start : found.end].startswith(secret.rstrip("="))
    assert "terminal showed me" in redacted(text, [found])


def test_a_secret_tells_nothing_of_itself_when_it_is_printed():
    text, secret = drawn("«ghp_{a36}»")
    assert secret[4:12] not in repr(find_secrets(text))


def test_redacting_takes_secrets_in_any_order_and_overlapping():
    found = [Secret("jwt", 1, 4, 8), Secret("age-key", 1, 0, 2), Secret("jwt", 1, 6, 9)]
    assert redacted("0123456789", found) == "[redacted: age-key]23[redacted: jwt]9"
    assert redacted("0123456789", []) == "0123456789"


def test_letters_that_grow_in_lower_case_move_nothing():
    text, secret = drawn("İİİİ STAGING TOKEN: «{g24}»")
    [found] = find_secrets(text)
    assert text[found.start : found.end] == secret


PIECES = [
    *(drawn(sample)[0] for _, sample in SAMPLES[::9]),
    *"password token key = : \" ' ` \n \\n :// @ -----BEGIN PRIVATE KEY----- eyJ . ghp_ glpat- Bearer İ ${ } 0x é".split(" "),
]


@given(st.one_of(st.text(), st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=12)), max_size=12).map("".join)))
@settings(max_examples=150, deadline=None)
def test_any_text_gives_spans_that_are_in_order_and_apart(text):
    found = find_secrets(text)
    ends = [0, *(one.end for one in found)]
    for before, one in zip(ends, found, strict=False):
        assert before <= one.start < one.end <= len(text)
        assert one.kind in KINDS
        assert one.line == text.count("\n", 0, one.start) + 1
    assert redacted(text, found).count("[redacted: ") >= len(found)


@pytest.mark.parametrize("unit", ["a", "-", "=", "key=", "-eyJ", "://a:", "-----BEGIN PRIVATE KEY-----"])
def test_the_time_taken_grows_with_the_text_and_no_faster(unit):
    """Each takes a few tenths of a second; with the square of the length it would be minutes."""
    text = unit * (10**6 // len(unit))
    began = time.perf_counter()
    find_secrets(text)
    assert time.perf_counter() - began < 5
