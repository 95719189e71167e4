"""What all tests share: tables are cached in a folder of the test session, not the user's."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest


@pytest.fixture(scope="session", autouse=True)
def table_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    before = os.environ.get("TACAN_CACHE")
    os.environ["TACAN_CACHE"] = str(tmp_path_factory.mktemp("tables"))
    yield
    if before is None:
        del os.environ["TACAN_CACHE"]
    else:
        os.environ["TACAN_CACHE"] = before
