"""The report in a real browser: nothing is loaded or run, nothing overflows, everything can be read."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unit.report import samples
from tonari.report import render_report

sync_api = pytest.importorskip("playwright.sync_api", reason="Playwright for Python is not installed")
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium, chromium-browser or google-chrome on the PATH"),
]
EVERY = sorted(samples.ALL)

# Text whose contrast with what lies behind it is below 4.5 : 1 (WCAG 2, AA), with the ratio.
PALE = """() => {
  const parse = (c) => { const m = c.match(/[\\d.]+/g).map(Number); return m.length > 3 ? m : [...m, 1]; };
  const over = (top, under) => [0, 1, 2].map((i) => top[i] * top[3] + under[i] * (1 - top[3])).concat(1);
  const light = (c) => {
    const l = c.slice(0, 3).map((v) => v / 255).map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
    return 0.2126 * l[0] + 0.7152 * l[1] + 0.0722 * l[2];
  };
  const behind = (element) => {
    const layers = [];
    for (let e = element; e; e = e.parentElement) layers.push(parse(getComputedStyle(e).backgroundColor));
    return layers.reverse().reduce((under, top) => over(top, under), [255, 255, 255, 1]);
  };
  const pale = [];
  for (const element of document.querySelectorAll('main *')) {
    const own = [...element.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || !element.checkVisibility() || ['title', 'desc'].includes(element.tagName)) continue;
    const style = getComputedStyle(element);
    const paper = behind(element);
    const ink = over(parse(element instanceof SVGElement ? style.fill : style.color), paper);
    const [a, b] = [light(ink), light(paper)].sort((x, y) => y - x);
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < 4.5) pale.push([element.tagName, element.textContent.slice(0, 40), ratio]);
  }
  return pale;
}"""

# Text that is drawn smaller than this many pixels.
TINY = """(least) => [...document.querySelectorAll('main text, main *')].filter((e) => {
  if (![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim()) || !e.checkVisibility()) return false;
  if (['title', 'desc'].includes(e.tagName)) return false;
  let size = parseFloat(getComputedStyle(e).fontSize);
  const svg = e.closest('svg');
  if (svg) size *= svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
  return size < least;
}).map((e) => [e.tagName, e.textContent])"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=["--headless", "--no-sandbox"])
        yield started
        started.close()


class Visit:
    """A report opened in a window, with everything that the browser had to say about it."""

    def __init__(self, browser: Any, folder: Path, name: str, *, width: int = 1280, scheme: str = "light") -> None:
        path = folder / f"{name}.html"
        path.write_bytes(render_report(samples.ALL[name]()).encode("utf-8"))
        self.url = path.as_uri()
        self.said: list[str] = []
        self.asked_for: list[str] = []
        self.page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.said.append(dialog.message), dialog.dismiss()))
        self.page.on("request", lambda request: self.asked_for.append(request.url))
        self.page.goto(self.url)

    def open_details(self) -> None:
        self.page.evaluate("document.querySelectorAll('details').forEach((d) => { d.open = true; })")


@pytest.fixture
def visit(browser: Any, tmp_path: Path) -> Iterator[Any]:
    visits: list[Visit] = []

    def open_report(name: str, **options: Any) -> Visit:
        visits.append(Visit(browser, tmp_path, name, **options))
        return visits[-1]

    yield open_report
    for one in visits:
        one.page.close()


@pytest.mark.parametrize("name", EVERY)
def test_it_opens_in_silence_and_asks_for_nothing(visit: Any, name: str) -> None:
    """Trap 18: neither a script from the data nor a request to anywhere."""
    one = visit(name)
    one.open_details()
    one.page.evaluate("document.querySelectorAll('th, td').forEach((e) => e.dispatchEvent(new Event('mouseover')))")
    one.page.wait_for_load_state("networkidle")
    assert one.said == []
    assert [url for url in one.asked_for if url not in (one.url, "data:,")] == []
    assert one.page.locator("h1").count() == 1
    assert one.page.locator("table").count() >= 3
    assert one.page.locator("script").count() == 1


@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("name", EVERY)
def test_the_page_is_no_wider_than_the_window(visit: Any, name: str, width: int) -> None:
    one = visit(name, width=width)
    one.open_details()
    assert one.page.evaluate("document.documentElement.scrollWidth") <= width
    outside = one.page.evaluate(
        """(width) => [...document.querySelectorAll('main *')].filter((e) => !e.closest('.scroll, pre, svg')
             && e.checkVisibility() && e.getBoundingClientRect().right > width + 1).map((e) => e.outerHTML)""",
        width,
    )
    assert outside == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["binary", "hostile", "large"])
def test_text_stands_out_from_its_background(visit: Any, name: str, scheme: str) -> None:
    one = visit(name, scheme=scheme)
    one.open_details()
    assert one.page.evaluate(PALE) == []


def test_the_contrast_check_sees_pale_text(visit: Any) -> None:
    one = visit("small")
    one.page.evaluate("document.querySelector('h1').style.color = '#999'")
    assert [found[0] for found in one.page.evaluate(PALE)] == ["H1"]


@pytest.mark.parametrize("width", [390, 1280])
def test_text_is_large_enough_to_read(visit: Any, width: int) -> None:
    assert visit("binary", width=width).page.evaluate(TINY, 10.5) == []


def test_it_follows_the_colour_scheme_and_prints_on_white(visit: Any) -> None:
    paper = "getComputedStyle(document.body).backgroundColor"
    light, dark = visit("small").page, visit("small", scheme="dark").page
    assert light.evaluate(paper) == "rgb(255, 255, 255)"
    assert dark.evaluate(paper) != light.evaluate(paper)
    dark.emulate_media(media="print")
    assert dark.evaluate(paper) == "rgb(255, 255, 255)"


def test_wide_tables_scroll_by_keyboard(visit: Any) -> None:
    one = visit("ten_classes", width=390)
    region = one.page.get_by_role("region", name="Confusion matrix")
    region.focus()
    assert region.evaluate("e => e === document.activeElement && e.scrollWidth > e.clientWidth")
    one.page.keyboard.press("ArrowRight")
    one.page.wait_for_function("e => e.scrollLeft > 0", arg=region.element_handle(), timeout=5000)


def test_names_of_classes_stay_in_sight_while_the_matrix_scrolls(visit: Any) -> None:
    one = visit("ten_classes", width=390)
    region = one.page.get_by_role("region", name="Confusion matrix")
    region.evaluate("e => { e.scrollLeft = 200; }")
    left = region.evaluate("e => e.querySelector('tbody th[scope=row]').getBoundingClientRect().left")
    assert left >= region.evaluate("e => e.getBoundingClientRect().left") - 1


def test_pictures_are_announced(visit: Any) -> None:
    page = visit("binary").page
    for name in ("Error against k", "ROC curve", "Precision-recall curve"):
        assert page.get_by_role("img", name=name).count() == 1
    assert page.get_by_role("img", name="Accuracy").count() == 1


def test_rest_of_the_candidates_opens(visit: Any) -> None:
    page = visit("binary").page
    row = page.get_by_role("row", name="k-NN, k=49, cosine, uniform")
    assert not row.is_visible()
    page.get_by_text("190 more candidates").click()
    assert row.is_visible()
