"""The URL and the token that a client is given."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hostile import answer, client, kinds, serve

from boxyard import AsyncBoxyard, Boxyard
from boxyard._addresses import service_origin
from boxyard.operations import get_me
from given import Kind

ORIGINS: dict[str, list[tuple[str, str]]] = json.loads(Path("origins.json").read_text())


@pytest.mark.parametrize(("text", "origin"), ORIGINS["accepted"])
def test_the_url_of_a_service_is_understood(text: str, origin: str) -> None:
    assert service_origin(text) == origin


@pytest.mark.parametrize(("text", "words"), ORIGINS["refused"])
def test_what_is_no_url_of_a_service_is_refused(text: str, words: str) -> None:
    for make in (Boxyard, AsyncBoxyard):
        with pytest.raises(ValueError, match=rf"^url: {words}"):
            make(text)


@pytest.mark.parametrize("text", ["http://a:secret@b", "http://b/?ticket=secret", "http://b/sign-in#secret", "a:secret@b:x"])
def test_a_refusal_shows_no_secret(text: str) -> None:
    with pytest.raises(ValueError, match=r"^url: ") as caught:
        Boxyard(text)
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None


@kinds
async def test_white_space_around_a_token_is_not_sent(kind: Kind) -> None:
    for token in ("byt_a\n", " byt_a\r\n", "\tbyt_a"):
        for given in (token, lambda token=token: token):
            with serve(answer({})) as front, pytest.raises(Exception, match="answer"):
                await client(kind, front.url, token=given).call(get_me())
            assert "authorization: bearer byt_a\r\n" in front.heads[0].lower()


@kinds
async def test_an_empty_token_is_refused(kind: Kind) -> None:
    for token in ("", " ", "\n"):
        for given in (token, lambda token=token: token):
            with pytest.raises(ValueError, match=r"^The token is empty"):
                await client(kind, "http://127.0.0.1:1", token=given).call(get_me())


@kinds
async def test_a_token_with_white_space_in_it_is_refused(kind: Kind) -> None:
    for token in ("byt_a\nbyt_b", "byt_a byt_b"):
        with pytest.raises(ValueError, match=r"^The token contains an invalid character"):
            await client(kind, "http://127.0.0.1:1", token=token).call(get_me())
