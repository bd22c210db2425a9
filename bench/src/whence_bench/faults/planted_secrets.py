"""Secrets to plant: one sample of every kind, drawn anew for every run, and a tree to plant them in.

No secret is written out here: a sample says what to draw. `{a36}` stands for 36 letters and digits.
"""

from __future__ import annotations

import base64
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

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
SAMPLES: tuple[tuple[str, str], ...] = (
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
    ("basic-auth", "Authorization: Basic «{L14}»"),
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
    ("minisign-key", "untrusted comment: minisign encrypted secret key\n«RWRTY0Iy{b204}»"),
    ("jwk-private-key", '{"kty": "EC", "crv": "P-256", "d": "«{w43}»"}'),
)

#: Files whose names tell what is in them. Each secret is what stands between « and »; the kind is that of the file.
FILES: tuple[tuple[str, str, str], ...] = (
    ("env-value", ".env", "DEBUG=true\nPORT=8000\nDB_PASSWORD=«{g12}»\nexport SMTP_LOGIN='«{g20}»'\nWEBHOOK=\"«{a30}»\"  # of the till\n"),
    ("env-value", "deploy/.env.production", "STAGE=production\nADMIN_PASS=«correcthorse{l8}»\nRANDOM_NAME=«{a24}»\n"),
    ("env-value", "deploy/worker.env", 'QUEUE=orders\nACCOUNT=«{d12}»\nMULTI="«{a40}\n{a40}»"\n'),
    ("stored-login", ".netrc", "machine build.internal\n  login deploy\n  password «{g12}»\n"),
    ("stored-login", ".pgpass", "db.internal:5432:shop:app:«{g12}»\n"),
    ("stored-login", ".npmrc", "registry=https://registry.internal/\n//registry.internal/:_authToken=«{g24}»\n"),
    ("stored-login", ".pypirc", "[pypi]\nusername = deploy\npassword = «{l14}»\n"),
    ("stored-login", ".aws/credentials", "[default]\nregion = eu-west-1\naws_secret_access_key = «{b40}»\n"),
    ("stored-login", ".cargo/credentials.toml", '[registry]\ntoken = "«{l24}»"\n'),
    (
        "stored-login",
        ".kube/config",
        "users:\n- name: deploy\n  user:\n    token: «{l30}»\n    client-key-data: «{b80}»\n",
    ),
    ("stored-login", "infra/prod.tfvars", 'region = "eu-west-1"\ndb_password = "«{l14}»"\n'),
    ("stored-login", "infra/terraform.tfstate", '{"outputs": {"db_password": {"value": "«{l14}»", "type": "string"}}}\n'),
    ("stored-login", ".docker/config.json", '{"auths": {"registry.internal": {"auth": "«{b40}»"}}}\n'),
    ("stored-login", ".htpasswd", "deploy:«$apr1${a8}${a22}»\n"),
    ("stored-login", ".git-credentials", "https://deploy:«{l20}»@git.internal\n"),
    (
        "stored-login",
        "k8s/secret.yaml",
        "apiVersion: v1\nkind: Secret\nmetadata:\n  name: till\ndata:\n  password: «{b24}»\n  other: «{b32}»\n",
    ),
)
#: No shorter stretch of a secret is looked for: by chance it may be anywhere.
SHORTEST_PART = 8
#: Words that a planted file is found by.
_WORDS = "harbour lantern meadow orchard pebble quarry ribbon saddle timber velvet walnut yonder anchor beacon cellar dolphin".split()


@dataclass(frozen=True, slots=True)
class Planted:
    """One secret, where it was planted, and its parts that were drawn at random."""

    kind: str
    place: str
    secret: str
    parts: tuple[str, ...]


def draw(kind: str, sample: str, place: str, dice: random.Random) -> tuple[str, list[Planted]]:
    """A text made from a sample, and the secrets in it."""
    text, planted = [], []
    for number, piece in enumerate(re.split("[«»]", sample)):
        parts: list[str] = []

        def drawn(match: re.Match[str], parts: list[str] = parts) -> str:
            letters = ALPHABETS["g" if match[1] == "L" else match[1]]
            part = _jumble(letters, int(match[2]), dice)
            part = base64.b64encode(f"deploy:{part}".encode()).decode() if match[1] == "L" else part
            parts.append(part)
            return part

        text.append(re.sub(r"\{([a-zL])(\d+)\}", drawn, piece))
        if number % 2:
            planted.append(Planted(kind, place, text[-1], tuple(parts)))
    return "".join(text), planted


def _jumble(letters: str, count: int, dice: random.Random) -> str:
    """So many characters; where there are digits among the letters, one of them is drawn at least.

    A short password of letters alone can be told from a word only by guessing: such ones are not what is tried here.
    """
    while True:
        part = "".join(dice.choice(letters) for _ in range(count))
        if count < SHORTEST_PART or part.isdigit() or any(map(str.isdigit, part[: count - 4])):
            return part


def plant(root: Path, samples: Sequence[tuple[str, str]], dice: random.Random) -> list[Planted]:
    """Write a tree in which every sample stands in sources, comments, documents and settings; what was planted."""
    planted: list[Planted] = []
    for at in range(0, len(samples), _IN_ONE_FILE):
        some = samples[at : at + _IN_ONE_FILE]
        word = f"{_WORDS[at // _IN_ONE_FILE % len(_WORDS)]}{at}"
        for suffix in _FRAMES:
            path = f"{word}.{suffix}"
            found, text = [], []
            for number, (kind, sample) in enumerate(some):
                drawn, secrets = draw(kind, sample, path, dice)
                found += secrets
                text.append(_framed(suffix, word, number, drawn))
            write(root / path, "\n".join(text))
            planted += found
    for kind, path, sample in FILES:
        drawn, secrets = draw(kind, sample, path, dice)
        write(root / path, drawn)
        planted += secrets
    return planted


_IN_ONE_FILE = 10
_FRAMES = ("py", "js", "md", "conf")


def _framed(suffix: str, word: str, number: int, text: str) -> str:
    """A text in a string, in a comment, in prose, or as it is: always with a word beside it."""
    if suffix == "py":
        return f"def keep_{word}_{number}():\n    \"\"\"Keeps the {word}.\"\"\"\n    return r'''\n{text}\n'''\n"
    if suffix == "js":
        commented = "\n".join(f"// {line}" for line in text.split("\n"))
        return f"{commented}\nexport function open_{word}_{number}() {{ return keep_{word}_{number}(); }}\n"
    if suffix == "md":
        return f"# The {word}, part {number}\n\nWhat the {word} needs:\n\n    {text}\n"
    return f"# {word} {number}\n{text}\n"


def messages(samples: Sequence[tuple[str, str]], dice: random.Random) -> Iterator[tuple[str, list[Planted]]]:
    """Messages of commits, with some samples each."""
    for at in range(0, len(samples), 2 * _IN_ONE_FILE):
        lines, planted = [f"Let the {_WORDS[at % len(_WORDS)]} open by itself", ""], list[Planted]()
        for kind, sample in samples[at : at + 2 * _IN_ONE_FILE]:
            drawn, secrets = draw(kind, sample, "a commit message", dice)
            lines.append(drawn)
            planted += secrets
        yield "\n".join(lines), planted


def write(path: Path, text: str) -> None:
    """Write a file and the folders around it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
