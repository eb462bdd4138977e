"""`make bench` runs every measurement; `make bench ARGS=idle` runs one."""

import sys

from bench import idle, people, subscribe

ALL = {"idle": idle.main, "subscribe": subscribe.main, "people": people.main}

if __name__ == "__main__":
    for name in sys.argv[1:] or ALL:
        ALL[name]()
