"""Where mails come from: a server, or files."""
