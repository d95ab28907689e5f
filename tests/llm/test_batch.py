import json

import pytest

from hone.config.llm import Price
from hone.core.errors import ProviderError, RecordError
from hone.llm.batch import export_requests, import_answers, requests_file
from hone.llm.ledger import Ledger
from hone.records import Sampling
from tests.llm.cost import total_cost_usd

from .server import completion_body

PRICES = {"openai-api/fake/toy": Price(input_usd_per_mtok=1.0, output_usd_per_mtok=1.0)}


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "ledger")


@pytest.fixture
def batch_file(tmp_path, make_request):
    """Three requests, exported."""
    path = tmp_path / "pending" / "level1_000.jsonl"
    export_requests([make_request(sample) for sample in range(3)], path)
    return path


def outputs(batch_file):
    """What the Batch API would give back, in another order."""
    lines = [json.loads(line) for line in batch_file.read_text().splitlines()]
    return [
        {
            "id": f"batch_req_{number}",
            "custom_id": line["custom_id"],
            "response": {"status_code": 200, "body": completion_body(line["custom_id"], line["body"])},
            "error": None,
        }
        for number, line in enumerate(reversed(lines))
    ]


def write(path, rows):
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def bring_in(tmp_path, batch_file, ledger, rows):
    return import_answers([write(tmp_path / "out.jsonl", rows)], [requests_file(batch_file)], ledger, PRICES)


def test_the_file_has_the_form_of_openais_batches(batch_file, make_request):
    lines = [json.loads(line) for line in batch_file.read_text().splitlines()]
    assert {line["custom_id"] for line in lines} == {make_request(sample).key for sample in range(3)}
    for line in lines:
        assert set(line) == {"custom_id", "method", "url", "body"}
        assert (line["method"], line["url"]) == ("POST", "/v1/chat/completions")
        assert line["body"]["messages"][0]["content"] == "Write a kernel."
        assert len(line["custom_id"]) == 64


def test_the_same_request_is_exported_once(tmp_path, make_request):
    path = tmp_path / "one.jsonl"
    export_requests([make_request(), make_request()], path)
    assert len(path.read_text().splitlines()) == len(requests_file(path).read_text().splitlines()) == 1


def test_answers_are_imported_with_their_cost(tmp_path, batch_file, ledger, make_request):
    report = bring_in(tmp_path, batch_file, ledger, outputs(batch_file))
    assert (report.imported, report.already_there, report.ok) == (3, 0, True)
    for sample in range(3):
        entry = ledger.get(make_request(sample).key)
        assert entry.request == make_request(sample)
        assert entry.cost_usd == pytest.approx((entry.usage.input_tokens + entry.usage.output_tokens) / 1e6)
        assert "full price" in entry.price_source
    assert ledger.check() == []


def test_openais_batches_cost_the_batch_price(tmp_path, ledger, make_request):
    request = make_request(provider="openai", base_url="https://api.openai.com/v1", model="o4-mini")
    path = tmp_path / "batch.jsonl"
    export_requests([request], path)
    report = import_answers([write(tmp_path / "out.jsonl", outputs(path))], [requests_file(path)], ledger, {})
    assert report.ok
    assert ledger.get(request.key).price_source.endswith(" batch")


def test_a_prompt_that_the_server_refused_is_imported_as_unanswered(tmp_path, batch_file, ledger):
    first, *others = outputs(batch_file)
    error = {"error": {"message": "too long", "code": "context_length_exceeded"}}
    refused = {**first, "response": {"status_code": 400, "body": error}}
    assert bring_in(tmp_path, batch_file, ledger, [refused, *others]).ok
    assert ledger.get(first["custom_id"]).refusal == "HTTP 400: too long"


def test_importing_again_changes_nothing(tmp_path, batch_file, ledger):
    bring_in(tmp_path, batch_file, ledger, outputs(batch_file))
    cost_usd = total_cost_usd(ledger)
    report = bring_in(tmp_path, batch_file, ledger, outputs(batch_file))
    assert (report.imported, report.already_there, report.ok) == (0, 3, True)
    assert total_cost_usd(ledger) == cost_usd


