"""Headers of every response of the web app, and what is taken out of Gradio's index page.

Gradio's page names pictures, a manifest and a frame script that are of no use here, and has inline scripts.
`Shell` rewrites it on its way out: our own head, the page's language, a nonce on every script. The
content security policy then lets the browser talk to this server alone.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Collection
from html import escape
from http.cookies import SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ui.i18n import COOKIE, LANGUAGES, choose

_YEAR = 365 * 24 * 3600
_GRADIO_META = re.compile(r"""\s*<meta\s+(?:property|name)="(?:og|twitter):[^>]*?/>""", re.DOTALL)
_MANIFEST = re.compile(r"""\s*<link rel="manifest"[^>]*>""")
_FRAME_SCRIPTS = re.compile(
    r"<script[^>]*>(?:(?!</script>).)*?iframe-?resizer(?:(?!</script>).)*</script>", re.DOTALL | re.IGNORECASE
)
# Relative to ./ everything resolves as it would without a base, but links to #parts would lose the query.
_BASE = re.compile(r"""\s*<base href="\./"\s*/?>""")
_GRADIO_CALL = re.compile(r"/gradio_api/([^/=]*)")
# What Gradio's components and events need. Uploads, files, proxies and saved links are not among it.
GRADIO_CALLS = frozenset({"component_server", "heartbeat", "info", "queue", "run", "call", "reset", "cancel"})
_SCRIPT = re.compile(r"<script(?=[\s>])")

Head = Callable[[str], str]


def page_language(scope: Scope) -> str:
    """Return the language of a page: the query's ``lang``, else the cookie, else what the browser prefers."""
    headers = Headers(scope=scope)
    query = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("lang", [None])[0]
    morsel = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    return choose(query, morsel.value if morsel else None, headers.get("accept-language"))


def rewrite_index(html: str, *, language: str, head: str, nonce: str) -> str:
    """Return Gradio's index page as ours: `head` added, foreign references and frame scripts gone."""
    for unwanted in (_GRADIO_META, _MANIFEST, _FRAME_SCRIPTS, _BASE):
        html = unwanted.sub("", html)
    # Gradio sets lang to the browser's language when it starts; our script puts this one back.
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


def _add_common(headers: MutableHeaders) -> None:
    headers["X-Content-Type-Options"] = "nosniff"
    headers["X-Frame-Options"] = "SAMEORIGIN"
    # The link is the key to a seat: it must not travel to anybody else.
    headers["Referrer-Policy"] = "same-origin"
    headers["Cross-Origin-Opener-Policy"] = "same-origin"
    headers["Permissions-Policy"] = "camera=(), microphone=(), geolocation=()"


class Gate:
    """Refuses what no page of ours asks for: calls made by another site's page, uploads, files."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on, or answer 403 or 404."""
        refusal = _refusal(scope) if scope["type"] == "http" else None
        await (refusal or self.app)(scope, receive, send)


def _refusal(scope: Scope) -> ASGIApp | None:
    call = _GRADIO_CALL.search(scope["path"])
    if call is not None and call.group(1) not in GRADIO_CALLS:
        return PlainTextResponse("there is nothing here", status_code=404)
    if scope["method"] not in ("GET", "HEAD", "OPTIONS") and _is_cross_site(Headers(scope=scope)):
        return PlainTextResponse("a request from another site is refused", status_code=403)
    return None


def _is_cross_site(headers: Headers) -> bool:
    """Return True if another site's page sent the request; `ui.hosts.Hosts` has settled our name."""
    origin = headers.get("origin")
    return origin is not None and origin.partition("://")[2] != headers.get("host")


class Shell:
    """Adds the security headers to every response and makes Gradio's index pages ours.

    Args:
        app: what it wraps.
        head: language -> what goes into a page's head.
        missing: language -> what somebody sees at an address where there is nothing.
        aliases: paths at which the page at ``/`` is served as well.
    """

    def __init__(self, app: ASGIApp, head: Head, missing: Head, aliases: Collection[str] = ()) -> None:
        self.app = app
        self.head = head
        self.missing = missing
        self.aliases = aliases

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on; rewrite if the answer is a page."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        path = "/" if scope["path"] in self.aliases else scope["path"]
        # Not every program that asks for a page says so.
        if path == "/" or "text/html" in Headers(scope=scope).get("accept", ""):
            # An uncompressed page can be rewritten.
            kept = [pair for pair in scope["headers"] if pair[0] != b"accept-encoding"]
            scope = {**scope, "headers": kept, "path": path, "raw_path": path.encode()}
        await self.app(scope, receive, _Answer(self.head, self.missing, scope, send))


def _by_browser(scope: Scope) -> bool:
    """Return True if somebody has opened an address: programs get what they can read."""
    return scope["method"] == "GET" and "text/html" in Headers(scope=scope).get("accept", "")


class _Answer:
    """One response on its way out."""

    def __init__(self, head: Head, missing: Head, scope: Scope, send: Send) -> None:
        self._head = head
        self._missing = missing
        self._replaced = False
        self._scope = scope
        self._send = send
        self._start: Message | None = None
        self._body = b""

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            _add_common(headers)
            if message["status"] == 404 and _by_browser(self._scope) and not self._is_page(headers):
                headers["Content-Type"] = "text/html; charset=utf-8"
                self._body = self._missing(page_language(self._scope)).encode()
                self._replaced = True
            if self._is_page(headers):
                self._start = message
                return
        elif message["type"] == "http.response.body" and self._start is not None:
            if not self._replaced:
                self._body += message.get("body", b"")
            if not message.get("more_body", False):
                await self._finish(self._start)
            return
        await self._send(message)

    def _is_page(self, headers: Headers | MutableHeaders) -> bool:
        plain = "content-encoding" not in headers
        return plain and headers.get("content-type", "").startswith("text/html")

    async def _finish(self, start: Message) -> None:
        nonce = secrets.token_urlsafe(16)
        language = page_language(self._scope)
        html = rewrite_index(
            self._body.decode(), language=language, head=self._head(language), nonce=nonce
        ).encode()
        headers = MutableHeaders(scope=start)
        headers["Content-Length"] = str(len(html))
        headers["Content-Security-Policy"] = policy(nonce)
        headers["Cache-Control"] = "no-store"
        if parse_qs(self._scope.get("query_string", b"").decode("latin-1")).get("lang", [""])[0] in LANGUAGES:
            headers.append(
                "Set-Cookie", f"{COOKIE}={language}; Path=/; Max-Age={_YEAR}; HttpOnly; SameSite=Lax"
            )
        await self._send(start)
        await self._send({"type": "http.response.body", "body": html})
