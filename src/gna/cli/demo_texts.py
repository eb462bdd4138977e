"""The words of the example publication."""

FIRST_NAMES = (
    *("Ana", "Ion", "Maria", "Andrei", "Elena", "Mihai", "Ioana", "Radu", "Irina", "Vlad", "Sofia", "Matei"),
    *("Emma", "Noah", "Olivia", "Liam", "Mia", "Lukas", "Léa", "Hugo", "Chiara", "Luca", "Inês", "Tomás"),
)
LAST_NAMES = (
    *("popescu", "ionescu", "dumitru", "stan", "radu", "marin", "moldovan", "rusu", "munteanu", "lazar"),
    *("smith", "jones", "meyer", "schulz", "martin", "bernard", "rossi", "silva", "novak", "kovacs"),
)
# The newest last.
SUBJECTS = (
    "A letter before we begin",
    "Why small websites last",
    "Notes from a week offline",
    "The quiet web, issue 36",
    "A small update about the podcast",
    "Three tools I could not work without",
    "The quiet web, issue 37",
    "Reading lists, and how to finish them",
    "Why I moved my newsletter home",
    "The quiet web, issue 38",
    "What a good archive looks like",
    "The quiet web, issue 39",
)
NEXT = "The quiet web, issue 40"
DRAFT = "On slow software, and a giveaway"
BODY = """This week I wrote about **slow software**: tools that wait for you, not the other way round.

## What is inside

- A short essay on waiting
- Three links worth your Sunday
- A giveaway for readers who write back

> Attention is the rarest and purest form of generosity.

[Read it in your browser](https://example.org/slow-software)

See you next week,
*Ana*
"""
