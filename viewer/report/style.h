#pragma once

namespace viewer {

/// The style sheet of a report. Pictures are dark; on paper they are turned light, hues
/// kept, on pages of their own that are wider than high.
inline constexpr char kReportStyle[] = R"css(
:root {
  --paper: #fbfbfa; --card: #ffffff; --text: #1d2330; --muted: #5d6779; --line: #dfe3ea;
  --bar: #4f7fc4; --best: #2e9c74; --bound: #b0452f; --predicted: #1d2330;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #14171c; --card: #1a1e25; --text: #e4e8ee; --muted: #98a2b1; --line: #343b47;
    --bar: #4e78b4; --best: #3fa67f; --bound: #f07b6b; --predicted: #ffffff;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0; background: var(--paper); color: var(--text);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif;
}
main { max-width: 68rem; margin: 0 auto; padding: 2.5rem 1.5rem 4rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 .6rem; }
h2 { font-size: 1.2rem; margin: 2.4rem 0 .5rem; }
p { margin: 0 0 .7rem; max-width: 46rem; }
.over { color: var(--muted); font-size: .85rem; margin: 0 0 .3rem; }
.lead { font-size: 1.15rem; max-width: 46rem; }
.muted { color: var(--muted); }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.4rem, 1fr)); gap: .8rem;
  margin: 1.6rem 0 0; padding: 0; }
.figures div { background: var(--card); border: 1px solid var(--line); border-radius: .5rem;
  padding: .8rem 1rem; }
.figures dt { color: var(--muted); font-size: .82rem; line-height: 1.35; }
.figures .warns { border-color: var(--bound); }
.figures dd { margin: 0; font-size: 1.45rem; font-variant-numeric: tabular-nums; }
.bars { display: grid; grid-template-columns: minmax(8rem, 19rem) 1fr 5.5rem; gap: .45rem .9rem;
  align-items: center; }
.bars .name { overflow-wrap: anywhere; line-height: 1.3; font-size: .92rem; }
.bars .value { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.track { position: relative; height: 1.35rem; }
.track i { position: absolute; top: 0; bottom: 0; display: block; }
.track .bar { left: 0; background: var(--bar); border-radius: 0 .2rem .2rem 0; opacity: .85; }
.track .bar.best { background: var(--best); }
.track .spread { top: 50%; bottom: auto; height: 2px; margin-top: -1px; background: var(--text); }
.track .deviation { top: auto; bottom: 2px; height: 3px; background: var(--predicted);
  opacity: .45; }
.track .predicted { width: 3px; margin-left: -1.5px; background: var(--predicted);
  outline: 1px solid var(--paper); }
.track .bound { width: 0; border-left: 2px dashed var(--bound); }
.key { display: flex; flex-wrap: wrap; gap: .3rem 1.4rem; color: var(--muted); font-size: .85rem;
  margin: .9rem 0 0; }
.key i { display: inline-block; width: 1.1rem; height: .8rem; margin-right: .45rem;
  vertical-align: -.05rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: .88rem; width: 100%; }
th, td { padding: .38rem .7rem; border-bottom: 1px solid var(--line); text-align: right;
  white-space: nowrap; font-variant-numeric: tabular-nums; }
th { color: var(--muted); font-weight: 600; }
th:first-child, td:first-child { text-align: left; white-space: normal; min-width: 9rem;
  padding-left: 0; }
tr.best td { color: var(--best); font-weight: 600; }
figure { margin: 1.2rem 0 2rem; }
figure img { display: block; width: 100%; height: auto; border-radius: .5rem;
  border: 1px solid var(--line); }
figcaption { color: var(--muted); font-size: .9rem; margin-top: .5rem; max-width: 52rem; }
ul { padding-left: 1.1rem; max-width: 46rem; }
a { color: inherit; }
footer { margin-top: 3rem; padding-top: 1rem; border-top: 1px solid var(--line);
  color: var(--muted); font-size: .85rem; overflow-wrap: anywhere; }
@media screen and (max-width: 44rem) {
  main { padding: 1.4rem 1rem 3rem; }
  h1 { font-size: 1.5rem; }
  .lead { font-size: 1.05rem; }
  .figures { grid-template-columns: repeat(2, 1fr); gap: .6rem; }
  .figures dd { font-size: 1.2rem; }
  .bars { grid-template-columns: 1fr 5rem; gap: .1rem .7rem; }
  .bars .name { grid-column: 1 / -1; margin-top: .6rem; }
  thead { display: none; }
  tr { display: grid; grid-template-columns: repeat(3, 1fr); gap: .35rem .8rem; padding: .7rem 0;
    border-bottom: 1px solid var(--line); }
  td { display: block; padding: 0; border: 0; text-align: left; white-space: normal; }
  td:first-child { grid-column: 1 / -1; }
  td[data-name]::before { content: attr(data-name); display: block; color: var(--muted);
    font-size: .8rem; font-weight: 400; }
}
@media print {
  :root { --paper: #fff; --card: #fff; --text: #000; --muted: #444; --line: #bbb;
    --bar: #6f97d0; --best: #2e9c74; --bound: #b0452f; --predicted: #000; }
  @page { margin: 16mm 14mm; }
  html { font-size: 10pt; }
  body { font-size: 1rem; }
  main { max-width: none; padding: 0 1px; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  h2 { break-after: avoid; }
  p, .figures div, tr, .bars { break-inside: avoid; }
  .figures { grid-template-columns: repeat(3, 1fr); }
  @page pictures { size: landscape; }
  .pictures { page: pictures; }
  .pictures h2 { margin-top: 0; }
  figure { break-inside: avoid; margin: 0 0 6mm; }
  figure img { filter: invert(1) hue-rotate(180deg); max-height: 150mm; width: auto;
    max-width: 100%; }
  .scroll { overflow: visible; }
  table { font-size: 7.5pt; }
  th, td { padding: .2rem .3rem; }
}
)css";

}  // namespace viewer
