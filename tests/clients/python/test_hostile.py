"""A client of a hostile service: its destinations, its memory use, and its errors."""

from __future__ import annotations

import gzip
import pickle
import resource
from collections.abc import Callable
from typing import Any

import pytest
from hostile import TOKEN, answer, client, flood, frame, kinds, serve, websocket

from boxyard import ApiError, AsyncBoxyard, ConnectionError
from boxyard._flows import Exchange, OpenSocket
from boxyard.errors import BoxNotFoundError
from boxyard.models import CreateBox
from boxyard.operations import create_box, get_box, list_boxes, list_events
from given import Kind

MIB = 1024 * 1024
ENDLESS = "HTTP/1.1 {} x\r\nConnection: close\r\n\r\n"


def cases(*values: object) -> Callable[[Callable[..., None]], Callable[..., None]]:
    return pytest.mark.parametrize("case", values, ids=lambda each: repr(each)[:30])


async def refusal(yard: AsyncBoxyard) -> ApiError:
    """Requests a box, and returns the resulting error."""
    with pytest.raises(ApiError) as caught:
        await yard.call(get_box("demo", "web"))
    return caught.value


@kinds
async def test_the_redirect_of_a_read_is_followed_without_the_token(kind: Kind) -> None:
    with serve(answer({})) as data, serve(answer("", 307, Location=f"{data.url}/there?ticket=1")) as front:
        # The answer does not describe a box.
        await refusal(client(kind, front.url))
        assert f"authorization: bearer {TOKEN}" in front.heads[0].lower()
        assert data.heads[0].startswith("GET /there?ticket=1 ")
        assert TOKEN not in data.heads[0]


@cases(301, 302, 303, 308)
@kinds
async def test_other_redirects_are_not_followed(kind: Kind, status: int) -> None:
    with serve(answer({})) as other, serve(answer("", status, Location=other.url)) as front:
        assert f"redirects to {other.url}" in str(await refusal(client(kind, front.url)))
        assert other.heads == []


@kinds
async def test_no_body_is_sent_elsewhere(kind: Kind) -> None:
    with serve(answer({})) as other, serve(answer("", 307, Location=other.url)) as front:
        yard = client(kind, front.url)
        with pytest.raises(ApiError):
            await yard.box("demo", "web").write_file("/root/a", b"a secret")
        with pytest.raises(ApiError):
            await yard.call(create_box("demo", body=CreateBox(name="web")))
        assert other.heads == []


@cases("http://169.254.169.254/", "http://[fe80::1]/", "file:///etc/passwd", "http://user:password@127.0.0.1/", "http://127.0.0.1\\@evil/")
@kinds
async def test_a_redirect_to_such_an_address_is_not_followed(kind: Kind, location: str) -> None:
    with serve(answer("", 307, Location=location)) as front:
        assert (await refusal(client(kind, front.url))).code == "unexpected_answer"
        assert len(front.heads) == 1


@kinds
async def test_redirects_in_a_circle_end(kind: Kind) -> None:
    with serve(answer("", 307, Location="/again")) as front:
        assert (await refusal(client(kind, front.url))).code == "unexpected_answer"
        assert len(front.heads) < 5


@cases("ws://169.254.169.254/", "http://127.0.0.1/", "ws+unix:/var/run/docker.sock", "ws://user@127.0.0.1/")
@kinds
async def test_the_url_of_a_ticket_leads_nowhere_else(kind: Kind, url: str) -> None:
    ticket = {"method": "GET", "expires_at": "2026-01-31T00:00:00.000Z", "url": url}
    with serve(answer(ticket, 201)) as front, pytest.raises(ApiError, match="rejects"):
        await client(kind, front.url, tickets="always").box("demo", "web").console()


@kinds
async def test_the_redirect_of_a_websocket_is_not_followed(kind: Kind) -> None:
    with serve(answer({})) as other, serve(answer({"code": "a"}, 302, Location=other.url.replace("http", "ws"))) as front:
        with pytest.raises(ApiError):
            await client(kind, front.url).box("demo", "web").console()
        assert other.heads == []


@cases(200, 404)
@kinds
async def test_an_answer_without_an_end_does_not_fill_the_memory(kind: Kind, status: int) -> None:
    with serve(flood(ENDLESS.format(status), b"x" * MIB)) as front:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        error = await refusal(client(kind, front.url))
        assert (error.status, error.code) == (status, "unexpected_answer")
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 400 * 1024


