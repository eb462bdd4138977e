"""Requests to servers on this machine, which are in the clear."""

from functools import partial

import httpx2

# Else the library loads the certificates of all the world for each of them, which takes fifty milliseconds.
get = partial(httpx2.get, verify=False)
post = partial(httpx2.post, verify=False)
delete = partial(httpx2.delete, verify=False)
request = partial(httpx2.request, verify=False)