def test_an_export_from_before_services_were_known_by_name_can_be_imported(tmp_path, batch_file, ledger, make_request):
    rows = outputs(batch_file)
    old = {make_request(sample).key: make_request(sample).keys[1] for sample in range(3)}
    rows = [{**row, "custom_id": old[row["custom_id"]]} for row in rows]
    assert bring_in(tmp_path, batch_file, ledger, rows).imported == 3
    assert ledger.get(make_request(0).key) is not None
    assert bring_in(tmp_path, batch_file, ledger, rows).already_there == 3


def test_a_request_in_two_exports_is_imported_once(tmp_path, batch_file, ledger, make_request):
    second = tmp_path / "pending" / "level1_001.jsonl"
    export_requests([make_request(0), make_request(7)], second)
    files = [write(tmp_path / "a.jsonl", outputs(batch_file)), write(tmp_path / "b.jsonl", outputs(second))]
    report = import_answers(files, [tmp_path / "pending"], ledger, PRICES)
    assert report.imported == ledger.count() == 4
    assert len(report.problems) == 1
    assert "a second time" in report.problems[0]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda row: json.dumps(row)[:-40], "cut off"),
        (lambda row: {**row, "custom_id": "0" * 64}, "unknown custom_id"),
        (lambda row: {**row, "custom_id": None}, "unknown custom_id"),
        (lambda row: {**row, "response": None, "error": {"code": "expired", "message": "too late"}}, "too late"),
        (lambda row: {**row, "response": {"status_code": 400, "body": {"error": {"message": "no"}}}}, "HTTP 400: no"),
        (lambda row: {**row, "response": {"status_code": 200, "body": {"choices": []}}}, "no choices"),
        (lambda row: "[1]", "unknown custom_id"),
        (lambda row: {**row, "response": None}, "no response"),
    ],
)
def test_a_bad_line_is_reported_and_the_good_ones_are_kept(tmp_path, batch_file, ledger, spoil, message):
    first, bad, last = outputs(batch_file)
    report = bring_in(tmp_path, batch_file, ledger, [first, spoil(bad), last])
    assert report.imported == ledger.count() == 2
    assert not report.ok
    (problem,) = report.problems
    assert problem.startswith(f"{tmp_path / 'out.jsonl'}:2: ")
    assert message in problem
    assert problem in str(report)


def test_a_line_answered_twice_keeps_the_first(tmp_path, batch_file, ledger):
    rows = outputs(batch_file)
    again = json.loads(json.dumps(rows[0]).replace("to ", "again "))
    report = bring_in(tmp_path, batch_file, ledger, [*rows, again])
    assert (report.imported, len(report.problems)) == (3, 1)
    assert all(entry.response.startswith("to ") for entry in ledger.entries())


def test_files_that_are_not_there_are_named(tmp_path, batch_file, ledger):
    with pytest.raises(RecordError, match=r"missing\.jsonl"):
        import_answers([tmp_path / "missing.jsonl"], [requests_file(batch_file)], ledger, PRICES)
    (tmp_path / "empty").mkdir()
    with pytest.raises(RecordError, match=r"requests\.jsonl below"):
        import_answers([batch_file], [tmp_path / "empty"], ledger, PRICES)


def test_without_a_price_nothing_is_imported(tmp_path, batch_file, ledger):
    out = write(tmp_path / "out.jsonl", outputs(batch_file))
    with pytest.raises(ProviderError, match=r"llm\.prices"):
        import_answers([out], [requests_file(batch_file)], ledger, {})
    assert ledger.count() == 0


def test_a_parameter_that_is_not_set_is_not_exported(tmp_path, make_request):
    path = tmp_path / "one.jsonl"
    export_requests([make_request(sampling=Sampling())], path)
    assert set(json.loads(path.read_text())["body"]) == {"model", "messages"}
