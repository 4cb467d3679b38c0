from __future__ import annotations

import pickle

import pyarrow as pa
import pytest
from support.plug_in_codecs import MONEY, MONEY_TYPE, read_money, write_money

from savepoint_formats.layout import Coded, Int, OfClass, ValueCodec, serializer_length
from savepoint_formats.layout.plug_in_nodes import UNKNOWN_LENGTH
from savepoint_formats.values.arrow_types import spark_type_name

WRONG_TYPES = [
    pa.large_utf8(),
    pa.uint8(),
    pa.timestamp("ns"),
    pa.timestamp("us", "Europe/Berlin"),
    pa.struct([("a", pa.list_(pa.uint64()))]),
    pa.dictionary(pa.int8(), pa.utf8()),
]


def test_a_codec_arrives_in_another_process_as_it_is() -> None:
    node = Coded(MONEY, "shop.Money", "shop 1.0")
    assert pickle.loads(pickle.dumps(node)) == node
    assert hash(pickle.loads(pickle.dumps(node))) == hash(node)


@pytest.mark.parametrize("data_type", WRONG_TYPES, ids=str)
def test_a_type_that_no_column_has_is_refused(data_type: pa.DataType) -> None:
    with pytest.raises(ValueError, match="which no column has; expected decimal128"):
        ValueCodec(read_money, write_money, data_type)


def test_each_type_of_a_codec_has_a_name_in_spark() -> None:
    nested = pa.struct([("a", pa.list_(pa.map_(pa.utf8(), MONEY_TYPE))), ("b", pa.date32())])
    assert spark_type_name(ValueCodec(read_money, write_money, nested).type).startswith("STRUCT<a:")


def test_a_length_is_that_of_the_serializer() -> None:
    assert serializer_length(Coded(MONEY)) == UNKNOWN_LENGTH
    assert serializer_length(Coded(ValueCodec(read_money, write_money, MONEY_TYPE, 5))) == 5
    assert serializer_length(OfClass(Int(), "shop.Number")) == 4
    with pytest.raises(ValueError, match="a length of -2 bytes, expected -1 or more"):
        ValueCodec(read_money, write_money, MONEY_TYPE, -2)


@pytest.mark.parametrize(("is_closed", "is_strict"), [(True, False), (False, True)])
def test_a_closed_or_strict_value_is_not_open(is_closed: bool, is_strict: bool) -> None:
    codec = ValueCodec(read_money, write_money, MONEY_TYPE, is_strict=is_strict)
    assert not Coded(codec, is_closed=is_closed).is_open
    assert Coded(MONEY).is_open