@cases("gzip", "deflate", "gzip, gzip", "br")
@kinds
async def test_a_compressed_answer_is_not_expanded(kind: Kind, encoding: str) -> None:
    bomb = gzip.compress(gzip.compress(bytes(100 * MIB)))
    with serve(answer(bomb, Content_Encoding=encoding)) as front:
        yard = client(kind, front.url)
        assert "is compressed" in str(await refusal(yard))
        with pytest.raises(ApiError, match="is compressed"):
            await yard.box("demo", "web").read_file("/root/a")
        assert "accept-encoding: identity" in front.heads[0].lower()


@kinds
async def test_an_answer_that_drips_is_given_up(kind: Kind) -> None:
    with pytest.MonkeyPatch.context() as patch, serve(flood(ENDLESS.format(200), b" ")) as front:
        patch.setattr("boxyard._answers.ANSWER_SECONDS", 0.2)
        assert "did not end within" in str(await refusal(client(kind, front.url)))


@kinds
async def test_a_head_without_an_end_is_an_error_of_the_connection(kind: Kind) -> None:
    with serve(flood("HTTP/1.1 200 x\r\n", b"a: " + b"b" * 1000 + b"\r\n")) as front, pytest.raises(ConnectionError):
        await client(kind, front.url).call(get_box("demo", "web"))


@cases(
    "",
    "null",
    "[]",
    '"text"',
    '{"a":',
    "[" * 100_000,
    '{"a":' * 100_000,
    f'{{"id":{"1" * 100_000}}}',
    '{"id":NaN}',
    '{"id":1e999}',
    b"\xff\xfe",
)
@kinds
async def test_what_is_no_such_json_is_an_api_error(kind: Kind, body: bytes | str) -> None:
    with serve(answer(body)) as front:
        assert (await refusal(client(kind, front.url))).code == "unexpected_answer"
    with serve(answer(body, 404)) as front:
        assert (await refusal(client(kind, front.url))).status == 404


EVENT: dict[str, object] = {
    "id": "a",
    "type": "box.created",
    "time": "2026-01-31T00:00:00.000Z",
    "project": "demo",
    "resource": "a",
    "actor": None,
    "data": {},
}
PAGE = {"events": [], "next_cursor": "a", "has_more": False}


@cases(
    {"next_cursor": 5},
    {"next_cursor": None},
    {"has_more": "no"},
    {"has_more": 1},
    {"events": {"a": 1}},
    {"events": "abc"},
    {"events": [5]},
    {"events": [{**EVENT, "time": "never"}]},
    {"events": [{**EVENT, "resource": ["a"]}]},
    {"events": [{**EVENT, "actor": 5}]},
)
@kinds
async def test_a_field_of_another_type_is_named(kind: Kind, change: dict[str, object]) -> None:
    with serve(answer({**PAGE, **change})) as front, pytest.raises(ApiError, match="The answer to list_events cannot be read"):
        await client(kind, front.url).call(list_events("demo"))


@kinds
async def test_a_field_that_is_missing_is_named(kind: Kind) -> None:
    with serve(answer({"boxes": []})) as front, pytest.raises(ApiError, match="The field 'has_more' is missing"):
        await client(kind, front.url).call(list_boxes("demo"))


@kinds
async def test_half_a_surrogate_pair_becomes_what_can_be_printed(kind: Kind) -> None:
    with serve(answer('{"events":[],"next_cursor":"a\\ud800b\\ud83d\\ude00","has_more":false}')) as front:
        page = await client(kind, front.url).call(list_events("demo"))
        assert page.next_cursor == "a\ufffdb\U0001f600"


@cases("same", "circle", "empty")
@kinds
async def test_a_list_without_an_end_is_refused(kind: Kind, how: str) -> None:
    count = 0

    def page(connection: Any, head: str) -> None:
        nonlocal count
        count += 1
        token = {"same": "a", "circle": str(count % 3), "empty": str(count)}[how]
        answer({"boxes": [], "has_more": True, "next_continuation_token": token})(connection, head)

    with serve(page) as front, pytest.raises(ApiError, match="The list does not end"):
        async for _ in client(kind, front.url).list(list_boxes("demo")):
            pass
    assert count < 200


@cases("nan", "-1", "1e9", "inf", "Wed, 21 Oct 2099 07:28:00 GMT", "0x10", "")
@kinds
async def test_what_cannot_be_waited_is_a_pause_of_its_own(kind: Kind, pause: str) -> None:
    with serve(answer({}, 503, Retry_After=pause)) as front:
        assert (await refusal(client(kind, front.url, attempts=2))).status == 503
        assert len(front.heads) == 2


@cases("..", "", "a/b", "\u2028")
@kinds
async def test_an_id_that_leads_elsewhere_is_refused(kind: Kind, operation: str) -> None:
    with serve(answer({"detail": "no"}, 404)) as front, pytest.raises((ApiError, ValueError)):
        await client(kind, front.url).wait_for_operation(operation)


