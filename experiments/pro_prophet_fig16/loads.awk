#!/usr/bin/awk -f
# Loads like those of Pro-Prophet's Fig. 3 as files that moe-tune --routing reads: loads.awk -v folder=FOLDER -v
# iterations="24 25" writes FOLDER/iteration-24.json and so on, a line for each layer. 12 layers, 16 experts, 16 ranks of
# 1024 tokens, one expert for each.
#
# In most layers of Fig. 3 the three hottest experts hold over 50% of the inputs, the three coldest less than 5%. That is a
# popularity of 1 / place^s with s of at least 1.1: here s goes from 1.1 to 1.6, with which the three hottest hold 0.58 to
# 0.76. Fig. 4 shows slight changes from one iteration to the next: here the logarithm of a popularity wanders by 0.1 about
# its mean and forgets a twentieth of where it was. Every token draws its expert.

function uniform() {
  seed = (16807 * seed) % 2147483647  # Park and Miller: exact in doubles
  return seed / 2147483647
}
function normal() { return sqrt(-2 * log(uniform())) * cos(6.283185307179586 * uniform()) }
function write_layer(layer, end,    e, r, t, x, sum, line, drawn) {
  for (e = 0; e < 16; ++e) {
    sum += exp(popular[layer, e] + 0.1 * wander[layer, e])
    up_to[e] = sum
  }
  line = "{\"layer\":" layer ",\"tokens\":["
  for (r = 0; r < 16; ++r) {
    split("", drawn)
    for (t = 0; t < 1024; ++t) {
      x = uniform() * sum
      for (e = 0; e < 15 && up_to[e] < x; ++e) {}
      ++drawn[e]
    }
    for (e = 0; e < 16; ++e) line = line (e ? "," : r ? ",[" : "[") drawn[e] + 0
    line = line "]"
  }
  print line "]}" end > file
}
BEGIN {
  seed = 20240101
  for (layer = 0; layer < 12; ++layer) {
    s = 1.1 + 0.5 * ((5 * layer) % 12) / 11
    for (e = 0; e < 16; ++e) place[e] = e
    for (e = 15; e > 0; --e) {
      other = int(uniform() * (e + 1))
      swap = place[e]
      place[e] = place[other]
      place[other] = swap
    }
    for (e = 0; e < 16; ++e) {
      popular[layer, e] = -s * log(place[e] + 1)
      wander[layer, e] = normal()
    }
  }
  asked = split(iterations, numbers, " ")
  for (i = 1; i <= asked; ++i) {
    wanted[numbers[i]] = 1
    if (numbers[i] > last) last = numbers[i]
  }
  for (iteration = 1; iteration <= last; ++iteration) {
    for (layer = 0; layer < 12; ++layer) {
      for (e = 0; e < 16; ++e) wander[layer, e] = 0.95 * wander[layer, e] + sqrt(1 - 0.95 * 0.95) * normal()
    }
    if (!(iteration in wanted)) continue
    file = folder "/iteration-" iteration ".json"
    print "{\"layers\": [" > file
    for (layer = 0; layer < 12; ++layer) write_layer(layer, layer < 11 ? "," : "")
    print "]}" > file
    close(file)
  }
}
