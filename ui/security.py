"""Middleware in front of all pages: allowed host names, refused requests, security headers.

Another site can point its own name at this server (DNS rebinding) and would then count as the same site, so
`Hosts` refuses names that are not listed in `Access`. Forwarding headers are trusted from named proxies only
and removed from all other requests.

Gradio's index page refers to pictures, a manifest and a frame script that are not used here, and has inline
scripts. `Shell` rewrites the response: our own head, the page's language, a nonce on every script. The
content security policy then restricts the browser to this server.
"""

from __future__ import annotations

import ipaddress
import re
import secrets
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Final, cast

from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from simulator.errors import InputError
from ui.i18n import COOKIE, LANGUAGES, choose_language
from ui.limits import ip_address

_YEAR = 365 * 24 * 3600
_GRADIO_META = re.compile(r"""\s*<meta\s+(?:property|name)="(?:og|twitter):[^>]*?/>""", re.DOTALL)
_MANIFEST = re.compile(r"""\s*<link rel="manifest"[^>]*>""")
_FRAME_SCRIPTS = re.compile(
    r"<script[^>]*>(?:(?!</script>).)*?iframe-?resizer(?:(?!</script>).)*</script>", re.DOTALL | re.IGNORECASE
)
# The base ./ changes nothing except that links to #fragments would lose the query.
_BASE = re.compile(r"""\s*<base href="\./"\s*/?>""")
_GRADIO_CALL = re.compile(r"/gradio_api/([^/=]*)")
# What Gradio's components and events need; not uploads, files, proxies or saved links.
GRADIO_CALLS = frozenset({"component_server", "heartbeat", "info", "queue", "run", "call", "reset", "cancel"})
_SCRIPT = re.compile(r"<script(?=[\s>])")
_HEADERS: Final = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "SAMEORIGIN",
    # The link is the key to a seat: it must not be sent to other sites.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
}

Head = Callable[[str], str]


def page_language(scope: Scope) -> str:
    """Return the language of a page: the query's ``lang``, else the cookie, else the browser's preference."""
    asked = HTTPConnection(scope)
    wishes = asked.query_params.get("lang"), asked.cookies.get(COOKIE), asked.headers.get("accept-language")
    return choose_language(*wishes)


def rewrite_index(html: str, *, language: str, head: str, nonce: str) -> str:
    """Return Gradio's index page with `head` added, and foreign references and frame scripts removed."""
    for unwanted in (_GRADIO_META, _MANIFEST, _FRAME_SCRIPTS, _BASE):
        html = unwanted.sub("", html)
    # Gradio sets lang to the browser's language when it starts; our script restores it from data-language.
    tag = escape(language)
    html = html.replace('lang="en"', f'lang="{tag}" data-language="{tag}"', 1)
    html = html.replace("</head>", f"{head}\n</head>", 1)
    return _SCRIPT.sub(f'<script nonce="{nonce}"', html)


def policy(nonce: str) -> str:
    """Return the content security policy; Gradio needs unsafe-eval for its templates."""
    return "; ".join(
        (
            "default-src 'self'",
            f"script-src 'self' 'nonce-{nonce}' 'unsafe-eval'",
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            "connect-src 'self'",
            "worker-src 'self' blob:",
            "object-src 'none'",
            "base-uri 'self'",
            "form-action 'self'",
            "frame-ancestors 'self'",
        )
    )


class Gate:
    """Middleware that refuses what our pages never request: calls from other sites, uploads, files."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer 403 or 404."""
        refusal = _refusal(scope) if scope["type"] == "http" else None
        await (refusal or self.app)(scope, receive, send)


def _refusal(scope: Scope) -> ASGIApp | None:
    call = _GRADIO_CALL.search(scope["path"])
    if call is not None and call.group(1) not in GRADIO_CALLS:
        return PlainTextResponse("there is nothing here", status_code=404)
    headers = Headers(scope=scope)
    origin = headers.get("origin")
    # `Hosts` has already checked our own name.
    cross_site = origin is not None and origin.partition("://")[2] != headers.get("host")
    if cross_site and scope["method"] not in ("GET", "HEAD", "OPTIONS"):
        refusal = (
            f"A request from {origin} to {headers.get('host')} is refused. A proxy in between must keep the "
            "Host header, or send X-Forwarded-Host and be named with: askback app --proxy ADDRESS\n"
        )
        return PlainTextResponse(refusal, status_code=403)
    return None


