"""Lists come in pages."""

import re
from dataclasses import dataclass
from typing import Any

from starlette.responses import JSONResponse

from gna.errors import Refused

MOST = 100
LAST = 10**9


@dataclass(frozen=True)
class Paging:
    """Which page, and how many on it."""

    page: int
    per_page: int

    @classmethod
    def parse(cls, page: str, per_page: str) -> "Paging":
        """A bad page or size is refused; too large a size is made smaller."""
        return cls(_number(page, "page"), min(_number(per_page, "per_page"), MOST))


def listed(items: list[Any], paging: Paging, total: int) -> JSONResponse:
    """A list in the one shape."""
    return JSONResponse({"items": items, "page": paging.page, "per_page": paging.per_page, "total": total})


def _number(text: str, name: str) -> int:
    if not re.fullmatch(r"[0-9]{1,10}", text) or not 1 <= int(text) <= LAST:
        raise Refused(f"{name} must be a whole number, 1 or more")
    return int(text)
