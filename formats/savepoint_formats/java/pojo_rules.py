"""Whether Flink treats a class as a POJO, according to its class file.

| rule                                                             | otherwise             |
|------------------------------------------------------------------|-----------------------|
| the class is public                                              | not a POJO            |
| it, or a superclass, has a field                                 | not a POJO            |
| each field is public, or has a public getter and setter          | not a POJO            |
| it has a public constructor without arguments, or it is abstract | not a POJO            |
| no method is called readObject or writeObject                    | not a POJO            |
| no annotation gives it its own type information                  | unknown               |
| all superclasses are known, and none is from Flink or Avro       | unknown               |

Getters are ``getName``, ``isName`` or ``name``; setters are ``setName`` or ``name_$eq``. Case and
underscores don't matter. They have the type of the field, or its wrapper. A setter returns nothing,
or an object of the class.

Flink: ``TypeExtractor.analyzePojo``, ``isValidPojoField``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from savepoint_formats.java.class_file import ClassFlag

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from savepoint_formats.java.class_file import ClassFile, FieldOfClass, MethodOfClass

    FindClass = Callable[[str], ClassFile | None]

_OBJECT = "java/lang/Object"
_TYPE_INFO = "Lorg/apache/flink/api/common/typeinfo/TypeInfo;"
_OF_OTHERS = ("java/", "javax/", "org/apache/flink/", "org/apache/avro/", "org/apache/hadoop/")
_WRAPPERS = {
    "B": "Ljava/lang/Byte;",
    "C": "Ljava/lang/Character;",
    "D": "Ljava/lang/Double;",
    "F": "Ljava/lang/Float;",
    "I": "Ljava/lang/Integer;",
    "J": "Ljava/lang/Long;",
    "S": "Ljava/lang/Short;",
    "Z": "Ljava/lang/Boolean;",
}
_CUSTOM = ("readObject", "writeObject")


def is_pojo(name: str, find: FindClass) -> bool | None:
    """Whether Flink treats a class as a POJO; None if its class file does not tell.

    Names have slashes.
    """
    class_file = find(name)
    if class_file is None or class_file.flags & (ClassFlag.ENUM | ClassFlag.INTERFACE):
        return None
    if not class_file.flags & ClassFlag.PUBLIC:
        return False
    chain = _chain(class_file, find)
    if chain is None:
        return None
    fields = [field for member in chain for field in member.fields if not field.flags & _LEFT_OUT]
    methods = [method for member in chain for method in member.methods or ()]
    return (
        bool(fields)
        and _has_constructor(class_file)
        and not any(method.name in _CUSTOM for method in methods)
        and all(_is_reached(field, methods, class_file) for field in fields)
    )


_LEFT_OUT = ClassFlag.STATIC | ClassFlag.TRANSIENT


def extended(name: str, find: FindClass) -> str | None:
    """The first of the user's classes that a class extends or implements."""
    class_file = find(name)
    above = () if class_file is None else (class_file.superclass or _OBJECT, *class_file.interfaces)
    return next((above_name for above_name in above if not above_name.startswith(_OF_OTHERS)), None)


def _chain(class_file: ClassFile, find: FindClass) -> list[ClassFile] | None:
    """A class and its superclasses; None if some facts about them are unknown."""
    chain: list[ClassFile] = []
    member: ClassFile | None = class_file
    while member is not None:
        if member in chain or member.methods is None or _TYPE_INFO in member.annotations:
            return None
        if any(interface.startswith(_OF_OTHERS[2:]) for interface in member.interfaces):
            return None
        chain.append(member)
        if member.superclass in (None, _OBJECT):
            return chain
        member = None if member.superclass.startswith(_OF_OTHERS) else find(member.superclass)
    return None


def _has_constructor(class_file: ClassFile) -> bool:
    for method in class_file.methods or ():
        if (method.name, method.descriptor) == ("<init>", "()V"):
            return bool(method.flags & ClassFlag.PUBLIC)
    return bool(class_file.flags & ClassFlag.ABSTRACT)


def _is_reached(field: FieldOfClass, methods: list[MethodOfClass], owner: ClassFile) -> bool:
    if field.flags & ClassFlag.PUBLIC:
        return True
    types = {field.descriptor, _WRAPPERS.get(field.descriptor, field.descriptor)}
    name = field.name.lower().replace("_", "")
    getters = {(own, f"(){kind}") for own in (f"get{name}", f"is{name}", name) for kind in types}
    setters = {
        (own, f"({kind}){result}")
        for own in (f"set{name}", f"{name}_$eq")
        for kind in types
        for result in ("V", f"L{owner.name};")
    }
    public = set(_public(methods))
    return not public.isdisjoint(getters) and not public.isdisjoint(setters)


def _public(methods: list[MethodOfClass]) -> Iterator[tuple[str, str]]:
    """Names and descriptors of public methods; names without case and underscores."""
    for method in methods:
        if method.flags & ClassFlag.PUBLIC:
            plain, is_scala, _ = method.name.partition("_$eq")
            name = plain.lower().replace("_", "")
            yield f"{name}_$eq" if is_scala else name, method.descriptor
