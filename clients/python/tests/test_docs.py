# pyright: basic, reportPrivateUsage=none
"""Runs the blocks of docs/clients/python.md and of the package's README as written, outside the checkout and against
the real gateway.
"""

from __future__ import annotations

import re
import textwrap

import pytest

from .gateway import Gateway
from .scripted import ROOT
from .stranger import BUILD, EMPTY, PAGE, RUN, START, WEBHOOK_SECRET, Stranger, blocks

BLOCKS = blocks("python")
HELLO = BLOCKS[0]

# Delivers a freshly signed webhook to the page's receiver, and then one with another body.
DELIVERY = '''
import base64, hashlib, hmac, json, threading, time
from http.server import HTTPServer

event = {"type": "budget.threshold", "id": "evt_1", "data": {"thresholdPercent": 80, "budget": {"limit": 10}}}
sent, at = json.dumps(event).encode(), str(int(time.time()))
secret = base64.b64decode(os.environ["POSTERN_WEBHOOK_SECRET"].removeprefix("whsec_"))
signature = base64.b64encode(hmac.new(secret, f"evt_1.{at}.".encode() + sent, hashlib.sha256).digest()).decode()
headers = {"webhook-id": "evt_1", "webhook-timestamp": at, "webhook-signature": "v1," + signature}
Receiver.log_message = lambda *args: None
server = HTTPServer(("127.0.0.1", 0), Receiver)
threading.Thread(target=server.serve_forever, daemon=True).start()
for content in (sent, sent + b" "):
    print(httpx.post(f"http://127.0.0.1:{server.server_address[1]}", content=content, headers=headers).status_code)
server.shutdown()
'''


@pytest.fixture(scope="module")
def stranger(gateway: Gateway, tmp_path_factory: pytest.TempPathFactory) -> Stranger:
    return Stranger(tmp_path_factory.mktemp("stranger"), gateway)


def test_quick_start(stranger: Stranger) -> None:
    # test/dev/dev.test.mjs runs the first block.
    assert (START, RUN) == ("make dev\n", "python3 hello.py\n")
    place = stranger.run("import postern; print(postern.__file__)").stdout
    assert place.startswith(str(stranger.folder)), place
    shown = re.search(r"and then its cost:\n\n *```\n(.*?) *```", PAGE, re.S)
    assert shown is not None
    model = stranger.run("import postern; print(postern.Postern().ai.complete(messages=[{'role': 'user', 'content': 'Hi'}]).model)")
    # The tests have their own catalog.
    wanted = textwrap.dedent(shown[1]).replace("gpt-4.1-mini", model.stdout.strip())
    assert stranger.run(HELLO, "hello.py").stdout == wanted


def test_quick_start_with_a_cost(stranger: Stranger) -> None:
    lines = stranger.run(HELLO, "hello.py", POSTERN_API_KEY=stranger.gateway.productionKey).stdout.splitlines()
    assert lines[0] == "1 2 3"
    assert re.fullmatch(r"\S+ cost 0\.0\d*[1-9]\d* cents", lines[1])


def test_quick_start_without_a_budget(stranger: Stranger) -> None:
    """The project and the key that the page uses. They are created twice."""
    for _ in range(2):
        made = stranger.shell(stranger.checkout, EMPTY)
        assert made.returncode == 0, made.stderr
        key = (stranger.checkout / ".dev/empty.key").read_text().strip()
        done = stranger.run(HELLO, "hello.py", POSTERN_API_KEY=key)
        assert re.fullmatch(r"no budget left for request req_[0-9a-f]{32}\n", done.stdout), done.stderr


def test_all_blocks_twice(stranger: Stranger) -> None:
    page = "\n".join([block for block in BLOCKS if "count_tokens" not in block] + [DELIVERY])
    assert len(BLOCKS) >= 20
    for _ in range(2):
        done = stranger.run(page, POSTERN_WEBHOOK_SECRET=WEBHOOK_SECRET)
        assert (done.returncode, done.stderr) == (0, "")
        assert "GET /api/health 200 " in done.stdout
        assert done.stdout.endswith("80% of $10.0 used\n204\n400\n")
        lines = (stranger.folder / "audit.ndjson").read_text().splitlines()
        assert lines[0].startswith('{"format":"postern-export"')


def test_count_tokens(stranger: Stranger) -> None:
    (block,) = [block for block in BLOCKS if "count_tokens" in block]
    done = stranger.run(f"from postern import Postern\n\nclient = Postern()\n{block}")
    assert re.fullmatch(r"\d+ (estimated|counted by \w+)\n", done.stdout), done.stderr


def test_the_readme(stranger: Stranger) -> None:
    (block,) = blocks("python", (ROOT / "clients/python/README.md").read_text())
    assert stranger.run(block).stdout == "This is Postern's test mode. You said: Hello!0.0\n"


def test_what_the_page_says_of_development_keys(stranger: Stranger) -> None:
    program = """
from postern import OutputValidationError, Postern
client, question = Postern(), [{"role": "user", "content": "Hello!"}]
described = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}, "required": ["a", "b"]}
print(client.ai.complete(messages=question).attempts)
print(client.ai.complete(messages=question, schema=dict, response_schema=described).data)
print(client.ai.with_response.complete(messages=question).meta.attempts.count)
"""
    assert stranger.run(program).stdout == "0\n{'a': 'text', 'b': 1}\n0\n"


def test_building_names_its_packages(stranger: Stranger) -> None:
    """In a virtual environment without wheel, like one on Debian 12."""
    (build,) = [line for line in BUILD.splitlines() if "build.py" in line]
    script = f"python3 -m venv bare && . bare/bin/activate\n{build}"
    done = stranger.shell(stranger.checkout, script, PYTHONPATH="")
    assert done.returncode == 1
    for text in ("sudo apt install python3-setuptools python3-wheel", "pip install setuptools wheel"):
        assert text in done.stderr and text in re.sub(r"\s+", " ", PAGE)
