"""The reader's side: scan a mailbox, find the subscriptions in it, leave them safely, and see who kept sending."""