SUCCESS = b'\x03{"status":"Success"}'
CLOSE = frame(b"\x03\xe8", 0x88)


@cases(b"\x03{", b"\x03[]", b"\x03" + b"[" * 100, b'\x03{"status":"success"}', b"", b"\x09unknown", b"\x00input")
@kinds
async def test_a_command_without_a_status_has_not_succeeded(kind: Kind, message: bytes) -> None:
    with serve(websocket(frame(message), CLOSE)) as front:
        stream = await client(kind, front.url).box("demo", "web").stream(["true"])
        with pytest.raises(ConnectionError):
            await stream.ended()


@cases(b'"0"', b'"256"', b'"-1"', b'"x"', b'"\xc2\xb2"', b"0", b"7.5", b"true", b"[]")
@kinds
async def test_a_failure_by_what_is_no_code_is_not_known(kind: Kind, code: bytes) -> None:
    status = b'\x03{"status":"Failure","details":{"causes":[{"message":' + code + b"}]}}"
    with serve(websocket(frame(status), CLOSE)) as front:
        stream = await client(kind, front.url).box("demo", "web").stream(["true"])
        assert (await stream.ended()).exit_code is None


@kinds
async def test_the_first_status_counts(kind: Kind) -> None:
    failure = b'\x03{"status":"Failure","details":{"causes":[{"message":"7"}]}}'
    with serve(websocket(frame(failure), frame(SUCCESS), CLOSE)) as front:
        stream = await client(kind, front.url).box("demo", "web").stream(["true"])
        assert (await stream.ended()).exit_code == 7


@kinds
async def test_a_message_that_is_too_long_is_an_error_that_says_so(kind: Kind) -> None:
    with serve(websocket(b"\x82\x7f" + (2**40).to_bytes(8, "big"))) as front:
        stream = await client(kind, front.url).box("demo", "web").stream(["true"])
        with pytest.raises(ConnectionError, match="more than 1048576 bytes"):
            await stream.ended()


@cases(f"{TOKEN}\nx", f"{TOKEN} x", f"{TOKEN}\u2026")
@kinds
async def test_a_token_that_no_header_holds_is_in_no_error(kind: Kind, token: str) -> None:
    with pytest.raises(ValueError, match="The token contains an invalid character") as caught:
        await client(kind, "http://127.0.0.1:1", token=token).call(get_box("demo", "web"))
    assert TOKEN not in repr(caught.value)


@kinds
async def test_a_password_of_the_url_is_in_no_error(kind: Kind) -> None:
    with pytest.raises(ValueError, match="has a user name or a password") as caught:
        await client(kind, "http://user:hunter2@127.0.0.1:1").call(get_box("demo", "web"))
    assert "hunter2" not in str(caught.value)


@kinds
async def test_no_cookie_is_kept(kind: Kind) -> None:
    with serve(answer({}, Set_Cookie="a=b")) as front:
        yard = client(kind, front.url)
        for _ in range(2):
            await refusal(yard)
        assert "cookie" not in front.heads[1].lower()


@kinds
async def test_no_proxy_of_the_environment_and_no_netrc_sees_a_token_for_this_machine(kind: Kind) -> None:
    with pytest.MonkeyPatch.context() as patch, serve(answer({}, 502)) as proxy, serve(answer({}, 502)) as front:
        for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy", "ws_proxy"):
            patch.setenv(name, proxy.url)
        for name in ("NO_PROXY", "no_proxy"):
            patch.delenv(name, raising=False)
        yard = client(kind, front.url)
        await refusal(yard)
        with pytest.raises(ApiError):
            await yard.box("demo", "web").console()
        assert proxy.heads == []
        assert f"authorization: bearer {TOKEN}" in front.heads[0].lower()


def test_errors_pass_between_processes() -> None:
    problem = {"code": "box_not_found", "detail": "none", "request_id": "r", "errors": [{"pointer": "/a", "detail": "b"}]}
    error = BoxNotFoundError(404, problem, problem)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is BoxNotFoundError
    assert (again.code, again.detail, again.request_id, again.errors) == (error.code, "none", "r", error.errors)


def test_a_client_says_no_token() -> None:
    effect = OpenSocket(f"ws://127.0.0.1:1/?ticket={TOKEN}", "p", {"Authorization": TOKEN})
    for each in (AsyncBoxyard("http://127.0.0.1:1", TOKEN), effect, Exchange({"headers": {"Authorization": TOKEN}})):
        assert TOKEN not in repr(each)
