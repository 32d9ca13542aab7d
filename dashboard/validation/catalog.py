"""Every view of the Validation page, in the order of its choices."""

from dashboard.validation import kernels, latency, overview, pipeline, studies, tables, traffic
from dashboard.validation.view import View

OVERVIEW = View(
    "overview",
    "Overview",
    "every study at a glance, as mean error / worst error in % of the reference",
    "public",
    overview.overview,
)
VIEWS: dict[str, View] = {
    view.name: view
    for view in (
        OVERVIEW,
        View("table2", "Table 2", "the simulated system", "paper", tables.table2),
        View("table3", "Table 3", "the instruction set", "paper", tables.table3),
        View("fig3", "Fig. 3", "TMA latency against working set", "paper", studies.fig3),
        View("fig4", "Fig. 4", "TMA bandwidth and the number of MSHRs", "paper", studies.fig4),
        View("fig5", "Fig. 5", "TMA bandwidth by shape", "paper", studies.fig5),
        View("table4", "Table 4", "the events of a kernel log", "paper", tables.table4),
        View("fig6", "Fig. 6", "latency of FlashAttention-3 on H800", "paper", latency.fig6),
        View("fig7", "Fig. 7", "the pipeline of one SM", "paper", pipeline.fig7),
        View("table5", "Table 5", "one mechanism taken away", "paper", studies.table5),
        View("table6", "Table 6", "the models", "paper", tables.table6),
        View("fig8", "Fig. 8", "L2 traffic on GB10", "paper", traffic.fig8),
        View("fig9", "Fig. 9", "DRAM traffic on GB10 and H800", "paper", traffic.fig9),
        View("fa3", "FA3, locked clock", "FlashAttention-3 on H100 at 1500 MHz", "public", kernels.locked),
        View("fa3-unlocked", "FA3, unlocked", "FlashAttention-3 at unknown clocks", "public", kernels.unlocked),
        View("ladder", "FA3, ladder", "one value at a time", "public", studies.ladder),
        View("walk", "FA3, from paper to calibrated", "one mechanism after the other", "public", studies.walk),
        View("fit", "FA3, sensitivity", "the fitted values moved by a tenth", "public", studies.fit),
        View("gb10", "cuTile on GB10", "latency and L2 traffic", "public", kernels.gb10),
        View("wgmma", "WGMMA", "time by shape and mode", "public", studies.of_study("wgmma")),
        View("softmax", "Softmax", "the bubble of section 5.2", "public", studies.of_study("softmax")),
        View("dram-latency", "DRAM latency", "one HBM3 channel", "public", studies.of_study("dram-latency")),
        View("dram-bandwidth", "DRAM bandwidth", "one HBM3 channel", "public", studies.of_study("dram-bandwidth")),
    )
}
