"""Configuration: one YAML file, and environment variables on top."""

import os
from pathlib import Path

DEFAULTS = {"payments": {"retries": 3, "timeout": 10}, "currency": "EUR"}


def load_config(path):
    """Parse the configuration file and apply overrides from the environment."""
    config = dict(DEFAULTS)
    if Path(path).exists():
        config |= parse_yaml(Path(path).read_text(encoding="utf-8"))
    return config | environment_overrides()


def parse_yaml(text):
    """A very small reader of `key: value` lines."""
    pairs = (line.partition(":") for line in text.splitlines() if ":" in line)
    return {key.strip(): value.strip() for key, _, value in pairs}


def environment_overrides():
    """Variables that begin with SHOP_."""
    return {name.removeprefix("SHOP_").lower(): value for name, value in os.environ.items() if name.startswith("SHOP_")}
