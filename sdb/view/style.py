"""The looks of the page, in light and dark."""

from __future__ import annotations

CSS = """
:root { color-scheme: light dark;
  --paper: #fbfbf9; --card: #ffffff; --ink: #1d2226; --soft: #5b656d; --line: #dde1e0;
  --bar: #0f766e; }
@media (prefers-color-scheme: dark) { :root {
  --paper: #14181b; --card: #1c2226; --ink: #e6eaec; --soft: #9aa6ae; --line: #333c42;
  --bar: #2fb5a8; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); line-height: 1.45;
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main, footer { max-width: 68rem; margin: 0 auto; padding: 1.5rem 1.25rem; }
footer { color: var(--soft); font-size: .85rem; padding-top: 0; }
section + section { border-top: 1px solid var(--line); margin-top: 2.5rem; padding-top: 1rem; }
h1 { font-size: 1.5rem; margin: 0 0 1rem; overflow-wrap: anywhere; }
h2 { font-size: 1.05rem; margin: 1.75rem 0 .6rem; }
.facts { display: flex; flex-wrap: wrap; gap: .6rem; margin: 0; }
.facts div { background: var(--card); border: 1px solid var(--line); border-radius: .5rem;
  padding: .5rem .85rem; max-width: 100%; }
.facts dt { color: var(--soft); font-size: .8rem; overflow-wrap: anywhere; }
.facts dd { margin: 0; font-weight: 600; font-variant-numeric: tabular-nums;
  overflow-wrap: anywhere; }
figure { margin: 0 0 1.25rem; background: var(--card); border: 1px solid var(--line);
  border-radius: .5rem; padding: .8rem 1rem .4rem; }
figcaption { font-size: .9rem; margin-bottom: .4rem; overflow-wrap: anywhere; }
figcaption b { margin-right: .5rem; }
figcaption span, .note { color: var(--soft); }
.note { font-size: .9rem; margin: 0 0 .8rem; }
.wide { overflow-x: auto; }
svg { display: block; width: 100%; min-width: 40rem; height: auto; }
svg text { font-size: 11px; fill: var(--soft); font-variant-numeric: tabular-nums; }
svg .bar { fill: var(--bar); }
svg .grid { stroke: var(--line); }
summary { cursor: pointer; }
summary h2 { display: inline-block; }
summary span { color: var(--soft); font-variant-numeric: tabular-nums; }
table { border-collapse: collapse; font-size: .88rem; background: var(--card); min-width: 24rem; }
th, td { padding: .3rem .8rem; text-align: left; border: 1px solid var(--line); white-space: nowrap;
  font-variant-numeric: tabular-nums; }
tbody th { font-weight: 500; }
thead th { color: var(--soft); font-weight: 600; }
.n { text-align: right; }
.gap { text-align: center; color: var(--soft); }
@media print { .wide { overflow: visible; } }
"""
