"""Real endpoints of alerts on loopback: an SMTP server, an HTTP server, and ports that fail."""

import asyncio
import email
import email.policy
import json
import socket
import threading
import warnings
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from aiosmtpd.smtp import SMTP, AuthResult

PASSWORD = "Geheim-1729-xyzzy"


class Http:
    """An HTTP server that keeps what is posted to it and answers with `status`."""

    def __init__(self):
        self.status = 200
        self.refuse = ""  # answers 400 to a message with this in its subject
        self.posts = []
        endpoint = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                post = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                refused = endpoint.refuse and endpoint.refuse in post["title"]
                status = 400 if refused else endpoint.status
                if status == 200:
                    endpoint.posts.append(post)
                self.send_response(status)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_port
        self.url = f"json://user:{PASSWORD}@127.0.0.1:{self.port}/{PASSWORD}"

    @property
    def subjects(self):
        return [post["title"] for post in self.posts]


@contextmanager
def http():
    """Serve HTTP on a free port."""
    endpoint = Http()
    thread = threading.Thread(target=endpoint.server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield endpoint
    finally:
        endpoint.server.shutdown()
        thread.join()
        endpoint.server.server_close()


class Mail:
    """An SMTP server that wants a password, and keeps what it is given."""

    def __init__(self):
        self.envelopes = []
        self.port = 0

    @property
    def url(self):
        return self.url_with(PASSWORD)

    def url_with(self, password):
        return (
            f"mailto://user:{password}@127.0.0.1:{self.port}/"
            "?from=cluster@example.org&to=admins@example.org&mode=insecure"
        )

    @property
    def messages(self):
        return [
            email.message_from_bytes(envelope.content, policy=email.policy.default)
            for envelope in self.envelopes
        ]

    async def handle_DATA(self, _server, _session, envelope):
        self.envelopes.append(envelope)
        return "250 OK"

    def smtp(self):
        def authenticate(_server, _session, _envelope, _mechanism, data):
            return AuthResult(success=data.password == PASSWORD.encode(), handled=False)

        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of passwords without TLS; this is loopback
            return SMTP(
                self, authenticator=authenticate, auth_required=True, auth_require_tls=False
            )


@contextmanager
def mail():
    """Serve SMTP on a free port."""
    endpoint = Mail()
    loop = asyncio.new_event_loop()
    server = loop.run_until_complete(loop.create_server(endpoint.smtp, "127.0.0.1", 0))
    endpoint.port = server.sockets[0].getsockname()[1]
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield endpoint
    finally:
        loop.call_soon_threadsafe(server.close)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()


@contextmanager
def silent():
    """Listen on a port, accept what comes and never answer; yields the port."""
    with socket.create_server(("127.0.0.1", 0), backlog=8) as server:
        yield server.getsockname()[1]


def closed():
    """Return a port on which nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]
