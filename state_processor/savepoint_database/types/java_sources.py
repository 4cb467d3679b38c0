"""Java source files, read for the facts about a class that its class file would have.

Tree-sitter parses files; it compiles and runs nothing. A name without its package means a type in
one of these places, in this order:

| place                                                         | known from                   |
|---------------------------------------------------------------|------------------------------|
| the class, those around it, and the superclasses of all these | their sources                |
| imports of single names                                       | the import                   |
| the package                                                   | its sources                  |
| ``java.lang``                                                 | a table                      |
| imports of whole packages                                     | sources, a table of the JDK  |

Names that are in none of them stay unknown.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from savepoint_formats.extras import imported
from savepoint_formats.java.class_file import ClassFile, ClassFlag, FieldOfClass, MethodOfClass
from savepoint_formats.layout import FLINK_2_COLLECTIONS
from savepoint_formats.values import (
    COLLECTIONS,
    DECLARED_TYPES,
    PRIMITIVE_CODES,
    UndescribableError,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tree_sitter import Node, Parser

_JDK = {name.replace(".", "/") for name in (*DECLARED_TYPES, *COLLECTIONS, *FLINK_2_COLLECTIONS)}
_WITHOUT_EFFECT = ("Override", "Deprecated", "SuppressWarnings", "Nullable", "Nonnull")
_LANG = frozenset(
    (
        *("Boolean", "Byte", "CharSequence", "Character", "Class", "Comparable", "Double", "Enum"),
        *("Exception", "Float", "Integer", "Iterable", "Long", "Number", "Object", "Record"),
        *("RuntimeException", "Short", "String", "StringBuffer", "StringBuilder", "Throwable"),
        "Void",
    )
)
_SUPERCLASSES = {"enum_declaration": "java/lang/Enum", "record_declaration": "java/lang/Record"}
_CONSTRUCTOR = "constructor_declaration"
_ACCESSORS = ("get", "set", "is", "<init>")
_DECLARATIONS = ("class_declaration", "interface_declaration", *_SUPERCLASSES)
_FLAGS = {
    "public": ClassFlag.PUBLIC,
    "static": ClassFlag.STATIC,
    "final": ClassFlag.FINAL,
    "transient": ClassFlag.TRANSIENT,
    "abstract": ClassFlag.ABSTRACT,
}


def java_parser() -> Parser:
    """The parser. Raises ``MissingPackageError`` if it is not installed."""
    tree_sitter, grammar = imported("tree_sitter"), imported("tree_sitter_java")
    parser: Parser = tree_sitter.Parser(tree_sitter.Language(grammar.language()))
    return parser


@dataclass(frozen=True)
class JavaSources:
    """Source files below some directories."""

    folders: tuple[Path, ...]
    parser: Parser = field(default_factory=java_parser)

    @cached_property
    def _paths(self) -> tuple[Path, ...]:
        return tuple(path for folder in self.folders for path in sorted(folder.rglob("*.java")))

    @cached_property
    def _declarations(self) -> dict[str, _Declaration]:
        return {}

    def class_file(self, name: str) -> ClassFile | None:
        """The class of a name with slashes, with the content of its class file; None without a source.

        Raises ``UndescribableError`` if a type in it is unknown, or the file is not Java source.
        """
        declaration = self.declaration(name)
        return None if declaration is None else declaration.class_file()

    def declaration(self, name: str) -> _Declaration | None:
        """Declaration of a class of a name with slashes; None without a source.

        Raises ``UndescribableError`` if the file is not Java source.
        """
        top = name.partition("$")[0]
        if top not in self._declarations:
            for path in self._paths:
                if path.name == f"{top.rpartition('/')[2]}.java":
                    declared = {known.name: known for known in self._declared(path)}
                    if top in declared:
                        self._declarations.update(declared)
                        break
        return self._declarations.get(name)

    def _declared(self, path: Path) -> Iterator[_Declaration]:
        root = self.parser.parse(path.read_bytes()).root_node
        if root.has_error:
            raise UndescribableError(f"{path} is not Java source that can be parsed")
        package, imports = "", dict[str, str]()
        for node in root.named_children:
            if node.type == "package_declaration":
                package = _text(node.named_children[-1]).replace(".", "/") + "/"
            elif node.type == "import_declaration" and "static" not in _words(node):
                imported = _text(next(part for part in node.named_children if "ident" in part.type))
                is_whole = node.named_children[-1].type == "asterisk"
                imports[f"{imported}.*" if is_whole else imported.rpartition(".")[2]] = imported
        unit = _Unit(self, package, imports)
        for node in root.named_children:
            yield from _nested(unit, node, package, None)


@dataclass(frozen=True)
class _Unit:
    """A source file: its package with slashes, and its imports, whole packages as ``name.*``."""

    sources: JavaSources
    package: str
    imports: dict[str, str]

    def class_name(self, simple: str) -> str | None:
        """The class that a name means outside of all classes."""
        if simple in self.imports:
            return _slashed(self.imports[simple])
        if self.sources.declaration(f"{self.package}{simple}") is not None:
            return f"{self.package}{simple}"
        if simple in _LANG:
            return f"java/lang/{simple}"
        wholes = (whole for mark, whole in self.imports.items() if mark.endswith(".*"))
        names = (f"{whole.replace('.', '/')}/{simple}" for whole in wholes)
        return next(
            (name for name in names if name in _JDK or self.sources.declaration(name)), None
        )


@dataclass(frozen=True)
class _Declaration:
    """A class, interface, enum or record; ``name`` has slashes, ``outer`` is the class around it."""

    unit: _Unit
    node: Node
    name: str
    outer: _Declaration | None

    def class_file(self) -> ClassFile:
        body, flags = self.node.child_by_field_name("body"), _flags(self.node)
        constants = [part for part in _parts(body) if part.type == "enum_constant"]
        if self.node.type == "interface_declaration":
            flags |= ClassFlag.INTERFACE
        if constants and not any(part.child_by_field_name("body") for part in constants):
            flags |= ClassFlag.FINAL
        of_enum = ClassFlag.STATIC | ClassFlag.FINAL | ClassFlag.ENUM
        fields = [FieldOfClass(of_enum, _name(part), f"L{self.name};", None) for part in constants]
        for part in _parts(body):
            if part.type == "field_declaration":
                fields += self._fields(part)
        if self.outer is not None and self.outer.node.type == "interface_declaration":
            flags |= ClassFlag.PUBLIC | ClassFlag.STATIC
        own = tuple(fields), self._methods(flags)
        return ClassFile(flags, self.name, self.superclass, self._interfaces(), *own)

    def _methods(self, flags: int) -> tuple[MethodOfClass, ...] | None:
        """Methods and constructors; None if an annotation may add some, or types are unknown."""
        parts = _parts(self.node.child_by_field_name("body"))
        if any(map(_is_annotated, (self.node, *parts))):
            return None
        declared = [part for part in parts if part.type in ("method_declaration", _CONSTRUCTOR)]
        methods: list[MethodOfClass] = []
        # The constructor of an inner class that is not static takes the outer object.
        outer = None if flags & ClassFlag.STATIC else self.outer
        given = "" if outer is None else f"L{outer.name};"
        for part in declared:
            name, first = _name(part), ""
            if part.type == _CONSTRUCTOR:
                name, first = "<init>", given
            try:
                methods.append(MethodOfClass(_flags(part), name, self._descriptor(part, first)))
            except UndescribableError:
                if name.startswith(_ACCESSORS):
                    return None
        if not any(part.type == _CONSTRUCTOR for part in declared):
            methods.append(MethodOfClass(flags & ClassFlag.PUBLIC, "<init>", f"({given})V"))
        return tuple(methods)

    def _descriptor(self, node: Node, first: str) -> str:
        """Erased types of a method; ``first`` precedes its parameters."""
        types = [first]
        for parameter in _parts(node.child_by_field_name("parameters")):
            declared = parameter.child_by_field_name("type")
            if declared is None:
                raise UndescribableError("takes a value of unknown type")
            brackets = _dimensions(parameter.child_by_field_name("dimensions"))
            types.append(_erased("[" * brackets + self._type(declared)))
        result = node.child_by_field_name("type")
        if result is None or result.type == "void_type":
            return f"({''.join(types)})V"
        return f"({''.join(types)}){_erased(self._type(result))}"

    @property
    def superclass(self) -> str:
        node = self.node.child_by_field_name("superclass")
        if node is None:
            return _SUPERCLASSES.get(self.node.type, "java/lang/Object")
        return self._above(node.named_children[-1])

    def _interfaces(self) -> tuple[str, ...]:
        node = self.node.child_by_field_name("interfaces")
        types = () if node is None else node.named_children[0].named_children
        return tuple(map(self._above, types))

    def _above(self, node: Node) -> str:
        """Class that it extends or implements; its own members don't count for that name."""
        raw = node.named_children[0] if node.type == "generic_type" else node
        scope = self.unit if self.outer is None else self.outer
        return _full_name(_text(raw), scope)

    def _fields(self, node: Node) -> Iterator[FieldOfClass]:
        declared, flags = node.child_by_field_name("type"), _flags(node)
        assert declared is not None
        if flags & (ClassFlag.STATIC | ClassFlag.TRANSIENT):
            return  # no serializer writes them
        for declarator in node.children_by_field_name("declarator"):
            name = _name(declarator)
            brackets = declarator.child_by_field_name("dimensions")
            try:
                signature = "[" * _dimensions(brackets) + self._type(declared)
            except UndescribableError as error:
                raise UndescribableError(f"its field {name} {error}") from error
            yield FieldOfClass(flags, name, _erased(signature), signature)

    def _type(self, node: Node) -> str:
        match node.type:
            case "array_type":
                dimensions = _dimensions(node.child_by_field_name("dimensions"))
                element = node.child_by_field_name("element")
                assert element is not None
                return "[" * dimensions + self._type(element)
            case "generic_type":
                raw, *_, arguments = node.named_children
                inside = "".join(map(self._type, arguments.named_children))
                return f"{self._type(raw)[:-1]}<{inside}>;"
            case "wildcard":
                bound = [part for part in node.named_children if "annotation" not in part.type]
                mark = "-" if any(part.type == "super" for part in node.children) else "+"
                return mark + self._type(bound[-1]) if bound else "*"
            case "annotated_type":
                return self._type(node.named_children[-1])
            case _:
                return self._named(_text(node))

    def _named(self, name: str) -> str:
        if name in PRIMITIVE_CODES:
            return PRIMITIVE_CODES[name]
        return f"T{name};" if self._is_variable(name) else f"L{_full_name(name, self)};"

    def _is_variable(self, name: str) -> bool:
        parameters = _parts(self.node.child_by_field_name("type_parameters"))
        names = (part for node in parameters for part in node.named_children)
        if any(part.type == "type_identifier" and _text(part) == name for part in names):
            return True
        return self.outer is not None and self.outer._is_variable(name)

    def class_name(self, simple: str) -> str | None:
        """The class that a name means within the class."""
        for known in self._chain():
            if known.name.rpartition("/")[2].rpartition("$")[2] == simple:
                return known.name
            if self.unit.sources.declaration(f"{known.name}${simple}") is not None:
                return f"{known.name}${simple}"
        return (self.unit if self.outer is None else self.outer).class_name(simple)

    def _chain(self) -> Iterator[_Declaration]:
        """The class and its superclasses, up to the first without sources."""
        seen, known = set[str](), self
        while known.name not in seen:
            yield known
            seen.add(known.name)
            known = self.unit.sources.declaration(known.superclass) or known


