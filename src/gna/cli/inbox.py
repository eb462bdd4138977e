"""`gna inbox`: the reader's side. Find what fills a mailbox, leave it safely, and see who kept sending."""

import typer

from gna.cli import inbox_accounts, inbox_leaving, inbox_reading, inbox_views, inbox_violations

app = typer.Typer(
    help="Find the subscriptions in a mailbox, leave them safely, and see who kept sending.", no_args_is_help=True
)
app.add_typer(inbox_accounts.app, name="account")
app.command("scan")(inbox_reading.scan)
app.command("list")(inbox_views.list_)
app.command("show")(inbox_views.show)
app.command("keep")(inbox_leaving.keep)
app.command("unkeep")(inbox_leaving.unkeep)
app.command("unsubscribe")(inbox_leaving.unsubscribe)
app.command("violations")(inbox_violations.violations)
app.command("stats")(inbox_views.stats)
app.command("audit")(inbox_reading.audit)
