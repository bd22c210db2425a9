"""What secrets look like: the published forms of the tokens of many services, as data (Z10).

A pattern ends where its secret ends, and what follows a part of open length must always be able to end it there: a text of
nothing but beginnings must not be read again and again.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SecretPattern:
    """A secret with a form of its own: one of its literals, the pattern that begins there, and what may have to stand around it."""

    kind: str
    literals: str  # with spaces between
    pattern: str  # with a group when only a part of it is secret
    lead: str = ""  # the part of the secret before the literal
    near: str = ""  # one of these words, with `|` between, stands within a few hundred characters


FORMS = (
    SecretPattern("aws-access-key", "AKIA ASIA ABIA ACCA", r"(?<![/+])A[KSBC][IC]A[A-Z2-7]{16}(?![/+=])"),
    SecretPattern("aws-bedrock-key", "ABSK", r"ABSK[A-Za-z0-9+/]{109,}={0,2}"),
    SecretPattern("google-api-key", "AIza", r"(?<![/+])AIza[\w-]{35}(?![\w-])"),
    SecretPattern("google-oauth-token", "ya29.", r"ya29\.[\w-]{30,}"),
    SecretPattern("google-oauth-secret", "GOCSPX-", r"GOCSPX-[\w-]{28,}"),
    SecretPattern("google-refresh-token", "1//0", r"1//0[\w-]{40,}"),
    SecretPattern("azure-storage-key", "AccountKey=", r"AccountKey=([A-Za-z0-9+/]{86}==)"),
    SecretPattern("azure-shared-access-key", "SharedAccessKey=", r"SharedAccessKey=([A-Za-z0-9+/]{43}=)"),
    SecretPattern("azure-client-secret", "Q~", r"(?<=[\w~.]{3}\d)Q~[\w~.-]{31,34}(?![\w~.-])", lead=r"(?<![\w~.+/-])[\w~.]{3}\d"),
    SecretPattern("azure-sas-token", "sig=", r"sig=([A-Za-z0-9%+/]{40,}=?)", near="sv=20|se=20|skn="),
    SecretPattern("azure-devops-token", "AZDO", r"(?<=[A-Za-z0-9]{76})AZDO[A-Za-z0-9]{4}", lead=r"(?<![A-Za-z0-9])[A-Za-z0-9]{76}"),
    SecretPattern("github-token", "ghp_ gho_ ghu_ ghs_ ghr_", r"gh[pousr]_[A-Za-z0-9]{36,}"),
    SecretPattern("github-fine-grained-token", "github_pat_", r"github_pat_\w{70,}"),
    SecretPattern(
        "gitlab-token", "glpat- gldt- glrt- glft- glimt- glagent- gloas- glsoat- glffct-", r"gl[a-z]{2,5}-[\w-]{20,}(?:\.[\w.]{2,})?"
    ),
    SecretPattern("gitlab-token", "glptt- glcbt- GR1348941", r"(?:glptt-|glcbt-[A-Za-z0-9]{1,5}_|GR1348941)[\w-]{20,}"),
    SecretPattern("bitbucket-token", "ATBB", r"ATBB[A-Za-z0-9]{32}"),
    SecretPattern("atlassian-token", "ATATT3 ATCTT3", r"AT[AC]TT3[\w=-]{60,}"),
    SecretPattern("slack-token", "xoxa- xoxb- xoxp- xoxo- xoxs- xoxr- xoxe- xoxe.", r"xox(?:[abopsr]|e(?:\.xox[bp])?)-[A-Za-z0-9-]{20,}"),
    SecretPattern("slack-app-token", "xapp-", r"xapp-\d-[A-Za-z0-9]{5,}-\d{5,}-[A-Za-z0-9]{16,}"),
    SecretPattern("slack-webhook", "hooks.slack.com/", r"hooks\.slack\.com/((?:services|workflows|triggers)/[\w/+-]{35,})"),
    SecretPattern("discord-webhook", "/api/webhooks/", r"/api/webhooks/(\d{17,20}/[\w-]{60,})"),
    SecretPattern("teams-webhook", "/IncomingWebhook/", r"/IncomingWebhook/([0-9a-f]{32}/[0-9a-f-]{36}\S*)"),
    SecretPattern("telegram-bot-token", ":AA", r"(?<=\d{8}):AA[\w-]{33}(?![\w-])", lead=r"(?<![\w:])\d{8,10}"),
    SecretPattern("stripe-key", "sk_live_ sk_test_ rk_live_ rk_test_ sk_prod_ rk_prod_", r"[sr]k_(?:live|test|prod)_[A-Za-z0-9]{20,}"),
    SecretPattern("stripe-webhook-secret", "whsec_", r"whsec_[A-Za-z0-9+/=]{32,}"),
    SecretPattern("square-token", "sq0atp- sq0csp-", r"sq0(?:atp|csp)-[\w-]{22,}"),
    SecretPattern("square-token", "EAAA", r"(?<![/+])EAAA[\w-]{60}(?![\w/+=-])"),
    SecretPattern("braintree-token", "access_token$", r"access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}"),
    SecretPattern("twilio-key", "SK", r"(?<![/+_-])SK[0-9a-f]{32}(?![\w/+=-])"),
    SecretPattern("sendgrid-key", "SG.", r"SG\.[\w-]{16,32}\.[\w-]{16,64}"),
    SecretPattern("mailgun-key", "key-", r"key-[0-9a-f]{32}(?![\w-])"),
    SecretPattern("mailchimp-key", "-us", r"(?<=[0-9a-f]{32})-us\d{1,2}(?![\w.-])", lead=r"(?<![\w-])[0-9a-f]{32}"),
    SecretPattern("brevo-key", "xkeysib- xsmtpsib-", r"x(?:key|smtp)sib-[a-f0-9]{64}-[A-Za-z0-9]{16}"),
    SecretPattern("npm-token", "npm_", r"npm_[A-Za-z0-9]{36}(?!\w)"),
    SecretPattern("npm-token", ":_authToken=", r":_authToken=[\"']?([A-Za-z0-9+/=_-]{20,})"),
    SecretPattern("pypi-token", "pypi-AgE", r"pypi-AgE[\w-]{50,}"),
    SecretPattern("rubygems-key", "rubygems_", r"rubygems_[a-f0-9]{48}"),
    SecretPattern("nuget-key", "oy2", r"(?<![/+_-])oy2[a-z0-9]{43}(?![\w/+=-])"),
    SecretPattern("crates-io-token", "cio", r"(?<![/+_-])cio[A-Za-z0-9]{32}(?![\w/+=-])"),
    SecretPattern("clojars-token", "CLOJARS_", r"CLOJARS_[a-z0-9]{60}"),
    SecretPattern("docker-hub-token", "dckr_pat_ dckr_oat_", r"dckr_[po]at_[\w-]{27,}"),
    SecretPattern("hugging-face-token", "hf_ api_org_", r"(?:hf|api_org)_[A-Za-z0-9]{34,}(?!\w)"),
    SecretPattern("anthropic-key", "sk-ant-", r"sk-ant-[a-z]{3,6}\d\d-[\w-]{40,}"),
    SecretPattern("openrouter-key", "sk-or-v1-", r"sk-or-v1-[0-9a-f]{64}"),
    SecretPattern("openai-key", "sk-", r"sk-(?:(?:proj|svcacct|admin|None)-[\w-]{40,}|[A-Za-z0-9]{32,}(?![\w-]))"),
    SecretPattern("groq-key", "gsk_", r"gsk_[A-Za-z0-9]{48,}"),
    SecretPattern("xai-key", "xai-", r"xai-[A-Za-z0-9]{70,}"),
    SecretPattern("replicate-token", "r8_", r"r8_[A-Za-z0-9]{37}"),
    SecretPattern("perplexity-key", "pplx-", r"pplx-[A-Za-z0-9]{40,}"),
    SecretPattern("nvidia-key", "nvapi-", r"nvapi-[\w-]{60,}"),
    SecretPattern("langsmith-key", "lsv2_", r"lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}"),
    SecretPattern("pinecone-key", "pcsk_", r"pcsk_[A-Za-z0-9_]{50,}"),
    SecretPattern("databricks-token", "dapi", r"dapi[a-f0-9]{32}(?:-\d)?"),
    SecretPattern("digitalocean-token", "doo_v1_ dop_v1_ dor_v1_", r"do[opr]_v1_[a-f0-9]{64}"),
    SecretPattern("heroku-key", "HRKU-", r"HRKU-(?:AA[\w-]{40,}|[0-9a-f-]{36})"),
    SecretPattern("cloudflare-key", "v1.0-", r"v1\.0-[0-9a-f]{24}-[0-9a-f]{146}"),
    SecretPattern("netlify-token", "nfp_ nfc_ nfo_ nfu_ nfb_", r"nf[pcoub]_[A-Za-z0-9]{36}"),
    SecretPattern("vercel-token", "vercel_blob_rw_", r"vercel_blob_rw_[A-Za-z0-9]{10,}_[A-Za-z0-9]{20,}"),
    SecretPattern("shopify-token", "shpat_ shpca_ shppa_ shpss_", r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}"),
    SecretPattern("linear-key", "lin_api_ lin_oauth_", r"lin_(?:api|oauth)_[A-Za-z0-9]{40,}"),
    SecretPattern("notion-token", "ntn_ secret_", r"(?:ntn_\d{11}[A-Za-z0-9]{35}|secret_[A-Za-z0-9]{43})(?!\w)"),
    SecretPattern("airtable-token", "pat", r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    SecretPattern("hubspot-token", "pat-na pat-eu", r"pat-(?:na|eu)\d-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"),
    SecretPattern("new-relic-key", "NRAK- NRII- NRJS-", r"NR(?:AK|II|JS)-[A-Za-z0-9-]{19,}"),
    SecretPattern("new-relic-key", "NRAL", r"(?<=[0-9a-f]{30})NRAL", lead=r"(?<![A-Za-z0-9])(?:[0-9a-f]{36}|[a-z]{2}\d\dxx[0-9a-f]{30})"),
    SecretPattern(
        "grafana-token", "glsa_ glc_ eyJrIjoi", r"(?:glsa_[A-Za-z0-9]{32}_[A-Fa-f0-9]{8}|(?:glc_|eyJrIjoi)[A-Za-z0-9+/]{32,}={0,3})"
    ),
    SecretPattern("sentry-token", "sntrys_ sntryu_", r"(?:sntryu_[a-f0-9]{64}|sntrys_eyJ[\w+/=-]{60,})"),
    SecretPattern("postman-key", "PMAK-", r"PMAK-[a-fA-F0-9]{24}-[a-fA-F0-9]{34}"),
    SecretPattern("terraform-token", ".atlasv1.", r"(?<=[A-Za-z0-9]{14})\.atlasv1\.[\w=-]{60,}", lead=r"(?<![A-Za-z0-9])[A-Za-z0-9]{14}"),
    SecretPattern("vault-token", "hvs. hvb. hvr.", r"hv[sbr]\.[\w-]{24,}"),
    SecretPattern("age-key", "AGE-SECRET-KEY-1", r"AGE-SECRET-KEY-1[A-Z0-9]{58}"),
    SecretPattern("minisign-key", "RWRTY0Iy RWRCSw", r"(?<![/+])RWR(?:TY0Iy|CSw)[A-Za-z0-9+/]{120,}={0,2}"),
    SecretPattern(
        "1password-key",
        "A3- ops_eyJ",
        r"(?:A3-[A-Z0-9]{6}-(?:[A-Z0-9]{11}|[A-Z0-9]{6}-[A-Z0-9]{5})(?:-[A-Z0-9]{5}){3}|ops_eyJ[\w+/=-]{200,})",
    ),
    SecretPattern("artifactory-key", "AKCp cmVmdGtu", r"(?<![/+])(?:AKCp[A-Za-z0-9]{69}|cmVmdGtu[A-Za-z0-9]{56})(?![/+=])"),
    SecretPattern(
        "doppler-token", "dp.pt. dp.st. dp.ct. dp.sa. dp.scim. dp.audit.", r"dp\.[a-z]{2,5}\.(?:[\w-]{2,35}\.)?[A-Za-z0-9]{40,44}"
    ),
    SecretPattern("dynatrace-token", "dt0c01. dt0s01.", r"dt0[cs]01\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    SecretPattern("planetscale-token", "pscale_", r"pscale_(?:tkn|pw|oauth)_[\w=.-]{32,}"),
    SecretPattern("pulumi-token", "pul-", r"pul-[a-f0-9]{40}"),
    SecretPattern("prefect-key", "pnu_", r"pnu_[A-Za-z0-9]{36}"),
    SecretPattern("buildkite-token", "bkua_", r"bkua_[0-9a-f]{40}"),
    SecretPattern("circleci-token", "CCIPAT_ CCIPRJ_", r"CCIP(?:AT|RJ)_[A-Za-z0-9]{20,24}_[0-9a-f]{40}"),
    SecretPattern("sonar-token", "squ_ sqp_ sqa_", r"sq[upa]_[0-9a-f]{40}"),
    SecretPattern("sourcegraph-token", "sgp_", r"sgp_(?:(?:[a-f0-9]{16}|local)_)?[a-f0-9]{40}"),
    SecretPattern("figma-token", "figd_", r"figd_[\w-]{40,}"),
    SecretPattern("supabase-key", "sbp_ sb_secret_", r"(?:sbp_[0-9a-f]{40}|sb_secret_[\w-]{30,})"),
    SecretPattern("tailscale-key", "tskey-", r"tskey-(?:[a-z]+-)?[A-Za-z0-9]{6,}-[A-Za-z0-9]{16,}"),
    SecretPattern("fly-io-token", "fo1_ fm1a_ fm1r_ fm2_", r"(?:fo1_[\w-]{43}|fm(?:1[ar]|2)_[A-Za-z0-9+/]{100,}={0,3})"),
    SecretPattern("contentful-token", "CFPAT-", r"CFPAT-[\w-]{43}"),
    SecretPattern("typeform-token", "tfp_", r"tfp_[\w.=-]{40,}"),
    SecretPattern("easypost-key", "EZAK EZTK", r"EZ[AT]K[A-Za-z0-9]{54}"),
    SecretPattern("alibaba-access-key", "LTAI", r"(?<![/+])LTAI[A-Za-z0-9]{20}(?![/+=])"),
    SecretPattern("facebook-token", "EAAM EAAC EAAG EAAB", r"(?<![/+])EAA[MCGB][A-Za-z0-9]{100,}(?![/+=])"),
    SecretPattern("twitter-token", "AAAAAAAAAAAAAAAAAAAAA", r"(?<![/+])A{21,22}[A-Za-z0-9%]{80,}(?![/+=])"),
    SecretPattern("openshift-token", "sha256~", r"sha256~[\w-]{43}(?![\w-])"),
    SecretPattern("django-secret-key", "django-insecure-", r"django-insecure-[^\s\"'`]{40,}"),
    SecretPattern("maxmind-key", "_mmk", r"(?<=_[A-Za-z0-9]{29})_mmk(?!\w)", lead=r"(?<![A-Za-z0-9])[A-Za-z0-9]{6}_[A-Za-z0-9]{29}"),
    SecretPattern("mapbox-token", "sk.eyJ", r"sk\.eyJ[\w-]{20,}\.[\w-]{20,}"),
    SecretPattern("jwt", "eyJ", r"(?<![_-])eyJ[\w-]{14,}\.eyJ[\w-]{10,}\.[\w-]{16,}"),
)


@dataclass(frozen=True, slots=True)
class NamedSecret:
    """A secret that is known by the name beside it: what the line says up to there, and what the whole value looks like."""

    kind: str
    names: str
    value: str


UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
NAMED = (
    NamedSecret("aws-secret-key", r"aws|amazon|s3|secret_?access_?key", r"(?=.*[A-Z])[A-Za-z0-9/+]{40}"),
    NamedSecret("discord-token", r"", r"[MNO][A-Za-z0-9_-]{23,27}\.[\w-]{6}\.[\w-]{27,40}"),
    NamedSecret("discord-token", r"discord", r"[\w-]{32}|[0-9a-f]{64}"),
    NamedSecret("asana-token", r"", r"[012]/\d{10,20}(?:/\d{10,20})?:[0-9a-f]{32}"),
    NamedSecret("asana-token", r"asana", r"[0-9a-f]{32}"),
    NamedSecret("heroku-key", r"heroku", UUID),
    NamedSecret("datadog-key", r"datadog|dd_?ap[ip]", r"[0-9a-f]{32}|[0-9a-f]{40}|[\w-]{40}"),
    NamedSecret("cloudflare-key", r"cloudflare|cf_?api", r"[0-9a-f]{37}|[\w-]{40}|[\w-]{53}"),
    NamedSecret("fastly-token", r"fastly", r"[\w-]{32}"),
    NamedSecret("netlify-token", r"netlify", r"[\w-]{40,64}"),
    NamedSecret("vercel-token", r"vercel", r"[A-Za-z0-9]{24}"),
    NamedSecret("airtable-token", r"airtable", r"key[A-Za-z0-9]{14}"),
    NamedSecret("pagerduty-key", r"pagerduty|pager_duty|pd_api", r"[\w+-]{20}|[0-9a-f]{32}"),
    NamedSecret("bitbucket-token", r"bitbucket", r"[A-Za-z0-9]{18,20}|[A-Za-z0-9]{32}|[\w=-]{64}"),
    NamedSecret("atlassian-token", r"atlassian|jira|confluence", r"[A-Za-z0-9]{24}"),
    NamedSecret("mailgun-key", r"mailgun", r"[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}"),
    NamedSecret("twilio-key", r"twilio", r"[0-9a-f]{32}|[A-Za-z0-9]{32}"),
    NamedSecret("paypal-secret", r"paypal", r"E[\w-]{79}"),
    NamedSecret("cohere-key", r"cohere|co_api_key", r"[A-Za-z0-9]{40}"),
    NamedSecret("mistral-key", r"mistral", r"[A-Za-z0-9]{32}"),
    NamedSecret("wandb-key", r"wandb", r"[0-9a-f]{40}"),
    NamedSecret("azure-devops-token", r"azure|ado_|devops|vsts", r"[a-z2-7]{52}"),
    NamedSecret("azure-client-secret", r"azure|arm_client", UUID),
    NamedSecret("okta-token", r"okta", r"00[\w-]{40}"),
    NamedSecret("algolia-key", r"algolia", r"[0-9a-f]{32}"),
    NamedSecret("codecov-token", r"codecov", rf"{UUID}|[0-9a-z]{{32}}"),
    NamedSecret("snyk-token", r"snyk", UUID),
    NamedSecret("splunk-token", r"splunk", UUID),
    NamedSecret("circleci-token", r"circle_?(?:ci)?", r"[0-9a-f]{40}"),
    NamedSecret("travis-token", r"travis", r"[\w-]{22}"),
    NamedSecret("sonar-token", r"sonar", r"[0-9a-f]{40}"),
    NamedSecret("facebook-token", r"facebook|fb_app", r"[0-9a-f]{32}"),
    NamedSecret("twitter-token", r"twitter", r"[A-Za-z0-9]{25}|[A-Za-z0-9]{45}|[A-Za-z0-9]{50}|\d{15,25}-[A-Za-z0-9]{20,40}"),
    NamedSecret("linkedin-secret", r"linked_?in", r"[A-Za-z0-9]{16}"),
    NamedSecret("dropbox-token", r"dropbox", r"[a-z0-9]{15}|sl\.[\w=-]{100,}"),
    NamedSecret("zendesk-token", r"zendesk", r"[A-Za-z0-9]{40}"),
    NamedSecret("trello-key", r"trello", r"[0-9a-f]{32}|[0-9a-f]{64}|ATTA[0-9a-f]{60,}"),
)

#: Parts of values that were published as examples (RFC 6749 and 6750, the pages of services) and look real.
PUBLISHED = (
    "2YotnFZFEjr1zCsicMWpAA",
    "tGzv3JOkF0XG5Qx2TlKWIA",
    "7Fjfp0ZBr1KtDRbnfVdmIw",
    "mF_9.B5f-4.1JqM",
    "gX1fBat3bV",
    "4eC39HqLyjWDarjtT1zdp7dc",
    ".eyJzdWIiOiIxMjM0NTY3ODkwI",
    ".eyJzb21lIjoicGF5bG9hZCJ9",
)