def _full_name(name: str, scope: _Declaration | _Unit) -> str:
    """Name with slashes of a type in a source. Raises ``UndescribableError`` if it is ambiguous."""
    first, *inner = name.split(".")
    known = scope.class_name(first)
    if known is not None:
        return "$".join([known, *inner])
    if not inner:
        raise UndescribableError(f"is of {name}, which is in no import and no source")
    return _slashed(name)


def _slashed(name: str) -> str:
    """Name with slashes, as in class files: packages begin with small letters."""
    parts = name.split(".")
    first = next((at for at, part in enumerate(parts) if part[:1].isupper()), len(parts) - 1)
    return "/".join([*parts[:first], "$".join(parts[first:])])


def _erased(signature: str) -> str:
    """A type without arguments; any object for a type variable."""
    element = signature.lstrip("[")
    if element.startswith("T"):
        element = "Ljava/lang/Object;"
    elif "<" in element:
        element = element.partition("<")[0] + ";"
    return "[" * (len(signature) - len(signature.lstrip("["))) + element


def _nested(
    unit: _Unit, node: Node, prefix: str, outer: _Declaration | None
) -> Iterator[_Declaration]:
    if node.type == "enum_body_declarations":
        for part in node.named_children:
            yield from _nested(unit, part, prefix, outer)
    if node.type in _DECLARATIONS:
        declaration = _Declaration(unit, node, prefix + _name(node), outer)
        yield declaration
        for part in _parts(node.child_by_field_name("body")):
            yield from _nested(unit, part, f"{declaration.name}$", declaration)


def _parts(node: Node | None) -> list[Node]:
    return [] if node is None else node.named_children


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _name(node: Node) -> str:
    name = node.child_by_field_name("name")
    return "" if name is None else _text(name)


def _words(node: Node) -> list[str]:
    return [child.type for child in node.children if not child.is_named]


def _modifiers(node: Node) -> list[Node]:
    return [child for child in node.named_children if child.type == "modifiers"]


def _flags(node: Node) -> int:
    words = (word for child in _modifiers(node) for word in _words(child))
    return sum(_FLAGS.get(word, 0) for word in words)


def _is_annotated(node: Node) -> bool:
    """Whether an annotation may add or remove methods."""
    marks = (part for child in _modifiers(node) for part in child.named_children)
    # Comments between modifiers have no parts.
    names = (_text(part.named_children[0]) for part in marks if part.named_children)
    return any(name not in _WITHOUT_EFFECT for name in names)


def _dimensions(node: Node | None) -> int:
    return 0 if node is None else _text(node).count("[")
