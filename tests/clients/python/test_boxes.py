"""Boxes, errors, lists, retries, events and waits."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from boxyard import ApiError, ConnectionError
from boxyard.errors import BoxNotFoundError, InvalidRequestError, TokenInvalidError
from boxyard.models import BoxStatus, CreateBox, CreateToken, CreateVolume, Permission, PutService
from boxyard.operations import create_box, create_token, create_volume, get_box, get_me, get_version, list_events, list_volumes, put_service
from given import Given, both, service


class Faulty(httpx.BaseTransport, httpx.AsyncBaseTransport):
    """A transport that loses the first answers, or replaces them with refusals."""

    def __init__(self, *faults: int | None) -> None:
        self.sent: list[httpx.Request] = []
        self._faults = list(faults)
        self._ways = (httpx.HTTPTransport(), httpx.AsyncHTTPTransport())

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        answer = self._refuse(request) or self._ways[0].handle_request(request)
        return self._lose(answer)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        answer = self._refuse(request) or await self._ways[1].handle_async_request(request)
        return self._lose(answer)

    def _refuse(self, request: httpx.Request) -> httpx.Response | None:
        self.sent.append(request)
        fault = self._faults.pop(0) if self._faults and self._faults[0] is not None else None
        return None if fault is None else httpx.Response(fault, headers={"retry-after": "0"}, json={"code": "draining"})

    def _lose(self, answer: httpx.Response) -> httpx.Response:
        if self._faults and self._faults[0] is None:
            self._faults.pop(0)
            raise httpx.ReadError("the answer was lost")
        return answer


def faulty_client(given: Given, way: Faulty) -> Any:
    kind = httpx.Client if given.kind == "blocking" else httpx.AsyncClient
    return kind(transport=way, timeout=300)


@both
async def test_a_box_is_made_forked_stopped_resumed_and_deleted(given: Given) -> None:
    box = await given.yard.create_box(given.project, CreateBox(name="first"))
    assert (await box.info()).status == "running"
    fork = await box.fork("other")
    assert (await fork.info()).fork_of == "first"
    assert (await fork.stop()).status == BoxStatus.STOPPED
    assert (await fork.resume()).status == BoxStatus.RUNNING
    await fork.delete()
    await box.delete()
    with pytest.raises(BoxNotFoundError):
        await fork.info()


@both
async def test_a_refusal_is_an_error_of_the_class_of_its_code_with_its_faults(given: Given) -> None:
    with pytest.raises(InvalidRequestError) as caught:
        await given.yard.call(create_box(given.project, body=CreateBox(name="NO")))
    error = caught.value
    assert isinstance(error, ApiError)
    assert (error.code, error.status, error.retryable) == ("invalid_request", 400, False)
    assert [fault.pointer for fault in error.errors] == ["/name"]
    assert (error.request_id or "").startswith("req_")


@both
async def test_a_service_that_is_not_there_is_a_connection_error(given: Given) -> None:
    nowhere = given.other_yard(url="http://127.0.0.1:9", attempts=2)
    with pytest.raises(ConnectionError):
        await nowhere.call(get_version())
    with pytest.raises(ConnectionError):
        await nowhere.box("any", "box").stream(["true"])


@both
async def test_a_token_is_read_for_each_request(given: Given) -> None:
    tokens = ["wrong", service().token]
    yard = given.other_yard(token=lambda: tokens.pop(0))
    with pytest.raises(TokenInvalidError):
        await yard.call(get_me())
    assert Permission.ADMIN in (await yard.call(get_me())).permissions


@both
async def test_a_list_is_read_over_its_pages(given: Given) -> None:
    names = ["page-a", "page-b", "page-c"]
    for name in names:
        await given.yard.call(create_volume(given.project, body=CreateVolume(name=name)))
    assert [volume.name async for volume in given.yard.list(list_volumes(given.project, max_results=1))] == names


@both
async def test_a_create_that_is_repeated_with_its_key_over_a_lost_answer_makes_one_box(given: Given) -> None:
    way = Faulty(None)
    yard = given.other_yard(http_client=faulty_client(given, way))
    answer = await yard.call_fully(create_box(given.project, body=CreateBox(name="once")))
    assert (answer.status, answer.headers.get("idempotent-replayed"), answer.body.name) == (201, "true", "once")
    keys = [request.headers["idempotency-key"] for request in way.sent]
    assert len(keys) == 2
    assert len(set(keys)) == 1
    await given.yard.box(given.project, "once").delete()


@both
async def test_what_was_turned_away_for_now_is_sent_again_as_its_mark_allows(given: Given) -> None:
    way = Faulty(503, 429)
    yard = given.other_yard(http_client=faulty_client(given, way))
    assert (await yard.call(get_box(given.project, "web"))).name == "web"
    assert len(way.sent) == 3

    body = CreateToken(name="once", projects=[given.project], permissions=[Permission.READ])
    way = Faulty(429, 503)
    yard = given.other_yard(http_client=faulty_client(given, way))
    with pytest.raises(ApiError) as refused:
        await yard.call(create_token(body=body))
    assert (refused.value.status, len(way.sent)) == (503, 2)

    way = Faulty(None)
    yard = given.other_yard(http_client=faulty_client(given, way))
    with pytest.raises(ConnectionError):
        await yard.call(create_token(body=body))
    assert len(way.sent) == 1


@both
async def test_attempts_end(given: Given) -> None:
    way = Faulty(503, 503, 503)
    yard = given.other_yard(http_client=faulty_client(given, way), attempts=2)
    with pytest.raises(ApiError):
        await yard.call(get_version())
    assert len(way.sent) == 2


@both
async def test_events_come_in_order_from_a_cursor_on(given: Given) -> None:
    project = f"events-{given.kind}"
    types = ["box.created", "box.deleted"]
    await (await given.yard.create_box(project, CreateBox(name="seen"))).delete()
    cursor = (await given.yard.call(list_events(project))).next_cursor
    await (await given.yard.create_box(project, CreateBox(name="later"))).delete()
    names = ["seen", "seen", "later", "later"]
    for since, expected in ((None, names), (cursor, names[2:])):
        seen: list[tuple[str, str]] = []
        async for event in given.yard.events(project, since=since, types=types):
            seen.append((event.type_, event.resource.rpartition("/")[2]))
            if len(seen) == len(expected):
                break
        assert seen == list(zip(types * 2, expected, strict=False))


@both
async def test_a_program_is_told_where_to_go_on(given: Given) -> None:
    def stop(cursor: str) -> None:
        raise Told(cursor)

    with pytest.raises(Told) as told:
        async for event in given.yard.events(given.project, since="now", on_cursor=stop):
            raise AssertionError(f"{event} is not after now")
    page = await given.yard.call(list_events(given.project, since=str(told.value)))
    assert page.events == []


class Told(Exception):
    """Stops following the events."""


@both
async def test_a_box_is_waited_for(given: Given) -> None:
    box = given.box
    waiting = asyncio.create_task(box.wait_until("stopped", timeout=120))
    await box.stop()
    assert (await waiting).status == BoxStatus.STOPPED
    await box.resume()
    assert (await box.wait_until(BoxStatus.RUNNING)).name == "web"


@both
async def test_a_wait_is_given_up_after_its_time(given: Given) -> None:
    with pytest.raises(TimeoutError):
        await given.box.wait_until(BoxStatus.STOPPED, timeout=0.01)
    with pytest.raises(BoxNotFoundError):
        await given.yard.box(given.project, "none").wait_until("running")


@both
async def test_one_has_snapshots_changes_services_and_signals(given: Given) -> None:
    box = await given.yard.create_box(given.project, CreateBox(name="kept"))
    assert (await box.snapshot("before", comment="as it was")).name == "before"
    await box.write_file("/root/new", b"x")
    assert "/root/new" in [change.path async for change in box.diff("before")]
    assert (await box.restore("before")).status == "running"
    assert len([snapshot async for snapshot in box.snapshots()]) == 2
    assert [service async for service in box.services()] == []
    stream = await box.stream(["sleep", "600"])
    assert (await box.signal(stream.id or "", "SIGTERM")).id == stream.id
    assert (await stream.ended()).exit_code == 143
    await box.delete()


@both
async def test_plain_text_is_taken_for_members_of_an_enumeration(given: Given) -> None:
    box = await given.yard.create_box(given.project, CreateBox(name="texts"))
    spec = PutService(command=["sleep", "600"], restart="never")
    assert (await given.yard.call(put_service(given.project, "texts", "site", body=spec))).name == "site"
    token = await given.yard.call(create_token(body=CreateToken(name="texts", projects="*", permissions=["read"])))
    assert token.permissions == ["read"]
    with pytest.raises(ValueError, match="nonsense"):
        await given.yard.call(put_service(given.project, "texts", "site", body=PutService(command=["true"], restart="nonsense")))
    await box.delete()
