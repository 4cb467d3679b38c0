"""Changes of operators, states and keys as entries of a file: rows of the table of changes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from savepoint_extensions.change_files.change_kinds import ChangeKind, states_by_word
from savepoint_extensions.change_files.change_words import (
    FileWord,
    FlagWord,
    NumberWord,
    PairsWord,
    TextsWord,
    TextWord,
)
from savepoint_formats.key_groups import MAX_PARALLELISM

if TYPE_CHECKING:
    from collections.abc import Iterable

    from savepoint_extensions.change_files.change_words import Words
    from state_processor import PlannedOperator, SavepointWriter

OPERATOR = TextWord("operator", "The operator: its uid, name, or hash.", is_required=True)
STATE = TextWord("state", "The state.", is_required=True)
ONE_OPERATOR = TextWord("operator", "Only in this operator; in all by default.")
SUBCLASSES = TextWord(
    "undescribed-subclasses",
    "How expressions see POJOs of subclasses that no snapshot describes; refuse by default.",
    choices=("refuse", "bytes", "rest"),
)
_CLASS = TextWord("class", "The class of the enum; inner classes have a $.", is_required=True)


def _rename_class(writer: SavepointWriter, words: Words) -> SavepointWriter:
    for old, new in _renamed_classes(words).items():
        writer = writer.rename_class(old, new, uid=words["operator"])
    return writer


def _renamed_classes(words: Words) -> dict[str, str]:
    return words["classes"] or {words["old"]: words["new"]}


def _mistake_of_classes(words: Words) -> str:
    is_pair = words["old"] is not None and words["new"] is not None
    has_half = (words["old"] is None) != (words["new"] is None)
    if has_half or is_pair == bool(words["classes"]):
        return "rename-class needs 'old' and 'new', or 'classes' with a pair of names or more"
    return ""


def _words_of_classes(parameters: Words) -> Words:
    """The words of ``OLD NEW``, or of pairs ``OLD=NEW``."""
    pairs, operator = parameters["renames"], parameters.get("operator")
    rest = {} if operator is None else {"operator": operator}
    if len(pairs) > 1:
        return {"classes": pairs, **rest}
    ((old, new),) = pairs.items()
    return {"old": old, "new": new, **rest}


def _convert(writer: SavepointWriter, words: Words) -> SavepointWriter:
    return writer.convert(drop_in_flight=words["drop-in-flight"])


def _remove_operator(writer: SavepointWriter, words: Words) -> SavepointWriter:
    operators, others = words["operator"], words["all-but"]
    return writer.remove_operator(*operators, empty=words["empty"], all_but=others)


def _mistake_of_operators(words: Words) -> str:
    is_named = words["operator"] or words["empty"] or words["all-but"]
    return "" if is_named else "remove-operator needs 'operator', 'empty' or 'all-but'"


def _words_of_operators(parameters: Words) -> Words:
    """The words; a single operator is a text."""
    operators = parameters.get("operator", ())
    return {**parameters, "operator": operators[0]} if len(operators) == 1 else parameters


def _delete_keys(writer: SavepointWriter, words: Words) -> SavepointWriter:
    if words["found"] is None:
        subclasses: Any = words["undescribed-subclasses"] or "refuse"
        operator, where = words["operator"], words["where"]
        return writer.with_forms(undescribed_subclasses=subclasses).delete_keys(operator, where)
    from pathlib import Path  # noqa: PLC0415  # most changes read no file

    from state_processor import FoundValues  # noqa: PLC0415  # loads an extension

    file = words["found"]
    answer = FoundValues.of_json(Path(file).read_text("utf-8"), file)
    return writer.erase(answer, rewrite=words["rewrite"])


def _mistake_of_keys(words: Words) -> str:
    is_by_condition = words["operator"] is not None and words["where"] is not None
    has_condition = words["operator"] is not None or words["where"] is not None
    if has_condition != is_by_condition or is_by_condition == (words["found"] is not None):
        return "delete-keys needs 'operator' and 'where', or 'found' alone"
    return "'rewrite' needs 'found'" if words["rewrite"] and not words["found"] else ""


def _words_of_keys(parameters: Words) -> Words:
    """The words with the operator alone, of which the command takes none or one."""
    operators = parameters.get("operator", ())
    rest = {name: value for name, value in parameters.items() if name != "operator"}
    return {"operator": operators[0], **rest} if len(operators) == 1 else rest


def _rescale(writer: SavepointWriter, words: Words) -> SavepointWriter:
    return writer.rescale(
        max_parallelism=words["max-parallelism"],
        parallelism=words["parallelism"],
        hash_codes=words["hash-codes"],
    )


def _mistake_of_rescaling(words: Words) -> str:
    changes = words["max-parallelism"] is not None or words["parallelism"] is not None
    return "" if changes else "rescale needs 'max-parallelism', 'parallelism' or both"


def _imported(writer: SavepointWriter, words: Words) -> SavepointWriter:
    from pathlib import Path  # noqa: PLC0415  # most changes read no file

    from state_processor import DescribedImport  # noqa: PLC0415  # Spark is slow

    description = Path(words["description"])
    described = DescribedImport.of(words["data"], description, words["format"])
    return described.added_to(writer, keeps_others=words["state"])


def _imported_states(_operator: PlannedOperator, _words: Words) -> tuple[str, ...]:
    return ()


def _renamed_state(_operator: PlannedOperator, words: Words) -> tuple[str, ...]:
    return (words["old"],)


def _states_of_classes(operator: PlannedOperator, words: Words) -> Iterable[str]:
    """The states whose serializers name a class; all if only values name it."""
    from savepoint_formats.snapshots import class_names  # noqa: PLC0415  # for dry runs alone
    from savepoint_formats.tables import operator_infos  # noqa: PLC0415  # as above
    from savepoint_spark.writing import StoredTypes  # noqa: PLC0415  # as above

    source, classes = operator.source, frozenset(_renamed_classes(words))
    if source is None:
        return ()
    keyed = StoredTypes.of(source).states if source.has_keyed_state else ()
    subtasks = source.record.subtasks
    others = (info for subtask in subtasks for info in operator_infos(source.directory, subtask))
    naming = {
        info.name: None
        for info in (*keyed, *others)
        if classes & class_names(snapshot for _, snapshot in info.serializers)
    }
    return naming or states_by_word(operator, {})


def _always(_words: Words) -> bool:
    return True


def _has_condition(words: Words) -> bool:
    return words["where"] is not None


CHANGES = (
    ChangeKind(
        "rename-operator",
        "Rename an operator: give its state another uid.",
        (
            TextWord("old", "The operator: its uid, name, or hash.", is_required=True),
            TextWord("new", "The uid in the new job, or its hash.", is_required=True),
        ),
        lambda writer, words: writer.rename_operator(words["old"], words["new"]),
    ),
    ChangeKind(
        "remove-operator",
        "Remove operators and their state.",
        (
            TextsWord("operator", "The operators: uids, names, or hashes."),
            FlagWord("empty", "Remove all operators without state."),
            TextsWord("all-but", "Remove all operators but these."),
        ),
        _remove_operator,
        _mistake_of_operators,
        of_command=_words_of_operators,
    ),
    ChangeKind(
        "remove-state",
        "Remove a state.",
        (OPERATOR, STATE),
        lambda writer, words: writer.remove_state(words["operator"], words["state"]),
    ),
    ChangeKind(
        "rename-state",
        "Rename a state.",
        (
            OPERATOR,
            TextWord("old", "The state.", is_required=True),
            TextWord("new", "The name of the state in the new job.", is_required=True),
        ),
        lambda writer, words: writer.rename_state(words["operator"], words["old"], words["new"]),
        states=_renamed_state,
    ),
    ChangeKind(
        "rename-class",
        "Rename Java classes in serializers and values: one by old and new, or several.",
        (
            TextWord("old", "The present name, as Class.getName gives it."),
            TextWord("new", "The name of the class in the new job."),
            PairsWord("classes", "Several classes: present name to new name, in order."),
            ONE_OPERATOR,
        ),
        _rename_class,
        _mistake_of_classes,
        of_command=_words_of_classes,
        states=_states_of_classes,
    ),
    ChangeKind(
        "rename-constant",
        "Rename a constant of an enum.",
        (
            _CLASS,
            TextWord("old", "The constant.", is_required=True),
            TextWord("new", "The name of the constant in the new job.", is_required=True),
            ONE_OPERATOR,
        ),
        lambda writer, words: writer.rename_constant(
            words["class"], words["old"], words["new"], uid=words["operator"]
        ),
    ),
    ChangeKind(
        "drop-constant",
        "Remove a constant of an enum that nothing uses.",
        (_CLASS, TextWord("constant", "The constant.", is_required=True), ONE_OPERATOR),
        lambda writer, words: writer.drop_constant(
            words["class"], words["constant"], uid=words["operator"]
        ),
    ),
    ChangeKind(
        "delete-keys",
        "Delete keys: those of an operator by a condition, or those that find has found.",
        (
            TextWord("operator", "The operator: its uid, name, or hash."),
            TextWord("where", "SQL: the keys that have a matching row in any table."),
            FileWord("found", "The file of savepoint find --save, for keys of all operators."),
            FlagWord("rewrite", "With found: write all keyed state anew that may have old values."),
            SUBCLASSES,
        ),
        _delete_keys,
        _mistake_of_keys,
        _has_condition,
        _words_of_keys,
    ),
    ChangeKind(
        "rescale",
        "Rescale all operators to other key groups and another parallelism.",
        (
            NumberWord("max-parallelism", "The number of key groups.", low=1, high=MAX_PARALLELISM),
            NumberWord("parallelism", "The number of subtasks.", low=1, high=MAX_PARALLELISM),
            PairsWord("hash-codes", "Operator to the shape of the hashCode of its keys."),
        ),
        _rescale,
        _mistake_of_rescaling,
    ),
    ChangeKind(
        "convert",
        "Bring all keyed state into another format.",
        (
            TextWord("format", "The format; canonical by default.", choices=("canonical",)),
            FlagWord("drop-in-flight", "Drop the records in flight of an unaligned checkpoint."),
        ),
        _convert,
    ),
    ChangeKind(
        "merge-local",
        "Merge local keyed state into ordinary state.",
        (OPERATOR, PairsWord("merge", "State to rule: sum, min, max or concat.")),
        lambda writer, words: writer.merge_local(words["operator"], words["merge"]),
    ),
    ChangeKind(
        "import",
        "Make state of rows: replace an operator, or with state: true only the described states.",
        (
            FileWord("data", "A file of rows, or a folder.", is_required=True, is_checked=False),
            FileWord("description", "The file that maps columns to states.", is_required=True),
            TextWord("format", "The format of data.", choices=("parquet", "avro", "csv", "jsonl")),
            FlagWord("state", "Replace or add only the described states."),
        ),
        _imported,
        needs_session=_always,
        states=_imported_states,
    ),
)
"""The rows of changes of operators, states and keys."""
