"""One visitor of the load script: what it asks for, what must be shown, and how long that took."""

import random
import re
import sys
import time
from dataclasses import dataclass, field, replace
from typing import Any

from playwright.async_api import Error, Page

from dashboard import regimes_words
from dashboard.catalog import record_of
from dashboard.compare import digits
from dashboard.recipe import Recipe
from presets.experiment import Experiment
from tests.ui.cards import VALUES

PATIENCE_S = 120  # a change that is not answered by then is an error
OPENING_PATIENCE_S = 300  # all of them open at once
SIMULATION_PATIENCE_S = 300
WARM = "launch.l2_state=warm"

# In the page: the time from the key press until heading and cards are as they must be, and the queue places shown.
WATCH = """
window.simfa = {positions: []};
const pressed = event => { if (event.key === 'Enter') window.simfa.pressed = performance.now(); };
document.addEventListener('keydown', pressed, true);
const cards = () => [...document.querySelectorAll('CARDS')].map(e => e.textContent.trim());
const heading = () => [...document.querySelectorAll('[data-testid=stMain] h4')].map(e => e.textContent).join(' ');
window.simfa.now = () => ({heading: heading(), cards: cards()});
window.simfa.until = (words, values, patience) => new Promise(resolve => {
    const began = performance.now();
    const look = () => {
        const shown = cards();
        if (heading().includes(words) && values.every((value, n) => shown[n] === value))
            resolve(performance.now() - window.simfa.pressed);
        else if (performance.now() - began > patience) resolve(null);
        else setTimeout(look, 20);
    };
    look();
});
setInterval(() => {
    for (const bar of document.querySelectorAll('[data-testid=stProgress]')) {
        const found = bar.textContent.match(/position (\\d+) in the queue/);
        if (found) window.simfa.positions.push(Number(found[1]));
    }
}, 200);
""".replace("CARDS", VALUES)


@dataclass(frozen=True)
class Visitor:
    """Who changes what: a page, a recipe, the lengths in order, whether each is simulated."""

    name: str
    page: str
    recipe: Recipe
    lengths: tuple[int, ...]
    first: int  # the length it opens with
    simulates: bool = False
    warm_up: tuple[int, ...] = ()

    def experiment(self, length: int) -> Experiment:
        """What is asked at one length."""
        return Recipe(**{**vars(self.recipe), "seq": length}).experiment()

    def expected(self, length: int) -> tuple[str, list[str]]:
        """Words of the heading and the first two cards, from `analytical/`."""
        experiment = self.experiment(length)
        records: list[dict[str, Any]] = [record_of(name, experiment) for name in ("simfa-python", "genz")]
        if self.page == "regimes":
            return experiment.words(), [f"DRAM {regimes_words.gb(record['dram_bytes'])}" for record in records[:1]]
        return experiment.words(), [f"{digits(record['latency_us'])} µs" for record in records]


def everyone(count: int, simulating: int, changes: int) -> list[Visitor]:
    """Visitors no two of which ever ask for the same: of three models, on Compare and Regimes.

    From 24,576 tokens on, in a warm L2 that no sample stands for, a simulation waits for a click, so only the
    simulating ones simulate.
    """
    visitors = []
    for n in range(count):
        model = ("llama3-8b", "llama3-70b", "llama3.1-405b")[n % 3]
        if n >= count - simulating:
            lengths = tuple(3072 + 128 * (n + count * step) % 1920 + step for step in range(changes))
            recipe = Recipe(llm="llama3.1-405b")
            visitors.append(Visitor(f"{n + 1}", "", recipe, lengths, 512 + n, simulates=True))
            continue
        lengths = tuple(24_576 + 1024 * n + 24_576 * (step + 1) for step in range(changes))
        warm_up = tuple(600_000 + 1024 * step for step in range(4)) if n == 0 else ()
        page = "regimes" if n % 3 == 2 else ""
        recipe = Recipe(llm=model, set=WARM)
        visitors.append(Visitor(f"{n + 1}", page, recipe, lengths, 500_000 + n, warm_up=warm_up))
    return visitors


