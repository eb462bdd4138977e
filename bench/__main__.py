"""`make bench` runs every measurement; `make bench ARGS=idle` runs one."""

import sys

from bench import admin, crash, faults, feeds, idle, inbox, inbox_bodies, people, send, subscribe, who_is_known

ALL = {
    "idle": idle.main,
    "subscribe": subscribe.main,
    "who_is_known": who_is_known.main,
    "people": people.main,
    "admin": admin.main,
    "send": send.main,
    "crash": crash.main,
    "faults": faults.main,
    "feeds": feeds.main,
    "inbox": inbox.main,
    "inbox_bodies": inbox_bodies.main,
}

if __name__ == "__main__":
    names = sys.argv[1:] or list(ALL)
    if unknown := [name for name in names if name not in ALL]:
        sys.exit(f"There is no measurement {', '.join(unknown)}. There are: {', '.join(ALL)}.")
    for name in names:
        ALL[name]()
