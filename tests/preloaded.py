"""What every fork of `gna` would otherwise import and compile for itself, in `tests/forking.py`."""

from importlib import import_module

from gna.web.pages.render import templates

LATE = (
    "anyio._backends._asyncio",
    "babel.dates",
    "css_inline",
    "gna.cli.check",
    "gna.cli.migrate",
    "gna.cli.serve",
    "gna.cli.server",
    "gna.cli.subscribers",
    "gna.cli.worker",
    "gna.web.pages.admin.routes",
    "markdown_it",
    "mjml",
    "nh3",
    "psycopg",
    "redis",
    "sqlalchemy.dialects.postgresql",
    "tests.dying",
    "uvicorn.loops.uvloop",
)

for module in LATE:
    import_module(module)
for name in templates.list_templates(filter_func=lambda name: not name.startswith(".")):
    templates.get_template(name)
