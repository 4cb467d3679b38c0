from __future__ import annotations

import pyarrow as pa
import pytest
from support.masks import SECRET
from support.sample_rows import SAMPLES, Sample

from savepoint_extensions.privacy.mask_methods import METHODS, FieldType
from savepoint_extensions.privacy.mask_plan import NO_FIELD, MaskPlan, expect_all_named, mask_fields
from savepoint_extensions.privacy.mask_rules import MaskField, MaskRules, rule_for
from savepoint_extensions.privacy.masked_entries import Tally
from savepoint_extensions.privacy.permutation import permuted_decimal
from savepoint_formats.errors import MaskError
from state_processor import Savepoint


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAVEPOINT_MASK_SECRET", SECRET)


def plan(uid: str, rules: str, sample: str = "states-2.2.1-hashmap-canonical") -> MaskPlan:
    return MaskPlan.of(Sample(sample).open().operator(uid), MaskRules.of_text(rules))


def test_fields_are_of_keys_values_and_bytes_that_only_the_operator_reads() -> None:
    fields = {
        (place.state, place.field): place.type.value
        for place in mask_fields(
            Sample("states-2.2.1-hashmap-canonical").open().operator("stateful")
        )
    }
    assert fields["", "key"] == "text"
    assert fields["by_currency", "map_key"] == "text"
    assert fields["customer", "value.address.zip"] == "integer"
    assert fields["balance", "value"] == "decimal"
    assert fields["last_kind", "value"] == "enum"
    assert fields["recent_memos", "value"] == "text"
    source = Sample("states-2.2.1-hashmap-canonical").open().operator("transactions_source")
    assert {place.type.value for place in mask_fields(source)} == {"bytes", "unknown"}


def test_windows_stay() -> None:
    session = Sample("windows-2.2.1-hashmap-canonical").open().operator("session")
    fields = {(place.state, place.field) for place in mask_fields(session)}
    assert ("", "key") in fields
    assert not any(name.startswith("namespace") for _, name in fields)
    assert not any(state == "merging-window-set" for state, _ in fields)


def test_keys_can_not_be_null() -> None:
    for rule in ("{field: key, method: 'null'}", "{field: map_key, method: 'null'}"):
        with pytest.raises(MaskError, match="can't be null"):
            plan("stateful", f"rules: [{rule}]")


def test_strict_rules_name_each_field() -> None:
    known = plan("stateful", "rules: [{type: text, method: hash}]")
    with pytest.raises(MaskError, match=r"no rule names .* fields: .*last_id: value"):
        expect_all_named([known])
    expect_all_named([plan("stateful", "rules: [{type: text, method: hash}, {method: keep}]")])
    assert "last_id" not in str(known.without({"last_id"}).unnamed)


def test_the_answer_has_all_fields_with_their_counts() -> None:
    known = plan("stateful", "rules: [{field: key, method: hash}]")
    tallies = {("memos", "key"): Tally(3, 2, 0), ("last_id", "key"): Tally(5, 5, 1)}
    key, *others = known.told(tallies)
    assert (key.state, key.method, key.values, key.changed, key.unmatched) == ("", "hash", 8, 7, 1)
    assert {other.method for other in others} == {"no rule"}
    assert not any(other.field.endswith("$undecoded") for other in others)


def test_the_answer_names_rules_that_decide_no_field() -> None:
    text = """
    rules:
    - {state: memos, method: hash}
    - {state: memo, method: hash}
    - {state: memos, method: fixed, value: gone}
    - {method: keep}
    """
    opened = Sample("states-2.2.1-hashmap-canonical").open()
    writer = opened.masked(MaskRules.of_text(text, "rules.yaml"), strict=False)
    idle = [(it.operator, it.field, it.values) for it in writer.unmasked if it.method == NO_FIELD]
    assert idle == [("", "rules.yaml line 4", 0), ("", "rules.yaml line 5", 0)]
    used = MaskRules.of_text("rules: [{state: memos, method: hash}, {method: keep}]")
    assert NO_FIELD not in {it.method for it in opened.masked(used).unmasked}


def test_undecoded_values_are_told_or_refused() -> None:
    known = plan("stateful", "rules: [{name: name, method: hash}]")
    tallies = {("customer", "value.$undecoded"): Tally(1, 0, 0)}
    assert any(field.field.endswith("$undecoded") for field in known.told(tallies))
    strict = MaskPlan(known.operator, known.fields, is_strict=True)
    with pytest.raises(MaskError, match="can't be decoded"):
        list(strict.told(tallies))


def test_without_a_method_that_masks_nothing_is_masked() -> None:
    assert plan("stateful", "rules: [{method: keep}]").masked() is None


def test_only_a_rule_that_names_a_state_of_a_connector_changes_it() -> None:
    everything = plan("transactions_source", "rules: [{state: '*', method: hash, type: bytes}]")
    (reader,) = [pair for pair in everything.fields if pair[0].state == "SourceReaderState"]
    assert reader[0].is_own
    assert reader[1] is None
    assert everything.masked() is None
    assert "SourceReaderState" not in str(everything.unnamed)
    assert "Flink's own" in {field.method for field in everything.told({})}
    named = plan("transactions_source", "rules: [{state: SourceReaderState, method: hash}]")
    assert named.masked() is not None


def test_rules_have_the_names_of_a_pyflink_job() -> None:
    types = {"by_long": {"label": "Types.STRING()"}}
    savepoint = Savepoint.open(SAMPLES / "pyflink-2.2.1", uids=("by_long", "by_row"), types=types)
    rules = MaskRules.of_text(
        "rules: [{field: key, method: hash}, {state: label, name: label, method: hash}]"
    )
    by_long = MaskPlan.of(savepoint.operator("by_long"), rules)
    assert {(place.job_state, place.field) for place, rule in by_long.fields if rule} == {
        ("", "key"),
        ("label", "value"),
    }
    masked = by_long.masked()
    assert masked is not None
    assert masked.moves_keys
    told = {(field.state, field.method) for field in by_long.told({})}
    assert {("label", "hash"), ("total", "no rule")} <= told
    rules = MaskRules.of_text("rules: [{field: 'key.f?', method: hash}]")
    by_row = MaskPlan.of(savepoint.operator("by_row"), rules)
    assert [str(place) for place, rule in by_row.fields if rule] == [
        "by_row/: key.f0",
        "by_row/: key.f1",
    ]


def test_the_key_of_all_rows_is_masked_only_where_its_operator_is_named() -> None:
    place = MaskField("all", "", "key", FieldType.INTEGER, is_own=True)
    for text, is_named in (
        ("{field: key, method: hash}", False),
        ("{type: integer, method: hash}", False),
        ("{operator: 'a*', field: key, method: hash}", False),
        ("{operator: all, field: key, method: hash}", True),
    ):
        rule = rule_for(MaskRules.of_text(f"rules: [{text}]"), place)
        assert (rule is not None) == is_named, text


def test_whole_numbers_of_any_size_are_masked_like_a_bigint() -> None:
    masked = plan("stateful", "rules: [{type: [decimal, text], method: digits}]").masked()
    assert masked is not None
    decimals, texts = (masked.rules[state]["value"] for state in ("balance", "memos"))
    digits = METHODS["digits"].mask
    assert digits is not None
    number, text = (digits(pa.array(["12345"]), it).values[0].as_py() for it in (decimals, texts))
    assert number == str(permuted_decimal(decimals.secret, 12345))
    assert text != number
