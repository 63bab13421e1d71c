"""Starts a program that serves, asks it some questions at once, and ends it by SIGTERM.

usage: program_test.py REQUEST REGEX PROGRAM [ARGUMENT...]
  REGEX    what the answer to the request looks like
  PROGRAM  prints a line with http://127.0.0.1:PORT/ when it is ready
"""
import concurrent.futures
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request


def ask(url, body):
    """The status and the text of an answer."""
    try:
        with urllib.request.urlopen(url, body, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def check(holds, what):
    if not holds:
        sys.exit(f"program_test.py: need {what}")


def question(program, url, request, regex):
    check(ask(url + "healthz", None) == (200, "ok\n"), "a server that is well")
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: ask(url, request), range(40)))
    check(len(set(answers)) == 1, f"one answer to one request; got {set(answers)}")
    status, text = answers[0]
    check(status == 200 and re.fullmatch(regex, text), f"{regex}; got {status} {text}")
    check(ask(url, b"")[0] == 400, "400 for an empty request")
    metrics = ask(url + "metrics", None)[1]
    check("\ndynet_like_requests_total 41\n" in metrics, f"41 requests; got {metrics}")
    program.send_signal(signal.SIGTERM)
    check(program.wait(60) == 0, f"exit status 0; got {program.returncode}")


def main(request, regex, *command):
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        try:
            urls = (re.search(r"http://127\.0\.0\.1:\d+/", line) for line in program.stdout)
            url = next((match for match in urls if match), None)
            check(url, "the address that it serves at")
            question(program, url.group(), request.encode(), regex)
        finally:
            program.kill()
    print("good")


if __name__ == "__main__":
    main(*sys.argv[1:])
