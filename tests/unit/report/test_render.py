"""The report as a document: well-formed, alone, escaped, accessible, the same every time."""

from __future__ import annotations

import copy
import itertools
import json
import math
import re
from functools import cache
from typing import Any

import pytest

from tests.unit.report import samples
from tests.unit.report.page import Page
from tonari.base.errors import UsageError
from tonari.metrics import wilson
from tonari.report import render_report
from tonari.report.wording import clean, short

EVERY = sorted(samples.ALL)


@cache
def html(name: str) -> str:
    return render_report(samples.ALL[name]())


@cache
def page(name: str) -> Page:
    return Page(html(name))


def changed(name: str, change: Any) -> Page:
    result = copy.deepcopy(samples.ALL[name]())
    change(result)
    return Page(render_report(result))


# --- the file -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EVERY)
def test_it_is_one_well_formed_document(name: str) -> None:
    text = html(name)
    assert text.startswith("<!DOCTYPE html>")
    assert [element.tag for element in page(name).elements[:2]] == ["html", "head"]
    ids = [element.attributes["id"] for element in page(name).elements if "id" in element.attributes]
    assert len(set(ids)) == len(ids)
    assert text.encode("utf-8").decode("utf-8") == text


@pytest.mark.parametrize("name", EVERY)
def test_it_loads_nothing_and_runs_nothing(name: str) -> None:
    policy = page(name).one("meta", **{"http-equiv": "Content-Security-Policy"}).attributes["content"] or ""
    rules = dict(rule.split(maxsplit=1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    assert "script-src" not in rules
    assert rules["img-src"] == "data:"
    (script,) = page(name).all("script")
    assert script.attributes == {"type": "application/json", "id": "result"}
    assert not page(name).all("iframe", "object", "embed", "img", "form", "base")
    for element in page(name).elements:
        assert not [attribute for attribute in element.attributes if attribute.startswith("on")]
        for attribute in ("src", "href", "xlink:href", "srcset", "action", "style"):
            value = element.attributes.get(attribute)
            assert value is None or value.startswith("#") or (element.tag, value) == ("link", "data:,"), value
    assert "url(" not in page(name).one("style").text
    assert "@import" not in html(name)
    assert not re.search(r"https?:|//cdn", html(name))


@pytest.mark.parametrize("name", EVERY)
def test_it_stays_small(name: str) -> None:
    assert len(html(name).encode()) < 300_000


def test_the_same_result_gives_the_same_bytes() -> None:
    assert render_report(samples.binary()) == html("binary")


def test_a_result_of_another_schema_is_refused() -> None:
    with pytest.raises(UsageError, match="schema 2"):
        render_report({**samples.small(), "schema": 2})


# --- trap 18: names and labels pasted into HTML ---------------------------------------------------------------------


def test_hostile_names_stay_text() -> None:
    text = html("hostile")
    assert text.count("<script") == 1
    assert text.count("</script") == 1
    assert "<!--" not in text
    assert "49" not in {word for li in page("hostile").all("li") for word in li.text.split()}
    notes = [li.text for li in page("hostile").all("li") if li.parents[-2].attributes.get("class") == "notes"]
    assert notes == [clean(name) for name in samples.HOSTILE]
    for tag in ("title", "h1"):
        assert page("hostile").all(tag)[0].text
    model = clean("it's <b>mine</b>.tonari")
    assert "tonari predict 'it'\"'\"'s <b>mine</b>.tonari' NEW.csv" in page("hostile").body
    assert f'open_model("{model}")' in page("hostile").body


def test_hostile_labels_head_the_confusion_matrix_whole_or_cut() -> None:
    (table,) = [t for t in page("hostile").all("table") if t.attributes.get("class") == "confusion"]
    heads = [e for e in page("hostile").all("th") if table in e.parents and e.attributes.get("scope") == "col"]
    assert [head.text for head in heads if "rowspan" not in head.attributes] == [short(n, 14) for n in samples.HOSTILE]
    for head, name in zip((h for h in heads if "rowspan" not in h.attributes), samples.HOSTILE, strict=True):
        assert head.attributes.get("title") == (clean(name) if len(name) > 14 else None)


def test_text_that_turns_direction_is_spelt_out_or_kept_apart() -> None:
    assert "\u202e" not in html("hostile")
    assert "<bdi>שלום עולם</bdi>" in html("hostile")
    turned = changed("small", lambda result: result["winner"].update(label="שכן"))
    assert "\u2068שכן\u2069" in turned.one("h1").text


def test_nothing_in_the_page_can_end_the_embedded_result() -> None:
    (script,) = page("hostile").all("script")
    assert not set("<>&") & set(script.text)
    held = json.loads(script.text)
    assert held["test"]["classes"] == list(samples.HOSTILE)
    assert held["data"]["target"] == samples.HOSTILE[2]


# --- what it says ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EVERY)
def test_no_number_is_written_badly(name: str) -> None:
    visible = page(name).body
    assert not re.search(r"[-\u2212]0\.0+(?![\d])", visible)
    assert not re.search(r"\b(nan|inf|None|Undefined|True|False)\b", visible)
    assert not re.search(r"\d\.\d{7,}", visible)


def test_it_holds_the_result() -> None:
    result, held = samples.binary(), json.loads(page("binary").one("script").text)
    assert set(held) == set(result)
    assert held["test"]["score"] == pytest.approx(result["test"]["score"], rel=1e-5)
    assert held["test"]["confusion"] == result["test"]["confusion"]
    assert len(held["candidates"]) == len(result["candidates"])
    for ours, theirs in zip(held["candidates"], result["candidates"], strict=True):
        assert ours["label"] == theirs["label"]
        assert ours["mean"] == pytest.approx(theirs["mean"], rel=1e-5)
        if theirs["rank"] is None or theirs["rank"] <= 5:
            assert ours["fold_scores"] == pytest.approx(theirs["fold_scores"], rel=1e-5)


def test_what_is_not_a_number_is_null_in_the_embedded_result() -> None:
    broken = changed("small", lambda result: result["candidates"][1].update(se=math.nan))
    assert json.loads(broken.one("script").text)["candidates"][1]["se"] is None


def test_the_heading_is_the_answer() -> None:
    result = samples.binary()
    said = page("binary").one("h1").text
    test = result["test"]
    assert f"The best of 202 candidates is {result['winner']['label']}: accuracy {test['score']:.3f}" in said
    assert f"on {test['rows']:,} held-out rows" in said
    assert f"interval {test['interval'][0]:.3f} to {test['interval'][1]:.3f}" in said
    assert f"always answering the commonest class scores {test['majority_score']:.3f}" in said


def test_a_winner_no_better_than_the_majority_is_not_praised() -> None:
    assert page("small").one("h1").text.startswith("No candidate is clearly better than always answering")


def test_ties_are_counted_by_family() -> None:
    result = samples.binary()
    tied = [one for one in result["candidates"] if one["tied"] and not one["chosen"]]
    own = sum(one["family"] == "k-NN" for one in tied)
    assert 0 < own < len(tied)
    said = f"Cross-validation does not tell these apart from it: {own} other settings of k-NN and random forest."
    assert said in page("binary").body

    def apart(result: dict[str, Any]) -> None:
        for one in result["candidates"]:
            one["tied"] = one["chosen"]

    assert "tells it apart from every other candidate" in changed("binary", apart).body

    def hopeless(result: dict[str, Any]) -> None:
        apart(result)
        result["candidates"][-1]["tied"] = True

    assert "always answering the commonest class apart from the best either" in changed("binary", hopeless).body


def test_a_winner_that_was_not_first_is_said_to_be_the_best_that_can_be_stored() -> None:
    def second(result: dict[str, Any]) -> None:
        forest = next(one for one in result["candidates"] if one["family"] == "random forest")
        best = result["candidates"][0]
        best["chosen"], forest["chosen"] = False, True
        result["winner"] = {key: forest[key] for key in ("family", "label", "params")}

    said = changed("binary", second)
    assert "Of 202 candidates the best that can be written to a file is random forest" in said.one("h1").text
    assert "tell these apart from the best by cross-validation, k-NN, k=" in said.body


def test_one_candidate_is_called_the_only_one() -> None:
    def lonely(result: dict[str, Any]) -> None:
        result["candidates"] = [one for one in result["candidates"] if one["chosen"] or one["reference"]]
        result["plan"]["candidates"] = 1

    said = changed("binary", lonely)
    assert said.one("h1").text.startswith("The only candidate is k-NN")
    assert "more candidate" not in said.body


def test_an_interval_without_width_is_explained() -> None:
    said = changed("binary", lambda result: result["test"].update(score=1.0, interval=[1.0, 1.0]))
    assert "does not make the score certain" in said.body


def test_every_candidate_has_its_row() -> None:
    (section,) = [e for e in page("ten_classes").all("section") if e.attributes["id"] == "candidates"]
    rows = [row for row in page("ten_classes").all("tr") if section in row.parents]
    for one in samples.ten_classes()["candidates"]:
        verdict = "chosen" if one["chosen"] else "tied" if one["tied"] else "worse"
        (row,) = [row for row in rows if f"{one['label']}{verdict}{one['mean']:.3f} ± {one['se']:.3f}" in row.text]
        assert row.text.startswith("–" if one["reference"] else str(one["rank"]))
        assert (row.attributes.get("class") == "chosen") == one["chosen"]
        assert (row.attributes.get("class") == "reference") == one["reference"]


def test_measures_of_a_class_carry_intervals() -> None:
    result = samples.small()
    counts = result["test"]["confusion"]
    low, high = wilson(counts[1][1], sum(counts[1]))
    assert f"{low:.3f} to {high:.3f}" in page("small").body


def test_many_classes_open_with_their_mistakes() -> None:
    assert page("large").body.index("Most frequent mistakes") < page("large").body.index("The whole confusion matrix")
    (table,) = [t for t in page("large").all("table") if t.attributes.get("class") == "confusion dense"]
    assert table.inside("details")
    assert "Most frequent mistakes" not in page("ten_classes").body


def test_a_matrix_too_large_to_read_is_left_to_the_file() -> None:
    huge = Page(render_report(samples.result([f"c{i}" for i in range(101)], rows=6000, ks=(1, 3))))
    assert not [t for t in huge.all("table") if "confusion" in (t.attributes.get("class") or "")]
    assert "The whole matrix of 101 classes is in the result file." in huge.body


def test_curves_of_thresholds_only_where_there_are_two_classes() -> None:
    assert "ROC curve: area 0." in page("binary").body
    assert "average precision 0." in page("binary").body
    for name in ("ten_classes", "small"):
        assert "ROC" not in page(name).body


def test_without_a_model_file_no_command_is_shown() -> None:
    assert "tonari predict" not in page("small").body
    assert "No model file was written" in page("small").body
    assert "tonari predict model.tonari NEW.csv" in page("binary").body


@pytest.mark.parametrize("metric", ["accuracy", "balanced_accuracy", "f1", "roc_auc"])
def test_every_metric_is_named_in_words(metric: str) -> None:
    said = changed("binary", lambda result: result["test"].update(metric=metric))
    assert "_" not in said.one("h1").text


# --- for everybody --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", EVERY)
def test_headings_are_in_order_and_sections_are_reached(name: str) -> None:
    assert page(name).one("html").attributes["lang"] == "en"
    levels = [int(element.tag[1]) for element in page(name).all("h1", "h2", "h3")]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in itertools.pairwise(levels))
    ids = {element.attributes.get("id") for element in page(name).elements}
    for link in page(name).all("a"):
        assert (link.attributes["href"] or "")[1:] in ids
    for element in page(name).elements:
        for label in (element.attributes.get("aria-labelledby") or "").split():
            assert label in ids


@pytest.mark.parametrize("name", EVERY)
def test_tables_and_pictures_say_what_they_are(name: str) -> None:
    for table in page(name).all("table"):
        (region,) = [e for e in table.parents if e.attributes.get("class") == "scroll"]
        assert region.attributes["tabindex"] == "0"
        assert region.attributes["aria-label"]
    for head in page(name).all("th"):
        assert head.attributes.get("scope") in ("row", "col", "rowgroup", "colgroup")
    for picture in page(name).all("svg"):
        if picture.attributes.get("aria-hidden") != "true":
            assert picture.attributes["role"] == "img"
            assert picture.attributes.get("aria-label") or picture.attributes.get("aria-labelledby")
