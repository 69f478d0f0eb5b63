"""By which names the server may be asked, and which proxies are believed.

A page of another site can have its own name lead here (DNS rebinding) and then talks to the server as if it
were its own; so a name that nobody listed is refused. What a proxy says of whom it speaks for is believed
of proxies that were named, and taken out of everybody else's requests.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final, cast

from starlette.datastructures import Headers
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from simulator.errors import InputError

HEALTH: Final = "/health"
_FORWARDED: Final = (
    b"forwarded",
    b"x-forwarded-for",
    b"x-forwarded-host",
    b"x-forwarded-proto",
    b"x-forwarded-port",
    b"x-forwarded-prefix",
    b"x-forwarded-server",
    b"x-forwarded-scheme",
    b"x-real-ip",
)


@dataclass(frozen=True)
class Access:
    """The hosts and origins from which the server may be asked.

    Attributes:
        names: host names beside those of this machine's loopback.
        proxies: addresses or networks of proxies whose X-Forwarded headers count.
        addresses: whether any IP address will do for a name: the server listens to other machines.
        sso_header: in which the proxies say whom they have logged in; empty: they do not.
    """

    names: tuple[str, ...] = ()
    proxies: tuple[str, ...] = ()
    addresses: bool = False
    sso_header: str = ""

    @classmethod
    def checked(cls, host: str, names: Sequence[str], proxies: Sequence[str], sso_header: str = "") -> Access:
        """Return the access of a server that listens on `host`.

        Raises:
            InputError: if a proxy is no address or network, or nobody is there to say who has logged in.
        """
        if sso_header and not proxies:
            raise InputError(
                "--sso-header needs --proxy: the header is believed of named proxies alone, since every "
                "browser can write it."
            )
        for proxy in proxies:
            try:
                ipaddress.ip_network(proxy, strict=False)
            except ValueError:
                raise InputError(
                    f"--proxy {proxy}: not an IP address or network such as 10.0.0.7 or 10.0.0.0/24."
                ) from None
        listening = () if is_address(host) else (host.lower(),)
        return cls(
            names=(*(name.lower().strip(".") for name in names), *listening),
            proxies=tuple(proxies),
            addresses=not is_loopback(host),
            sso_header=sso_header,
        )

    def allows(self, host: str, *, forwarded: bool = False) -> bool:
        """Return True if the server may be asked by `host`.

        Args:
            host: a Host header.
            forwarded: whether a proxy says so. Some pass on what the browser wrote, and no browser that comes
                by a proxy asks for this machine's loopback.
        """
        name = host_name(host)
        if name in self.names:
            return True
        if is_loopback(name):
            return not forwarded
        # An address cannot be made to lead elsewhere.
        return self.addresses and is_address(name)

    def trusts(self, address: str) -> bool:
        """Return True if the proxy at `address` was named."""
        if not is_address(address):
            return False
        parsed = ipaddress.ip_address(address)
        return any(parsed in ipaddress.ip_network(proxy, strict=False) for proxy in self.proxies)


class Hosts:
    """Stands before everything: settles who asks and by which name, refuses names that nobody listed."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self.app = app
        self.access = access
        self._forwarded = {*_FORWARDED, access.sso_header.lower().encode("latin-1")}
        # Uvicorn has types of its own for what an ASGI app is.
        self._behind_proxy: ASGIApp = cast(Any, ProxyHeadersMiddleware)(app, list(access.proxies))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on with headers that can be believed, or answer 421."""
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        client = scope.get("client")
        trusted = client is not None and self.access.trusts(str(client[0]))
        headers = Headers(scope=scope)
        host = headers.get("host", "")
        forwarded = trusted and "x-forwarded-host" in headers
        if forwarded:
            host = headers["x-forwarded-host"].split(",")[0].strip()
        if scope["path"] != HEALTH and not self.access.allows(host, forwarded=forwarded):
            answer = PlainTextResponse(
                f"Askback is not served under the name {host_name(host)!r}. Whoever runs it can allow that "
                "with: askback app --host-name NAME\n",
                status_code=421,
            )
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            else:
                await answer(scope, receive, send)
            return
        kept = [
            (name, value)
            for name, value in scope["headers"]
            if name != b"host" and (name not in self._forwarded or (trusted and name != b"x-forwarded-host"))
        ]
        scope = {**scope, "headers": [(b"host", host.encode("latin-1")), *kept]}
        await (self._behind_proxy if trusted else self.app)(scope, receive, send)


def host_name(host: str) -> str:
    """Return the name in a Host header, without its port, in small letters."""
    name = host.rpartition("]")[0].lstrip("[") if host.startswith("[") else host.partition(":")[0]
    return name.lower().rstrip(".")


@lru_cache(maxsize=1024)
def is_address(name: str) -> bool:
    """Return True if `name` is an IP address."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def is_loopback(name: str) -> bool:
    """Return True if `name` is ``localhost`` or an address of this machine's loopback."""
    if name == "localhost":
        return True
    if not is_address(name):
        return False
    parsed = ipaddress.ip_address(name)
    mapped = getattr(parsed, "ipv4_mapped", None)
    return bool((mapped or parsed).is_loopback)
