"""A strict reader of the report: elements must close in order, and what they say can be asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "link", "br"}


@dataclass
class Element:
    tag: str
    attributes: dict[str, str | None]
    parents: tuple[Element, ...]
    texts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(self.texts)

    def inside(self, tag: str) -> bool:
        return any(parent.tag == tag for parent in self.parents)


class Page(HTMLParser):
    """Every element of a document; a tag that closes out of order is an error, as an attribute given twice is."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[Element] = []
        self.open: list[Element] = []
        self.feed(html)
        self.close()
        assert not self.open, f"never closed: {[element.tag for element in self.open]}"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert len({name for name, _ in attrs}) == len(attrs), f"an attribute twice: {tag} {attrs}"
        element = Element(tag, dict(attrs), tuple(self.open))
        self.elements.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}>"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        for element in self.open:
            element.texts.append(data)

    def all(self, *tags: str) -> list[Element]:
        return [element for element in self.elements if element.tag in tags]

    def one(self, tag: str, **attributes: str) -> Element:
        (element,) = [e for e in self.all(tag) if all(e.attributes.get(k) == v for k, v in attributes.items())]
        return element

    @property
    def body(self) -> str:
        """What a reader sees."""
        return self.one("main").text