class Shell(BaseHTTPMiddleware):
    """Middleware that adds security headers to every response and rewrites Gradio's index pages.

    `head`: language -> markup for a page's head. `missing`: language -> page for an unknown address.
    `aliases`: further paths of the page at ``/``.
    """

    def __init__(self, app: ASGIApp, head: Head, missing: Head, aliases: Collection[str] = ()) -> None:
        super().__init__(app)
        self.head = head
        self.missing = missing
        self.aliases = aliases

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, through `dispatch` if it may be for a page."""

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(_HEADERS)
                if message["status"] == 413:  # unread bytes must not be taken for the next request
                    headers["Connection"] = "close"
            await send(message)

        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        path = "/" if scope["path"] in self.aliases else scope["path"]
        # Not every client that wants a page accepts text/html explicitly.
        if path != "/" and not _accepts_pages(scope):
            await self.app(scope, receive, send_safely)
            return
        # Only an uncompressed page can be rewritten.
        kept = [pair for pair in scope["headers"] if pair[0] != b"accept-encoding"]
        scope = {**scope, "headers": kept, "path": path, "raw_path": path.encode()}
        await super().__call__(scope, receive, send_safely)

    async def dispatch(self, request: Request, call_next: RequestResponseEndpoint) -> Response:
        """Rewrite the response if it is a page, or if a browser has opened an unknown address."""
        response = await call_next(request)
        headers, language = response.headers, page_language(request.scope)
        if "content-disposition" in headers:
            return response  # a file to save
        if "content-encoding" not in headers and headers.get("content-type", "").startswith("text/html"):
            html = b"".join([part async for part in cast(Any, response).body_iterator]).decode()
        elif response.status_code == 404 and request.method == "GET" and _accepts_pages(request.scope):
            html = self.missing(language)  # programs get JSON for errors
        else:
            return response
        nonce = secrets.token_urlsafe(16)
        html = rewrite_index(html, language=language, head=self.head(language), nonce=nonce)
        page = HTMLResponse(html, response.status_code)
        page.raw_headers += [pair for pair in response.raw_headers if not pair[0].startswith(b"content-")]
        page.headers.update({"Content-Security-Policy": policy(nonce), "Cache-Control": "no-store"})
        if request.query_params.get("lang") in LANGUAGES:
            page.set_cookie(COOKIE, language, max_age=_YEAR, httponly=True, samesite="lax")
        return page


def _accepts_pages(scope: Scope) -> bool:
    return "text/html" in Headers(scope=scope).get("accept", "")


# ---- names and proxies

HEALTH: Final = "/health"
_FORWARDED: Final = (
    *(b"forwarded", b"x-real-ip", b"x-forwarded-for", b"x-forwarded-host", b"x-forwarded-proto"),
    *(b"x-forwarded-port", b"x-forwarded-prefix", b"x-forwarded-server", b"x-forwarded-scheme"),
)


@dataclass(frozen=True)
class Access:
    """Host names under which the server answers, and proxies that it trusts.

    Attributes:
        names: host names in addition to those of the loopback interface.
        proxies: addresses or networks of proxies whose X-Forwarded headers are trusted.
        addresses: True if any IP address is accepted as host, as when the server listens to other machines.
        sso_header: header in which the proxies name the authenticated user; empty for none.
    """

    names: tuple[str, ...] = ()
    proxies: tuple[str, ...] = ()
    addresses: bool = False
    sso_header: str = ""

    @classmethod
    def build(cls, host: str, names: Sequence[str], proxies: Sequence[str], sso_header: str = "") -> Access:
        """Return the access of a server that listens on `host`.

        Raises:
            InputError: if a name or proxy is malformed, or `sso_header` is set without a proxy.
        """
        if sso_header and not proxies:
            raise InputError(
                "--sso-header needs --proxy: the header is trusted from named proxies only, since every "
                "browser can send it."
            )
        for name in names:
            if not (ip_address(name) or re.fullmatch(r"[\w.-]+", name)):
                raise InputError(f"--host-name {name}: write a name only, such as lab.example.")
        networks = []
        for proxy in proxies:
            try:
                networks.append(str(ipaddress.ip_network(proxy, strict=False)))
            except ValueError:
                raise InputError(
                    f"--proxy {proxy} is not an IP address or network such as 10.0.0.7 or 10.0.0.0/24."
                ) from None
        listening = () if ip_address(host) else (host.lower(),)
        return cls(
            names=(*(name.lower().strip(".") for name in names), *listening),
            proxies=tuple(networks),
            addresses=not is_loopback(host),
            sso_header=sso_header,
        )

    def allows(self, host: str, *, forwarded: bool = False) -> bool:
        """Return True if the server answers under `host`.

        `forwarded`: True if a proxy passed it on. Loopback names are then refused, since no browser behind a
        proxy has a reason to use them.
        """
        name = host_name(host)
        if name in self.names:
            return True
        if is_loopback(name):
            return not forwarded
        # DNS rebinding needs a name; an address is safe.
        return self.addresses and ip_address(name) is not None

    def trusts(self, address: str) -> bool:
        """Return True if `address` is one of the named proxies."""
        try:
            parsed = ipaddress.ip_address(address)  # without unwrapping IPv4 in IPv6, like Uvicorn
        except ValueError:
            return False
        return any(parsed in ipaddress.ip_network(proxy) for proxy in self.proxies)


class Hosts:
    """The outermost middleware: determines client and host name, and refuses unlisted names."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self.app = app
        self.access = access
        self._forwarded = {*_FORWARDED, access.sso_header.lower().encode("latin-1")}
        # Uvicorn has its own ASGI types.
        self._behind_proxy: ASGIApp = cast(Any, ProxyHeadersMiddleware)(app, list(access.proxies))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on with trustworthy headers only, or answer 421."""
        if scope["type"] != "http":
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
                f"Askback is not served under the name {host_name(host)!r}. Whoever runs it can allow the "
                "name with: askback app --host-name NAME\n",
                status_code=421,
            )
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
    """Return the name in a Host header in lower case, without the port."""
    name = host.rpartition("]")[0].lstrip("[") if host.startswith("[") else host.partition(":")[0]
    return name.lower().rstrip(".")


def is_loopback(name: str) -> bool:
    """Return True if `name` is ``localhost`` or a loopback address."""
    address = ip_address(name)
    return name == "localhost" or (address is not None and address.is_loopback)
