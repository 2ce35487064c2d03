#include "moe/program/work.h"

#include <algorithm>
#include <numeric>

namespace moe {
namespace {

template <class... Cases>
struct Overloaded : Cases... {
  using Cases::operator()...;
};

/// The sizes one op sees.
struct Sizes {
  const Program& program;
  const Op& op;
  const Binding& binding;

  const Tensor& tensor(const Use& use) const { return program.tensors[use.tensor]; }
  double rows(const Use& use) const {
    return static_cast<double>(rows_of(tensor(use), use.slice, binding));
  }
  double columns(const Use& use) const { return static_cast<double>(tensor(use).columns); }
  std::int64_t bytes(const Use& use) const {
    return rows_of(tensor(use), use.slice, binding) * tensor(use).columns *
           bytes_of(tensor(use).dtype);
  }
  std::int64_t all_bytes() const {
    std::int64_t total = 0;
    for (const Use& use : op.reads) total += bytes(use);
    for (const Use& use : op.writes) total += bytes(use);
    return total;
  }
  /// Multiply-adds of rows[n,I] times a matrix [I,O], counted as two.
  static double gemm(double n, double inner, double outer) { return 2 * n * inner * outer; }
};

std::int64_t group_size(const Groups& groups, GroupKind kind) {
  if (kind == GroupKind::world) return groups.ranks;
  return kind == GroupKind::expert ? groups.expert_ranks : groups.ranks / groups.expert_ranks;
}

/// Exchanged tensor of a layer's all-to-all: the one on this rank's sending side.
const RowLayout& layout_of(const Binding& binding, const Op& op) {
  return binding.layouts.at(op.layer);
}

std::int64_t reduced_bytes(const Sizes& sizes) {
  std::int64_t bytes = 0;
  for (const Use& use : sizes.op.writes) bytes += sizes.bytes(use);
  return bytes;
}

}  // namespace

Work work_of(const Program& program, const Op& op, const Binding& binding, const Groups& groups,
             int rank) {
  const Sizes sizes{program, op, binding};
  const auto in = [&](std::size_t i) { return op.reads[i]; };
  const auto out = [&](std::size_t i) { return op.writes[i]; };
  const auto moved = [&](double flops_per_element) {
    return Work{sizes.rows(out(0)) * sizes.columns(out(0)) * flops_per_element, sizes.all_bytes(),
                0, 1};
  };
  // Rows gathered or scattered by token: what is touched is the rows moved, not the whole source.
  const auto gathered = [&](const Use& rows) { return Work{0, 2 * sizes.bytes(rows), 0, 1}; };
  const auto attention = [&](int heads, std::int64_t length, const Use& qkv, double gemms) {
    const double width = sizes.columns(qkv) / 3;
    // Causal: half of every L x L product.
    const double flops = gemms * sizes.rows(qkv) * static_cast<double>(length) * width;
    const auto sequences = static_cast<std::int64_t>(sizes.rows(qkv)) / length;
    return Work{flops, sizes.all_bytes(), 0, static_cast<std::int64_t>(gemms) * sequences * heads};
  };
  const auto communication = [&] {
    const std::vector<std::int64_t> out_bytes = bytes_to_peers(program, op, binding, groups, rank);
    Work work;
    for (const std::int64_t bytes : out_bytes) work.wire_bytes += bytes;
    work.calls = static_cast<std::int64_t>(
        std::count_if(out_bytes.begin(), out_bytes.end(), [](std::int64_t b) { return b > 0; }));
    return work;
  };

  return std::visit(
      Overloaded{
          [&](const EmbedTokens&) { return gathered(out(0)); },
          [&](const EmbedTokensGradient&) {
            return Work{0, sizes.bytes(in(1)) + sizes.bytes(out(0)) + sizes.bytes(out(1)), 0, 1};
          },
          [&](const LayerNorm&) { return moved(8); },
          [&](const LayerNormInputGradient&) { return moved(12); },
          [&](const LayerNormWeightGradient&) {
            return Work{4 * sizes.rows(in(0)) * sizes.columns(in(0)), sizes.all_bytes(), 0, 1};
          },
          [&](const Linear&) {
            return Work{Sizes::gemm(sizes.rows(in(0)), sizes.columns(in(0)), sizes.columns(out(0))),
                        sizes.all_bytes(), 0, 1};
          },
          [&](const LinearInputGradient&) {
            return Work{Sizes::gemm(sizes.rows(in(0)), sizes.columns(in(0)), sizes.columns(out(0))),
                        sizes.all_bytes(), 0, 1};
          },
          [&](const LinearWeightGradient&) {
            return Work{Sizes::gemm(sizes.rows(in(0)), sizes.columns(in(0)), sizes.columns(in(1))),
                        sizes.all_bytes(), 0, 1};
          },
          [&](const Attention& kind) {
            return attention(kind.heads, kind.sequence_length, in(0), 2);
          },
          [&](const AttentionGradient& kind) {
            return attention(kind.heads, kind.sequence_length, in(1), 4);
          },
          [&](const Add&) { return moved(1); },
          [&](const Gelu&) { return moved(15); },
          [&](const GeluGradient&) { return moved(25); },
          [&](const Gate&) { return moved(10); },
          [&](const GateGradient&) { return moved(8); },
          [&](const LoadBalancingLoss&) {
            return Work{2 * sizes.rows(in(0)) * sizes.columns(in(0)), sizes.all_bytes(), 0, 1};
          },
          [&](const ExchangeCounts&) { return communication(); },
          [&](const Permute&) { return gathered(out(0)); },
          [&](const PermuteGradient&) { return moved(1); },
          [&](const AllToAll&) { return communication(); },
          [&](const ExpertLinear& kind) {
            return Work{Sizes::gemm(sizes.rows(in(0)), sizes.columns(in(0)), sizes.columns(out(0))),
                        sizes.all_bytes(), 0, kind.local_experts};
          },
          [&](const ExpertLinearInputGradient& kind) {
            return Work{Sizes::gemm(sizes.rows(in(0)), sizes.columns(in(0)), sizes.columns(out(0))),
                        sizes.all_bytes(), 0, kind.local_experts};
          },
          [&](const ExpertLinearWeightGradient& kind) {
            const std::int64_t reread =
                kind.accumulate ? sizes.bytes(out(0)) + sizes.bytes(out(1)) : 0;
            return Work{Sizes::gemm(sizes.rows(in(0)), sizes.columns(in(0)), sizes.columns(in(1))),
                        sizes.all_bytes() + reread, 0, kind.local_experts};
          },
          [&](const Combine&) { return moved(2); },
          [&](const CombineInputGradient&) { return gathered(out(0)); },
          [&](const CombineWeightGradient&) {
            return Work{2 * sizes.rows(in(1)) * sizes.columns(in(1)), sizes.all_bytes(), 0, 1};
          },
          [&](const CrossEntropy&) {
            return Work{6 * sizes.rows(in(0)) * sizes.columns(in(0)), sizes.all_bytes(), 0, 1};
          },
          [&](const CrossEntropyGradient&) { return moved(6); },
          [&](const AllReduce&) { return communication(); },
          // The parameter and the moments are read as well as written.
          [&](const AdamStep&) {
            Work work = moved(12);
            for (const Use& use : op.writes) work.memory_bytes += sizes.bytes(use);
            return work;
          },
          [&](const SgdStep&) {
            Work work = moved(4);
            for (const Use& use : op.writes) work.memory_bytes += sizes.bytes(use);
            return work;
          },
      },
      op.kind);
}

std::vector<std::int64_t> bytes_to_peers(const Program& program, const Op& op,
                                         const Binding& binding, const Groups& groups, int rank) {
  const Sizes sizes{program, op, binding};
  return std::visit(Overloaded{
                        [&](const AllToAll& kind) {
                          const RowLayout& layout = layout_of(binding, op);
                          const Use& from = op.reads[0];
                          const std::int64_t row_bytes =
                              sizes.tensor(from).columns * bytes_of(sizes.tensor(from).dtype);
                          std::vector<std::int64_t> bytes(layout.sent.size());
                          for (const Segment& segment : kind.direction == Direction::dispatch
                                                            ? sent_segments(layout, from.slice)
                                                            : received_segments(layout, from.slice))
                            if (segment.peer != layout.self)
                              bytes[segment.peer] += segment.rows * row_bytes;
                          return bytes;
                        },
                        [&](const AllReduce& kind) {
                          const std::int64_t n = group_size(groups, kind.group);
                          std::vector<std::int64_t> bytes(n);
                          if (n > 1)
                            bytes[(index_in_group(groups, kind.group, rank) + 1) % n] =
                                2 * (n - 1) * reduced_bytes(sizes) / n;
                          return bytes;
                        },
                        [&](const ExchangeCounts& kind) {
                          // All-gather of kept and asked-for copies: everyone's go to everyone.
                          std::vector<std::int64_t> bytes(groups.ranks,
                                                          2 * kind.experts * bytes_of(DType::i32));
                          bytes[rank] = 0;
                          return bytes;
                        },
                        [](const auto&) { return std::vector<std::int64_t>{}; },
                    },
                    op.kind);
}

}  // namespace moe
