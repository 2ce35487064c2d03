#include "tuner/planners/micro_batch_order/stage_cuts.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <limits>
#include <utility>

#include "tuner/planners/situation/situation_costs.h"

namespace tuner {
namespace {

/// [chunk]: the number of its blocks, such that the cost of all chunks, put together by `join`, is
/// least. cost(begin, end) is that of a chunk of blocks [begin, end), infinite where it may not be.
std::vector<int> best_cuts(std::size_t blocks, std::size_t chunks,
                           const std::function<double(std::size_t, std::size_t)>& cost,
                           const std::function<double(double, double)>& join) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  // [chunks so far][blocks in them]
  std::vector<std::vector<double>> least(chunks + 1, std::vector<double>(blocks + 1, kNever));
  std::vector<std::vector<std::size_t>> begin(chunks + 1, std::vector<std::size_t>(blocks + 1, 0));
  least[0][0] = 0;
  for (std::size_t chunk = 1; chunk <= chunks; ++chunk) {
    for (std::size_t end = chunk; end <= blocks; ++end) {
      // The last chunk from short to long, so that of equal cuts the first chunks are longer.
      for (std::size_t from = end; from-- > chunk - 1;) {
        const double all = join(least[chunk - 1][from], cost(from, end));
        if (all >= least[chunk][end]) continue;
        least[chunk][end] = all;
        begin[chunk][end] = from;
      }
    }
  }
  std::vector<int> counts(chunks);
  for (std::size_t chunk = chunks, end = blocks; chunk > 0; end = begin[chunk--][end]) {
    counts[chunk - 1] = static_cast<int>(end - begin[chunk][end]);
  }
  return counts;
}

}  // namespace

BlockSeconds block_seconds(const Situation& situation) {
  const auto [program, seconds] = timed(situation, {});
  BlockSeconds result;
  for (std::size_t i = 0; i < program.ops.size(); ++i) {
    const moe::Op& op = program.ops[i];
    if (moe::comes_once(op) || std::holds_alternative<moe::PassOn>(op.kind)) continue;
    if (op.layer < 0) {
      (op.stage == 0 ? result.first : result.last) += seconds[i];
      continue;
    }
    const auto block = static_cast<std::size_t>(op.layer);
    if (block >= result.blocks.size()) result.blocks.resize(block + 1);
    result.blocks[block] += seconds[i];
  }
  return result;
}

std::vector<int> cuts_by_time(const BlockSeconds& seconds, int chunks) {
  const std::size_t blocks = seconds.blocks.size();
  std::vector<double> before(blocks + 1, seconds.first);  // of the blocks before, and the first
  for (std::size_t block = 0; block < blocks; ++block) {
    before[block + 1] = before[block] + seconds.blocks[block];
  }
  const auto time = [&](std::size_t begin, std::size_t end) {
    return before[end] - (begin == 0 ? 0 : before[begin]) + (end == blocks ? seconds.last : 0);
  };
  const auto count = static_cast<std::size_t>(chunks);
  const std::vector<int> fullest =
      best_cuts(blocks, count, time, [](double a, double b) { return std::max(a, b); });
  double limit = 0;
  std::size_t begin = 0;
  for (const int of_chunk : fullest) {
    const std::size_t end = begin + static_cast<std::size_t>(of_chunk);
    limit = std::max(limit, time(begin, end));
    begin = end;
  }
  constexpr double kRounding = 1e-9;
  return best_cuts(
      blocks, count,
      [&](std::size_t from, std::size_t end) {
        const double all = time(from, end);
        return all > limit * (1 + kRounding) ? std::numeric_limits<double>::infinity() : all * all;
      },
      std::plus<double>());
}

std::vector<int> cuts_of_stages(const BlockSeconds& seconds, int stages, int chunks) {
  std::vector<int> cuts = cuts_by_time(seconds, chunks);
  if (chunks == stages) return cuts;
  const auto rank = [&](const std::vector<int>& tried) {
    std::vector<double> of_stage(static_cast<std::size_t>(stages), 0);
    double squares = 0;
    std::size_t block = 0;
    for (std::size_t chunk = 0; chunk < tried.size(); ++chunk) {
      double all = chunk == 0 ? seconds.first : 0;
      for (int i = 0; i < tried[chunk]; ++i) all += seconds.blocks[block++];
      if (chunk + 1 == tried.size()) all += seconds.last;
      of_stage[chunk % of_stage.size()] += all;
      squares += all * all;
    }
    return std::pair(std::ranges::max(of_stage), squares);
  };
  constexpr double enough = 1 - 1e-6;  // so that rounding ends it
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t chunk = 0; chunk + 1 < cuts.size(); ++chunk) {
      for (const int more : {1, -1}) {
        std::vector<int> tried = cuts;
        tried[chunk] += more;
        tried[chunk + 1] -= more;
        if (tried[chunk] < 1 || tried[chunk + 1] < 1) continue;
        const auto [fullest, squares] = rank(cuts);
        const auto [other, other_squares] = rank(tried);
        if (other > fullest * enough && (other > fullest || other_squares > squares * enough)) {
          continue;
        }
        cuts = std::move(tried);
        moved = true;
      }
    }
  }
  return cuts;
}

std::vector<int> equal_cuts(int blocks, int chunks) {
  std::vector<int> counts(static_cast<std::size_t>(chunks));
  for (int block = 0; block < blocks; ++block) {
    ++counts[static_cast<std::size_t>(std::int64_t{block} * chunks / blocks)];
  }
  return counts;
}

moe::PlaceBlocks chunks_in_turn(const std::vector<int>& blocks_of_chunks, int stages) {
  moe::PlaceBlocks placing;
  for (std::size_t chunk = 0; chunk < blocks_of_chunks.size(); ++chunk) {
    placing.stages.insert(placing.stages.end(), static_cast<std::size_t>(blocks_of_chunks[chunk]),
                          static_cast<int>(chunk) % stages);
  }
  return placing;
}

}  // namespace tuner
