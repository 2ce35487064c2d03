#!/usr/bin/awk -f
# Rows of experiments/reproduce as a picture: bars.awk ROWS > FIGURE.svg. Each quantity of a table has
# a panel with a scale of its own; each row has a bar for the paper's figure and one for ours.

BEGIN {
  FS = ","
  label_width = 430; bar_width = 380; line = 24; title = 30
}
FNR > 1 && $7 + 0 == $7 && $7 != "" {
  panel = $2 ": " $5
  if (!(panel in rows)) order[++panels] = panel
  at = ++rows[panel]
  label[panel, at] = $3 "; " $4
  paper[panel, at] = $6
  ours[panel, at] = $7
  if ($6 + 0 > largest[panel]) largest[panel] = $6 + 0
  if ($7 + 0 > largest[panel]) largest[panel] = $7 + 0
}
END {
  height = 24
  for (p = 1; p <= panels; ++p) height += title + line * rows[order[p]]
  width = label_width + bar_width + 80
  printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" font-size=\"11\">\n", width, height
  printf "<rect width=\"%d\" height=\"%d\" fill=\"#ffffff\"/>\n", width, height
  y = 16
  text(8, y, "#b0b0b0", "paper"); text(48, y, "#3465a4", "ours, simulated")
  for (p = 1; p <= panels; ++p) {
    panel = order[p]
    y += title
    printf "<text x=\"8\" y=\"%d\" font-weight=\"bold\" fill=\"#222222\">%s</text>\n", y - 4, escaped(panel)
    for (i = 1; i <= rows[panel]; ++i) {
      text(8, y + 13, "#222222", label[panel, i])
      if (paper[panel, i] != "-") bar(y + 2, "#c0c0c0", paper[panel, i], largest[panel])
      bar(y + 11, "#3465a4", ours[panel, i], largest[panel])
      y += line
    }
  }
  print "</svg>"
}
function escaped(words) {
  gsub(/&/, "\\&amp;", words); gsub(/</, "\\&lt;", words)
  return words
}
function text(x, y, fill, words) {
  printf "<text x=\"%d\" y=\"%d\" fill=\"%s\">%s</text>\n", x, y, fill, escaped(words)
}
function bar(y, fill, value, most,    length_) {
  length_ = most > 0 && value > 0 ? bar_width * value / most : 0
  printf "<rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"8\" fill=\"%s\"/>", label_width, y, length_, fill
  printf "<text x=\"%.1f\" y=\"%d\" font-size=\"9\" fill=\"#222222\">%s</text>\n", label_width + length_ + 4, y + 8, value
}
