"""Descriptions of classes as YAML, with known facts of each class as comments.

::

    # crates/crate: 30 values
    - class: shop.Parcel
      fields:
        id: long
        content: java.lang.String
      final: true
      pojo: false
    - class: shop.BigItem
      fields: {name: java.lang.String, marks: "java.util.List<java.lang.String>"}
      pojo: true
      extends: shop.Item
    - class: shop.Colour
      constants: [RED, GREEN]

A JSON list of the same is accepted, too.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from savepoint_database.types.yaml_section import YamlSection
from savepoint_formats.errors import DescriptionError
from savepoint_formats.values.kryo.descriptions import kryo_class, kryo_class_members

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable

    from savepoint_database.types.class_library import ClassToDescribe
    from savepoint_formats.layout import KryoClass

_MEMBERS = ("class", "fields", "final", "constants", "pojo", "extends")
_TO_FILL_IN = "  fields: {}  # name: type, of all fields that are neither static nor transient"


def class_descriptions(path: str | os.PathLike[str]) -> tuple[KryoClass, ...]:
    """Classes that a file of YAML or JSON describes.

    Args:
        path: The file.

    Raises:
        DescriptionError: The file has a mistake; the message names the line.

    Example:
        >>> Savepoint.open("s3://jobs/savepoint-1a2b", kryo_classes=class_descriptions("classes.yaml"))
    """
    try:
        return described_classes(Path(path).read_text(encoding="utf-8-sig"), str(path))
    except UnicodeDecodeError as error:
        raise DescriptionError(f"{path} is no UTF-8: byte {error.start}") from error


def described_classes(text: str, file: str) -> tuple[KryoClass, ...]:
    """Classes that a text describes. Raises ``DescriptionError`` for a mistake, with its line."""
    # JSON allows tabs for indentation; YAML doesn't.
    is_json = text.lstrip().startswith("[")
    sections = YamlSection.list_of_text(text.expandtabs() if is_json else text, file)
    classes = tuple(map(_class, sections))
    for index, section in enumerate(sections):
        if classes[index].class_name in (other.class_name for other in classes[:index]):
            raise section.error(f"{classes[index].class_name} is described twice", "class")
    return classes


def _class(section: YamlSection) -> KryoClass:
    section.expect_only(_MEMBERS)
    name, is_final = section.text("class"), section.flag("final")
    if "constants" in section.fields:
        if "fields" in section.fields:
            raise section.error("a class has fields or constants, not both", "fields")
        return kryo_class(name, constants=section.texts("constants"), is_final=is_final)
    fields = section.section("fields")
    types = {}
    for field in () if fields is None else fields.fields:
        assert fields is not None
        types[field] = fields.text(field)
        fields.parsed(field, lambda text, field=field: kryo_class(name, {field: text}))  # type: ignore[misc]  # the name of the moment
    return kryo_class(
        name,
        types,
        is_final=is_final,
        is_pojo=section.flag("pojo") if "pojo" in section.fields else None,
        superclass=section.text("extends") if "extends" in section.fields else "",
    )


def class_descriptions_text(
    described: Iterable[KryoClass],
    unknown: Iterable[ClassToDescribe] = (),
    reason: Callable[[str], str | None] | None = None,
) -> str:
    """Mirror of ``described_classes``: known classes, then classes to fill in.

    ``reason`` tells by the name of a class why class files did not describe it.
    """
    missing = {named.class_name: named for named in unknown}
    known = [
        _described(description, missing.pop(description.class_name, None))
        for description in described
    ]
    return "\n".join([*known, *(_to_fill_in(named, reason) for named in missing.values())]) or "[]"


def _described(described: KryoClass, unknown: ClassToDescribe | None) -> str:
    """A description, with comments on what it still lacks."""
    text: str = yaml.safe_dump(
        [kryo_class_members(described)], sort_keys=False, allow_unicode=True, width=100
    )
    lacks = [] if unknown is None else _places(unknown)
    if unknown is not None and unknown.superclass:
        lacks.append(f"# extends: {unknown.superclass}")
    return "\n".join([*lacks, text.rstrip("\n")])


def _places(unknown: ClassToDescribe) -> list[str]:
    places = [f"# {place}: {count} values" for place, count in unknown.values.items()]
    of_what = (f"# {place}: the types of its elements are unknown" for place in unknown.collections)
    return [*places, *of_what]


def _to_fill_in(unknown: ClassToDescribe, reason: Callable[[str], str | None] | None) -> str:
    places = _places(unknown)
    if reason is not None and (why := reason(unknown.class_name)) is not None:
        places.append(f"# {why}")
    lines = [*places, f"- class: {unknown.class_name}", _TO_FILL_IN]
    if unknown.is_pojo:
        lines.append("  pojo: true")
    if unknown.superclass:
        lines.append(f"  extends: {unknown.superclass}")
    return "\n".join(lines)
