"""Metrics that Prometheus reads at ``/metrics``."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


class Metrics:
    """Counters of a server."""

    def __init__(self) -> None:
        own = self.registry = CollectorRegistry()
        self.requests = Counter(
            "sdb_requests", "Requests, by route and status.", ("route", "status"), registry=own
        )
        self.seconds = Histogram(
            "sdb_request_seconds", "How long requests took.", ("route",), buckets=_SECONDS,
            registry=own,
        )  # fmt: skip
        self.sent = Counter("sdb_sent_bytes", "Bytes of answers.", registry=own)
        self.answered = Counter("sdb_answered_rows", "Rows of answers.", registry=own)
        self.blocks = Counter("sdb_blocks_read", "Blocks that queries have read.", registry=own)
        self.planned = Counter(
            "sdb_blocks_planned", "Blocks of tables of queries, by what their plans say.",
            ("state",), registry=own,
        )  # fmt: skip
        self.unchanged = Counter("sdb_unchanged", "Answers 304.", registry=own)
        self.kept = Counter("sdb_kept_answers", "Answers that were kept from before.", registry=own)
        self.cut = Counter("sdb_cut_answers", "Answers that were cut by an error.", registry=own)
        self.commits = Counter("sdb_commits", "Versions that requests have made.", registry=own)
        self.rows = Counter("sdb_rows_inserted", "Rows that requests have inserted.", registry=own)
        self.running = Gauge("sdb_queries_running", "Queries that compute.", registry=own)
        self.waiting = Gauge("sdb_queries_waiting", "Queries that wait for a slot.", registry=own)

    def text(self) -> bytes:
        """Return the metrics in the text form of Prometheus."""
        return generate_latest(self.registry)
