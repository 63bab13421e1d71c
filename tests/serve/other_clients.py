"""Asks a server that echoes, with Python's http.client, h11 and curl, which look at all that it says.

usage: other_clients.py PORT
"""
import http.client
import socket
import subprocess
import sys

import h11

PORT = int(sys.argv[1])


def check(holds, what):
    if not holds:
        sys.exit(f"other_clients.py: need {what}")


def with_http_client():
    client = http.client.HTTPConnection("127.0.0.1", PORT, timeout=20)  # one connection for all

    def ask(method, target, status, body=None, answer=None, **more):
        client.request(method, target, body, **more)
        reply = client.getresponse()
        text = reply.read()
        check(reply.status == status, f"{status} for {method} {target}; got {reply.status}")
        check(answer in (None, text), f"{answer} for {method} {target}; got {text}")
        return reply

    reply = ask("HEAD", "/healthz", 200, answer=b"")
    check(reply.getheader("Content-Length") == "3", "the length of what GET gets")
    ask("GET", "/healthz", 200, answer=b"ok\n")
    ask("HEAD", "/", 405, answer=b"")
    ask("HEAD", "/nothing", 404, answer=b"")
    ask("POST", "/", 200, body=b"hi", answer=b"hi")
    ask("POST", "/", 200, body=iter([b"a", b"bc" * 1000]), encode_chunked=True,
        headers={"Transfer-Encoding": "chunked"}, answer=b"a" + b"bc" * 1000)
    check("POST" in ask("OPTIONS", "*", 200, answer=b"").getheader("Allow"), "POST to be allowed")
    ask("BREW", "/", 501)
    ask("POST", "/", 200, body=b"still the same connection", answer=b"still the same connection")
    client.close()


class Strict:
    """A connection by h11, which refuses what RFC 9112 forbids a server to send."""

    def __init__(self):
        self.socket = socket.create_connection(("127.0.0.1", PORT), 20)
        self.connection = h11.Connection(h11.CLIENT)

    def send(self, *events):
        for event in events:
            self.socket.sendall(self.connection.send(event))

    def receive(self):
        """The status, and the body of a final answer."""
        body = b""
        while True:
            event = self.connection.next_event()
            if event is h11.NEED_DATA:
                self.connection.receive_data(self.socket.recv(65536))
            elif isinstance(event, h11.InformationalResponse):
                return event.status_code, b""
            elif isinstance(event, h11.Response):
                status = event.status_code
            elif isinstance(event, h11.Data):
                body += event.data
            elif isinstance(event, h11.EndOfMessage):
                if self.connection.our_state is h11.DONE:
                    if self.connection.their_state is h11.DONE:
                        self.connection.start_next_cycle()
                return status, body


def request(method, target, *headers):
    return h11.Request(method=method, target=target, headers=[("Host", "test"), *headers])


def with_h11():
    client = Strict()
    for method, target, expected in [("GET", "/healthz", (200, b"ok\n")),
                                     ("HEAD", "/healthz", (200, b"")), ("HEAD", "/", (405, b"")),
                                     ("OPTIONS", "*", (200, b"")), ("GET", "/x", (404, None))]:
        client.send(request(method, target), h11.EndOfMessage())
        status, body = client.receive()
        check(status == expected[0] and expected[1] in (None, body),
              f"{expected} for {method} {target}; got {status} {body}")
    client.send(request("POST", "/", ("Transfer-Encoding", "chunked")), h11.Data(data=b"hi "),
                h11.Data(data=b"you"), h11.EndOfMessage(headers=[("X-Trailer", "1")]))
    check(client.receive() == (200, b"hi you"), "chunks that are read")
    client.send(request("POST", "/", ("Content-Length", "2"), ("Expect", "100-continue")))
    check(client.receive() == (100, b""), "100 for one who asks")
    client.send(h11.Data(data=b"hi"), h11.EndOfMessage())
    check(client.receive() == (200, b"hi"), "an answer after 100")
    client.send(request("POST", "/", ("Content-Length", "70000"), ("Expect", "100-continue")))
    check(client.receive()[0] == 413, "413 instead of 100")
    check(client.connection.their_state is h11.MUST_CLOSE, "a connection that is to be closed")


def curl(*arguments):
    url = f"http://127.0.0.1:{PORT}"
    command = ["curl", "--silent", "--show-error", "--max-time", "20", "--noproxy", "*",
               *arguments]
    return subprocess.run([part.replace("URL", url) for part in command], check=True,
                          capture_output=True).stdout


def with_curl():
    try:
        curl("--version")
    except FileNotFoundError:
        print("other_clients.py: no curl, which is left out")
        return
    check(curl("-d", "hi", "URL/") == b"hi", "an answer to curl")
    check(curl("-H", "Transfer-Encoding: chunked", "-d", "hi", "URL/") == b"hi", "chunks of curl")
    check(curl("-0", "-d", "hi", "URL/") == b"hi", "an answer to HTTP/1.0")
    check(curl("-H", "Expect: 100-continue", "-d", "hi" * 9000, "URL/") == b"hi" * 9000, "100")
    check(b"Allow: POST" in curl("-I", "URL/"), "methods that HEAD is told")
    check(curl("-d", "a", "URL/", "--next", "-s", "-d", "b", "URL/") == b"ab", "one connection")
    check(curl("--proxy", "URL", "--noproxy", "", "-d", "hi", "http://test/") == b"hi",
          "a URL as the target")


with_http_client()
with_h11()
with_curl()
print("good")
