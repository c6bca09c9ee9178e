"""The page without a browser: what it says to whom, in which language, and that it lets nothing in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import httpx
import pytest
from http_service import served, wait, wire
from page_service import HOSTILE_NAME

from rag_platform.keys import Keys
from rag_platform.platform import RagPlatform
from serving.app import create_app
from serving.page.static_files import files, version

QUESTION = "सम्पत्ति कर कहिलेसम्म तिर्ने?"


class Tags(HTMLParser):
    """The elements of a page, with their attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_a_search_is_answered_without_scripts(service: httpx.Client) -> None:
    answer = service.get("/", params={"q": QUESTION})
    assert answer.status_code == 200
    assert '<h3 lang="ne">कर सूचना.txt</h3>' in answer.text
    assert "<mark>सम्पत्ति</mark> <mark>कर</mark> असार मसान्तभित्र" in answer.text
    assert "<mark>तिर्नेलाई</mark>" in answer.text
    assert "<mark>कहिलेसम्म</mark>" not in answer.text


def test_a_romanized_question_marks_what_it_was_read_as(service: httpx.Client) -> None:
    html = service.get("/", params={"q": "sampatti kar kahile tirne"}).text
    assert "<mark>सम्पत्ति</mark>" in html
    assert "<mark>कर</mark>" in html
    assert re.findall("“(.*)” भनेर खोजियो।", html) == ["सम्पत्ति कर kahile तिर्ने"]


def test_a_passage_of_a_pdf_leads_to_its_page_and_names_its_place_in_the_law(service: httpx.Client) -> None:
    tags = Tags(service.get("/", params={"q": "पुस्तकालयको सदस्यता शुल्क"}).text).found
    pictures = [attributes for tag, attributes in tags if tag == "a" and "data-view" in attributes]
    assert pictures
    found = service.get(str(pictures[0]["href"]))
    assert found.headers["content-type"] == "image/webp"
    assert found.headers["x-marked"] == "true"


@pytest.mark.parametrize(
    ("accepted", "language"),
    [
        ("en-US,en;q=0.9", "en"),
        ("ne-NP,ne;q=0.9,en;q=0.8", "ne"),
        ("de", "ne"),
        ("hi,en;q=0.5", "en"),
        ("", "ne"),
    ],
)
def test_the_browsers_language_decides_first(service: httpx.Client, accepted: str, language: str) -> None:
    html = service.get("/", headers={"accept-language": accepted}).text
    assert f'<html lang="{language}">' in html


def test_a_chosen_language_is_kept_and_the_search_with_it(service: httpx.Client) -> None:
    with httpx.Client(
        base_url=service.base_url, trust_env=False, headers={"accept-language": "ne"}
    ) as visitor:
        chosen = visitor.get("/", params={"q": "कर", "kind": "text", "lang": "en"})
        assert "Passages found" in chosen.text
        links = [
            attributes["href"] for tag, attributes in Tags(chosen.text).found if "hreflang" in attributes
        ]
        assert links == ["/?q=%E0%A4%95%E0%A4%B0&kind=text&lang=ne"]
        assert '<html lang="en">' in visitor.get("/").text


def test_filters_narrow_and_are_told(service: httpx.Client) -> None:
    html = service.get("/", params={"q": "कर", "document": "कर सूचना.txt", "scores": "1"}).text
    assert html.count("<article>") == 1
    assert "अङ्क ०." in html
    everywhere = service.get("/", params={"q": "धारा मर्मत", "collection": "*"}).text
    assert '<h3 lang="ne">खानेपानी.txt</h3>' in everywhere
    assert '<h3 lang="ne">खानेपानी.txt</h3>' not in service.get("/", params={"q": "धारा मर्मत"}).text


def test_a_filter_that_means_nothing_is_told_with_its_remedy(service: httpx.Client) -> None:
    answer = service.get("/", params={"q": "कर", "from": "असोज नभएको मिति"})
    assert answer.status_code == 400
    assert "यो छनोट बुझिएन" in answer.text
    assert "write 2081-04-15" in answer.text


def test_nothing_found_is_said_calmly(service: httpx.Client) -> None:
    answer = service.get("/", params={"q": "कर", "condition": "year=1990"})
    assert answer.status_code == 200
    assert "केही भेटिएन" in answer.text


def test_what_stands_in_documents_and_addresses_stays_text(service: httpx.Client) -> None:
    for query in ("घरजग्गा नामसारी शुल्क", '"><script>alert(1)</script><img src=x onerror=alert(1)>'):
        html = service.get("/", params={"q": query, "document": "" if query[0] != '"' else HOSTILE_NAME}).text
        tags = Tags(html).found
        assert [attributes for tag, attributes in tags if tag == "script"] == [
            {"type": "module", "src": f"/assets/{version()}/page.js"}
        ]
        assert not [a for _, a in tags for name in a if name.startswith("on") or name == "style"]
        assert {a.get("src") for tag, a in tags if tag == "img"} <= {f"/assets/{version()}/icon.svg", None}
    assert "{{ 7*7 }}" in service.get("/", params={"q": "घरजग्गा नामसारी शुल्क"}).text


