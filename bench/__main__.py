"""`make bench` runs every measurement; `make bench ARGS=idle` runs one."""

import sys

from bench import admin, crash, feeds, idle, inbox, inbox_bodies, people, send, subscribe

ALL = {
    "idle": idle.main,
    "subscribe": subscribe.main,
    "people": people.main,
    "admin": admin.main,
    "send": send.main,
    "crash": crash.main,
    "feeds": feeds.main,
    "inbox": inbox.main,
    "inbox_bodies": inbox_bodies.main,
}

if __name__ == "__main__":
    for name in sys.argv[1:] or ALL:
        ALL[name]()