@dataclass
class Session:
    """A visitor in a browser of its own."""

    visitor: Visitor
    pause_s: float
    seed: int
    latencies_ms: list[float] = field(default_factory=list)
    simulations_s: list[float] = field(default_factory=list)
    cycles: dict[int, int] = field(default_factory=dict)
    positions: list[int] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    opened_s: float = 0.0
    page: Page | None = None

    async def open(self, browser: Any, url: str) -> None:
        """The first visit, with the visitor's model."""
        context = await browser.new_context(viewport={"width": 1280, "height": 800})
        self.page = await context.new_page()
        self.page.set_default_timeout(OPENING_PATIENCE_S * 1000)
        self.page.on("pageerror", lambda error: self.errors.append(f"in the browser: {error}"))
        await self.page.add_init_script(WATCH)
        query = replace(self.visitor.recipe, seq=self.visitor.first).query()
        started = time.monotonic()
        await self.page.goto(f"{url}/{self.visitor.page}?{query}")
        words, values = self.visitor.expected(self.visitor.first)
        took = await self.page.evaluate(
            "([w, v, p]) => { window.simfa.pressed = 0; return window.simfa.until(w, v, p); }",
            [words, values, OPENING_PATIENCE_S * 1000],
        )
        if took is None:
            self.errors.append(f"did not open: {await self.page.evaluate('window.simfa.now()')}")
        self.opened_s = time.monotonic() - started

    async def run(self) -> None:
        """Every change, with pauses."""
        pauses = random.Random(f"{self.seed} {self.visitor.name}")
        for length in self.visitor.lengths:
            await self._page().wait_for_timeout(1000 * pauses.uniform(0.5, 1.5) * self.pause_s)
            try:
                self.latencies_ms.append(await self.change(length))
                if self.visitor.simulates:
                    await self._simulated(length)
            except (Error, ValueError) as error:
                self.errors.append(f"at {length:,} tokens: {error}")
                print(f"session {self.visitor.name}: {self.errors[-1]}", file=sys.stderr)
        await self._look_for_errors()
        self.positions = await self._page().evaluate("window.simfa.positions")
        print(f"session {self.visitor.name}: {len(self.latencies_ms)} changes shown", file=sys.stderr)

    async def change(self, length: int) -> float:
        """Type a length; milliseconds until its numbers are shown. Raises ValueError when they do not come."""
        words, values = self.visitor.expected(length)
        field = self._page().get_by_label("Sequence length (tokens)")
        await field.fill(str(length))
        await field.press("Enter")
        call = "([w, v, p]) => window.simfa.until(w, v, p)"
        took = await self._page().evaluate(call, [words, values, PATIENCE_S * 1000])
        if took is None:
            shown = await self._page().evaluate("window.simfa.now()")
            kind = "numbers of other parameters" if words in shown["heading"] else "no answer"
            raise ValueError(f"{kind} within {PATIENCE_S} s: expected {values}, shown {shown}")
        return float(took)

    async def _simulated(self, length: int) -> None:
        started = await self._page().evaluate("performance.now()")
        said = self._page().get_by_text("Simulated: ").first
        await said.wait_for(timeout=SIMULATION_PATIENCE_S * 1000)
        now, pressed = await self._page().evaluate("[performance.now(), window.simfa.pressed]")
        self.simulations_s.append((max(now, started) - pressed) / 1000)
        found = re.search(r"Simulated: ([\d,]+) cycles", await said.inner_text())
        self.cycles[length] = int(found[1].replace(",", "")) if found else -1

    async def _look_for_errors(self) -> None:
        for kind in ("stException", "stAlertContentError"):
            for text in await self._page().get_by_test_id(kind).all_inner_texts():
                self.errors.append(f"on the page: {text}")
        if await self._page().get_by_text("Traceback").count():
            self.errors.append("a traceback on the page")

    def _page(self) -> Page:
        assert self.page is not None
        return self.page
