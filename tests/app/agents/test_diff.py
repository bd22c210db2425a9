"""What is shown of a configuration has no secret in it, and all else as it is."""

from __future__ import annotations

import json

from whence.app.agents.changes import HIDDEN, hide_secrets

SECRETS = ("hunter2hunter2", "sk-proj-abcdefghijklmnopqrstuvwxyz012345", "pw one", "0042", "Basic dXNlcg==")


def test_values_of_variables_headers_and_what_is_named_a_secret_are_hidden():
    servers = {
        "a": {
            "command": "x",
            "env": {"API_KEY": SECRETS[0], "DB": SECRETS[2], "PIN": int(SECRETS[3], 8)},
            "args": ["--api-key", SECRETS[1], "--fast"],
        },
        "b": {"url": f"https://example.org/?api_key={SECRETS[0]}", "headers": {"Authorization": SECRETS[4]}, "note": "kept"},
        "c": {"command": "sh", "args": ["-e", f"DB_PASSWORD={SECRETS[2]}", "--header", SECRETS[4], f"x --token {SECRETS[0]}"]},
        "d": {"auth": {"user": {"deep": SECRETS[2]}}, "tokens": [SECRETS[0], SECRETS[2]]},
        "whence": {"command": "whence", "args": ["mcp"], "env": {"WHENCE_SESSION": "codex", "WHENCE_LEARN_IMPLICIT": "true"}},
    }
    for indent in (None, 2):
        shown = hide_secrets(json.dumps({"mcpServers": servers}, indent=indent))
        assert [secret for secret in (*SECRETS, "34") if secret in shown] == []
        told = json.loads(shown.replace(f'"PIN": {HIDDEN}', f'"PIN": "{HIDDEN}"'))["mcpServers"]
        assert told["a"] == {
            "command": "x",
            "env": dict.fromkeys(("API_KEY", "DB", "PIN"), HIDDEN),
            "args": ["--api-key", HIDDEN, "--fast"],
        }
        assert told["b"]["url"] == f"https://example.org/?api_key={HIDDEN}"
        assert told["b"]["note"] == "kept"
        assert told["whence"] == servers["whence"]


def test_in_toml_tables_and_comments_too():
    text = (
        "model = \"o5\" # it's mine\n[mcp_servers.gh] # [x]\ncommand = 'npx'\nhttp_headers = { X-Team = 'S1' }\n# API_TOKEN = \"S2\"\n"
        'env.A = """S3\nS4"""\n[mcp_servers."g]h".env] # [y]\nPLAIN = "S5"\n[other]\nname = "kept"\n'
    )
    shown = hide_secrets(text, toml=True)
    assert [secret for secret in ("S1", "S2", "S3", "S4", "S5") if secret in shown] == []
    assert shown.startswith("model = \"o5\" # it's mine\n[mcp_servers.gh] # [x]\ncommand = 'npx'\n")
    assert shown.endswith('[other]\nname = "kept"\n')


def test_a_configuration_without_secrets_is_shown_to_the_letter():
    text = '\ufeff// mine, don\'t\n{\r\n\t"mcpServers": { "docs": { "command": "npx", "args": [ "-y", "", ], }, /* } */ }, "port": 80 }\n'
    assert hide_secrets(text) == text
