"""The index view."""

from __future__ import annotations

from fastapi import APIRouter

router = APIRouter()
