"""The forms that values must have, as tables."""

from slicebase.files.model import FLAG, SHARE, TEXT, WHOLE, Form, Forms, misfits

FORMS: Forms = {
    "name": TEXT,
    "inner": {"share": SHARE, "count": WHOLE},
    "flag": FLAG,
    "odd": Form(lambda n: n % 2 == 1, "odd"),
}


def test_values_of_the_wrong_form_are_named_by_their_path_in_their_own_order() -> None:
    values = {"odd": 2, "inner": {"count": -1, "share": 1.5}, "name": ["x"]}
    assert [(misfit.name, misfit.value, misfit.form) for misfit in misfits(values, FORMS)] == [
        ("odd", 2, "odd"),
        ("inner.count", -1, "a whole number"),
        ("inner.share", 1.5, "a number from 0 to 1"),
        ("name", ["x"], "text"),
    ]


def test_a_value_with_further_fields_must_be_a_mapping() -> None:
    assert [(misfit.name, misfit.form) for misfit in misfits({"inner": "x"}, FORMS)] == [("inner", "a mapping")]


def test_null_and_keys_that_the_table_does_not_name_fit() -> None:
    assert list(misfits({"name": None, "inner": None, "other": object()}, FORMS)) == []


def test_a_boolean_is_not_a_number() -> None:
    assert [misfit.name for misfit in misfits({"inner": {"share": True, "count": False}}, FORMS)] == [
        "inner.share",
        "inner.count",
    ]
    assert [misfit.name for misfit in misfits({"flag": 1}, FORMS)] == ["flag"]
