#!/usr/bin/awk -f
# The share of force-balanced throughput of every rule by loads, ranks and cluster: awk -f picture.awk simulated.csv > picture.svg
function text(x, y, words, how) {
  printf "<text x=\"%d\" y=\"%d\" %s>%s</text>\n", x, y, how, words
}
# From red at 0.2 to green at 1.
function color(share,    at) {
  at = (share - 0.2) / 0.8
  at = at < 0 ? 0 : at > 1 ? 1 : at
  return sprintf("#%02x%02x%02x", 235 - 140 * at, 110 + 90 * at, 95 + 15 * at)
}
BEGIN { FS = "," }
FNR > 1 {
  place = $2 " ranks of " $1
  if (!(place in seen_place)) { seen_place[place] = 1; places[++n_places] = place }
  if (!($3 in seen_loads)) { seen_loads[$3] = 1; loads[++n_loads] = $3 }
  if (!($4 in seen_rule)) { seen_rule[$4] = 1; rules[++n_rules] = $4 }
  share[place, $3, $4] = $7
}
END {
  label = 96; cell = 62; line = 20; head = 46; across = 2
  panel_width = label + cell * n_loads + 24; panel_height = head + line * n_rules + 14
  rows = int((n_places + across - 1) / across)
  printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" font-size=\"11\">\n", across * panel_width, rows * panel_height + 8
  printf "<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n", across * panel_width, rows * panel_height + 8
  for (p = 1; p <= n_places; ++p) {
    left = ((p - 1) % across) * panel_width; top = int((p - 1) / across) * panel_height
    text(left + 8, top + 18, places[p], "font-weight=\"bold\" fill=\"#222222\"")
    for (l = 1; l <= n_loads; ++l) text(left + label + cell * (l - 0.5), top + 38, loads[l], "text-anchor=\"middle\" fill=\"#555555\"")
    for (r = 1; r <= n_rules; ++r) {
      y = top + head + line * (r - 1)
      text(left + 8, y + 14, rules[r], "fill=\"#222222\"")
      for (l = 1; l <= n_loads; ++l) {
        if (!((places[p], loads[l], rules[r]) in share)) continue
        value = share[places[p], loads[l], rules[r]]
        printf "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\"/>\n", left + label + cell * (l - 1), y, cell - 2, line - 2, color(value)
        text(left + label + cell * (l - 0.5), y + 14, sprintf("%.2f", value), "text-anchor=\"middle\" fill=\"#111111\"")
      }
    }
  }
  print "</svg>"
}