def test_the_page_may_load_from_here_alone(service: httpx.Client) -> None:
    answer = service.get("/")
    policy = dict(part.split(" ", 1) for part in answer.headers["content-security-policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert {policy[name] for name in ("script-src", "style-src", "font-src", "connect-src")} == {"'self'"}
    assert answer.headers["x-content-type-options"] == "nosniff"
    for _, attributes in Tags(answer.text).found:
        assert not str(attributes.get("src") or attributes.get("href") or "/").startswith(("http", "//"))


def test_files_of_the_page_are_kept_for_good_and_there_are_no_others(service: httpx.Client) -> None:
    for name in files():
        found = service.get(f"/assets/{version()}/{name}")
        assert found.status_code == 200
        assert "immutable" in found.headers["cache-control"]
    assert "no-cache" in service.get("/assets/old/page.css").headers["cache-control"]
    for path in ("/assets/x/words.toml", "/assets/x/..%2fwords.toml", "/assets/x/%2e%2e/view.py"):
        assert service.get(path).status_code == 404


def test_what_is_sent_is_small(service: httpx.Client) -> None:
    packed = {"accept-encoding": "gzip"}
    sent = [service.get(f"/assets/{version()}/{name}", headers=packed) for name in files()]
    texts = [answer for answer in sent if "font" not in answer.headers["content-type"]]
    assert {answer.headers.get("content-encoding") for answer in texts} == {"gzip"}
    assert sum(int(answer.headers["content-length"]) for answer in texts) < 25_000
    page = service.get("/", params={"q": "पुस्तकालय"}, headers=packed)
    assert int(page.headers["content-length"]) < 15_000
    plain = service.get("/", headers={"accept-encoding": "identity"})
    assert "content-encoding" not in plain.headers
    assert "कागजात खोज" in plain.text


def test_the_font_comes_with_its_licence_and_all_of_it_stays_small() -> None:
    assert b"SIL OPEN FONT LICENSE" in files()["OFL.txt"].content.upper()
    assert sum(len(file.content) for name, file in files().items() if name.endswith("woff2")) < 300_000
    assert (
        sum(len(file.content) for name, file in files().items() if name.endswith(("js", "css", "svg")))
        < 40_000
    )


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[httpx.Client, dict[str, str]]]:
    home = tmp_path_factory.mktemp("locked")
    system = wire(home, RAG_API_KEYS="required")
    rag = RagPlatform(system=system)
    rag.add_text("गोप्य बैठकको निर्णय भोलि सुनाइनेछ।", name="गोप्य.txt")
    rag.add_text("धारा शनिबार मर्मत हुन्छ।", name="खानेपानी.txt", collection="water")
    rag.add_text("बाटो पिच गर्ने ठेक्का खुल्यो।", name="सडक.txt", collection="roads")
    keys = Keys(system.home)
    given = {
        "all": keys.add("office", ["read"]),
        "water": keys.add("water", ["read"], collections=["water"]),
        "works": keys.add("works", ["read"], collections=["roads", "water"]),
        "ingest": keys.add("scanner", ["ingest"]),
    }
    with served(create_app(system=system)) as client:
        wait(lambda: client.get("/healthz").status_code == 200)
        yield client, given


def test_without_a_key_the_page_shows_nothing_that_is_stored(
    locked: tuple[httpx.Client, dict[str, str]],
) -> None:
    client, _ = locked
    start, search = client.get("/"), client.get("/", params={"q": "गोप्य"})
    assert (start.status_code, search.status_code) == (200, 401)
    assert "साँचो चाहिन्छ" in search.text
    assert not any(word in start.text + search.text for word in ("गोप्य.txt", "निर्णय", "nepali_docs", "water"))


def test_a_key_shows_its_own_collections_alone(locked: tuple[httpx.Client, dict[str, str]]) -> None:
    client, keys = locked
    own = client.get("/", params={"q": "धारा"}, headers={"authorization": f"Bearer {keys['water']}"})
    assert '<h3 lang="ne">खानेपानी.txt</h3>' in own.text
    other = {"q": "गोप्य", "collection": "nepali_docs"}
    refused = client.get("/", params=other, headers={"authorization": f"Bearer {keys['water']}"})
    assert refused.status_code == 403
    assert "निर्णय" not in refused.text
    assert client.get("/", params={"q": "कर"}, headers={"x-api-key": keys["ingest"]}).status_code == 403


def test_a_key_of_several_others_is_told_nothing_of_the_default_collection(
    locked: tuple[httpx.Client, dict[str, str]],
) -> None:
    client, keys = locked
    headers = {"authorization": f"Bearer {keys['works']}"}
    start, found = client.get("/", headers=headers), client.get("/", params={"q": "धारा"}, headers=headers)
    assert "गोप्य.txt" not in start.text + found.text
    assert "nepali_docs" not in start.text + found.text
    assert (found.status_code, '<h3 lang="ne">खानेपानी.txt</h3>' in found.text) == (200, True)


@pytest.mark.parametrize(
    ("key", "collection", "n"),
    [("all", "", "१"), ("all", "*", "३"), ("all", "roads", "१"), ("works", "", "२")],
)
def test_the_start_counts_the_documents_that_a_search_reaches(
    locked: tuple[httpx.Client, dict[str, str]], key: str, collection: str, n: str
) -> None:
    client, keys = locked
    headers = {"authorization": f"Bearer {keys[key]}", "accept-language": "ne"}
    start = client.get("/", params={"collection": collection}, headers=headers)
    assert f'<p class="holdings">{n} कागजात' in start.text


def test_a_service_without_documents_says_what_to_do(tmp_path: Path) -> None:
    with served(create_app(system=wire(tmp_path / "empty"))) as client:
        answer = client.get("/", params={"q": "कर"})
        assert answer.status_code == 503
        assert "अहिलेसम्म खोज्न मिल्ने कागजात छैन" in answer.text
