"""What pending work will take, at measured rates and published prices; what was never measured is counted apart."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from hone.config.settings import Settings
from hone.config.trainings import TrainingKey
from hone.core.errors import ProviderError
from hone.llm.cost import Tariff, tariff_of
from hone.llm.names import parse_model
from hone.records import Usage
from hone.status.progress import Work, experiments_of
from hone.status.rates import Mean, Rates

PROBE = Usage(input_tokens=1000, output_tokens=1000)


@dataclass
class Estimate:
    """Of one kind of work, or of all of it."""

    input_tokens: float = 0.0
    output_tokens: float = 0.0
    usd: float = 0.0
    gpu_s: float = 0.0
    """Of one GPU, however many are at work."""
    cpu_s: float = 0.0
    """Of a machine without a GPU, however many of its cores are at work."""
    unknown: int = 0
    """Pending items without a measured rate, or without a price."""
    free: bool = False
    """Calls that are answered from a transcript."""
    output_bound_usd: float = 0.0
    """Of calls whose tokens are unknown: what their output costs at most, by max_tokens; 0 where that is not set."""
    price_source: str = ""
    basis: list[str] = field(default_factory=list)
    """The rates, each with the number of its measurements."""

    def add(self, other: Estimate) -> None:
        """Sum up, the basis left out."""
        self.input_tokens += other.input_tokens
        self.output_tokens += other.output_tokens
        self.usd += other.usd
        self.gpu_s += other.gpu_s
        self.cpu_s += other.cpu_s
        self.unknown += other.unknown


def estimate(work: Work, settings: Settings, rates: Rates) -> Estimate:
    """Of one kind of work; raises ProviderError for a model without an address, RecordError for damaged files."""
    if work.kind == "calls":
        return _calls(work, settings, rates)
    if work.kind == "graphs":
        return Estimate(unknown=work.pending.total(), basis=["never timed"] if work.pending else [])
    if work.kind == "builds":
        others = experiments_of(settings)[work.section]
        parts = [Part(number, rates.build(str(name), others)) for name, number in work.pending.items() if number]
        return _timed(parts, "s a build")
    if work.kind == "verdicts":
        return _verdicts(work, settings, rates)
    return _trainings(work, settings, rates)


def _calls(work: Work, settings: Settings, rates: Rates) -> Estimate:
    """Tokens and dollars; the mean of an experiment's own calls where it has any, else of the model's."""
    if work.model.startswith("recorded/"):
        return Estimate(free=True, basis=["a transcript answers"])
    pending = {str(name): number for name, number in work.pending.items() if number}
    if not pending:
        return Estimate()
    tariff, batch = _tariff(work.model, settings), settings.llm.mode == "export"
    known = {name: tokens for name in pending if (tokens := rates.tokens(name, work.model)) is not None}
    found = Estimate(unknown=sum(number for name, number in pending.items() if tariff is None or name not in known))
    for name, tokens in known.items():
        found.input_tokens += pending[name] * tokens.input.value
        found.output_tokens += pending[name] * tokens.output.value
        found.usd += pending[name] * tariff.cost_usd(tokens.mean, batch=batch) if tariff else 0.0
    number = sum(pending[name] for name in known)
    if number:
        measured = sum({id(tokens): tokens.n for tokens in known.values()}.values())
        mean = f"{found.input_tokens / number:,.0f} + {found.output_tokens / number:,.0f} tokens a call"
        found.basis.append(f"{mean}, {measured:,} measured")
    else:
        found.basis.append("no call measured")
        found.output_bound_usd = _bound(pending, settings, tariff, batch) if tariff else 0.0
    if uncounted := rates.uncounted(work.model):
        found.basis.append(f"{uncounted:,} without token counts")
    if tariff is None:
        found.basis.append(f"no price: set llm.prices.{work.model}")
    else:
        found.basis.append(_price(tariff, batch))
        found.price_source = tariff.source(batch=batch)
    return found


def _bound(pending: dict[str, int], settings: Settings, tariff: Tariff, batch: bool) -> float:
    limits = {name: settings.experiments[name].sampling.max_tokens for name in pending}
    if None in limits.values():
        return 0.0
    usages = ((number, Usage(output_tokens=limits[name] or 0)) for name, number in pending.items())
    return sum(number * tariff.cost_usd(usage, batch=batch) for number, usage in usages)


def _tariff(model: str, settings: Settings) -> Tariff | None:
    """The price of a model; None where neither the config nor the list has one."""
    target = parse_model(model, settings.llm)
    try:
        return tariff_of(target, settings.llm.prices)
    except ProviderError:
        return None


def _price(tariff: Tariff, batch: bool) -> str:
    read = tariff.cost_usd(PROBE.model_copy(update={"output_tokens": 0}), batch=batch)
    written = tariff.cost_usd(PROBE.model_copy(update={"input_tokens": 0}), batch=batch)
    return f"${1000 * read:.2f} + ${1000 * written:.2f} a Mtoken"


@dataclass(frozen=True)
class Part:
    """Pending items that share a rate."""

    number: int
    rate: Mean | None
    """Seconds; None where nothing was measured."""
    gpus: int = 0
    """That each item holds."""
    times: int = 1
    """How often an item takes so long: epochs of a training."""


def _verdicts(work: Work, settings: Settings, rates: Rates) -> Estimate:
    gpus = 1 if settings.judge.device == "cuda" else 0
    pending = {str(name): number for name, number in work.pending.items() if number}
    found = _timed([Part(number, rates.verdict(name), gpus) for name, number in pending.items()], "s a verdict")
    found.unknown += work.unsized
    return found


def _trainings(work: Work, settings: Settings, rates: Rates) -> Estimate:
    parts = []
    for key in work.pending:
        assert isinstance(key, TrainingKey), "progress counts trainings by their keys"
        item = settings.trainings[key.training]
        on_gpu = item.device == "cuda"
        if work.kind == "inferences":
            parts.append(Part(1, rates.inference(key), int(on_gpu)))
        else:
            epochs = item.hyper(key.graph, key.model).epochs
            parts.append(Part(1, rates.training(key), key.gpus if on_gpu else 0, epochs))
    return _timed(parts, "s an inference" if work.kind == "inferences" else "s a training")


def _timed(parts: Iterable[Part], unit: str) -> Estimate:
    found = Estimate()
    known: list[tuple[int, float, Mean]] = []
    for part in parts:
        if part.rate is None:
            found.unknown += part.number
            continue
        each_s = part.rate.value * part.times
        known.append((part.number, each_s, part.rate))
        if part.gpus:
            found.gpu_s += part.number * each_s * part.gpus
        else:
            found.cpu_s += part.number * each_s
    number = sum(item[0] for item in known)
    if number:
        seconds = sum(count * each_s for count, each_s, _ in known) / number
        measured = sum({id(mean): mean.n for *_, mean in known}.values())
        machines = sorted({machine for *_, mean in known for machine in mean.machines})
        where = f" on {'; '.join(machines)}" if machines else ""
        found.basis = [f"{seconds:.3g} {unit}, {measured:,} measured{where}"]
    elif found.unknown:
        found.basis = ["nothing measured"]
    return found
