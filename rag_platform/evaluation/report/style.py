"""How the page of a report looks, by daylight and in the dark, on a wall and on a phone; words only."""

__all__ = ["STYLE"]

STYLE = """
:root { color-scheme: light dark; --page: #fff; --text: #222; --quiet: #595959; --line: #ddd;
  --best: #08519c; --other: #767676 }
@media (prefers-color-scheme: dark) { :root { --page: #16181c; --text: #e6e6e6; --quiet: #a8a8a8;
  --line: #3a3d44; --best: #7db8ff; --other: #949494 } }
body { font: 15px/1.5 "Noto Sans Devanagari", "Noto Sans", system-ui, sans-serif; margin: 2rem;
  background: var(--page); color: var(--text) }
h1 { overflow-wrap: anywhere }
.wide { overflow-x: auto; margin: 1rem 0 }
table { border-collapse: collapse }
td, th { padding: .3rem .7rem; text-align: left; vertical-align: top; border-bottom: 1px solid var(--line) }
tbody th, thead th { white-space: nowrap }
td.n { text-align: right; white-space: nowrap }
.about td, .differs td { overflow-wrap: anywhere }
.board td { white-space: nowrap }
.board td:first-child { position: sticky; left: 0; background: var(--page) }
.board caption { position: sticky; left: 0; max-width: calc(100vw - 5rem) }
.board sup { display: inline-block; max-width: 7rem; white-space: normal; line-height: 1.2; font-size: .7em }
caption { caption-side: bottom; text-align: left; padding: .5rem 0; color: var(--quiet) }
.groups thead th { white-space: normal; overflow-wrap: anywhere; min-width: 5rem; max-width: 9rem }
svg { display: block; width: 100%; min-width: 44rem; max-width: 60rem; height: auto }
svg text { fill: var(--text) }
svg line, svg polyline { stroke: var(--text); fill: none }
svg circle.best { fill: var(--best) } svg line.best, svg polyline.best { stroke: var(--best) }
svg circle.other { fill: var(--other) } svg line.other { stroke: var(--other) }
details { border-top: 1px solid var(--line); padding: .4rem 0 }
summary { cursor: pointer; overflow-wrap: anywhere }
.two { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 22rem), 1fr)); gap: 1.5rem }
blockquote { margin: .5rem 0; padding-left: .8rem; border-left: 3px solid var(--line);
  overflow-wrap: anywhere }
cite { color: var(--quiet); font-style: normal }
@media (max-width: 40rem) { body { margin: 1rem } }
@media print { .wide { overflow: visible } }
"""
