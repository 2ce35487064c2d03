#include "tests/viewer/synthetic_timeline.h"

#include <algorithm>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "tests/db/timeline/lanes.h"

namespace viewer {

namespace {

constexpr double kTokens = 2048, kWidth = 512, kHidden = 2048;
constexpr double kFlopsPerSecond = 180e9;
constexpr double kBytesPerSecond = 12e9;  // of memory

struct Op {
  db::TimelineOp row;
  std::vector<int> after;
  double seconds = 0;
  double bytes = 0;
  double flops = 0;
  bool collective = false;
  bool uneven = false;  // an expert's work differs from rank to rank
};

class Step {
 public:
  explicit Step(const StepShape& shape) : shape_(shape) {}

  std::vector<Op> build() {
    int last = copy("copy batch", {});
    last = elementwise("embed_tokens", "token embedding", -1, "forward", {last});
    for (int layer = 0; layer < shape_.layers; ++layer) last = forward_layer(layer, last);
    last = elementwise("layer_norm", "final layer_norm", -1, "forward", {last});
    last = gemm("linear", "head", -1, "forward", {last}, 256, kWidth);
    last = elementwise("cross_entropy", "loss", -1, "forward", {last});
    last = elementwise("cross_entropy_gradient", "loss", -1, "backward", {last});
    last = gemm("linear_input_gradient", "head dX", -1, "backward", {last}, 256, kWidth);
    for (int layer = shape_.layers - 1; layer >= 0; --layer) last = backward_layer(layer, last);
    for (std::size_t i = 0; i < reduced_.size(); ++i) {
      const int layer = shape_.layers - 1 - static_cast<int>(i);
      elementwise("adam_step", "adam", layer, "update", {last, reduced_[i]}, 4);
    }
    host("read next batch");
    return std::move(ops_);
  }

 private:
  int add(Op op, const std::string& kind, const std::string& name, const std::string& stream,
          int layer, const std::string& phase, std::vector<int> after, int chunk = 0,
          int chunks = 1) {
    op.row = {0,
              static_cast<int>(ops_.size()),
              name,
              kind,
              db::activity_of_stream(stream),
              stream,
              phase,
              layer,
              chunk,
              chunks};
    op.after = std::move(after);
    ops_.push_back(std::move(op));
    return static_cast<int>(ops_.size()) - 1;
  }

  int elementwise(const std::string& kind, const std::string& name, int layer,
                  const std::string& phase, std::vector<int> after, double passes = 2,
                  int chunk = 0, int chunks = 1) {
    Op op;
    op.bytes = passes * kTokens * kWidth * 4 / chunks;
    op.seconds = 15e-6 + op.bytes / kBytesPerSecond;
    return add(op, kind, name, "compute", layer, phase, std::move(after), chunk, chunks);
  }

  int gemm(const std::string& kind, const std::string& name, int layer, const std::string& phase,
           std::vector<int> after, double in, double out, int chunk = 0, int chunks = 1) {
    Op op;
    op.flops = 2 * kTokens * in * out / chunks;
    op.bytes = 4 * (kTokens * (in + out) / chunks + in * out);
    op.seconds = 20e-6 + op.flops / kFlopsPerSecond;
    op.uneven = kind.starts_with("expert");
    return add(op, kind, name, "compute", layer, phase, std::move(after), chunk, chunks);
  }

  int communicate(const std::string& kind, const std::string& name, const std::string& stream,
                  int layer, const std::string& phase, std::vector<int> after, double bytes,
                  double bytes_per_second, int chunk = 0, int chunks = 1) {
    Op op;
    op.bytes = bytes / chunks;
    op.seconds = 60e-6 + op.bytes / bytes_per_second;
    op.collective = true;
    return add(op, kind, name, stream, layer, phase, std::move(after), chunk, chunks);
  }

  int all_to_all(const std::string& direction, int layer, const std::string& phase, int after,
                 int chunk, int chunks) {
    const double bytes = kTokens * kWidth * 4;
    const double expert_s = 2 * 2 * kTokens * kWidth * kHidden / kFlopsPerSecond;
    const double rate = bytes / (expert_s / 2 * shape_.all_to_all_scale);
    const int inter = communicate("all_to_all", "all_to_all " + direction, "inter_node", layer,
                                  phase, {after}, bytes, rate, chunk, chunks);
    if (!shape_.intra_node) return inter;
    return communicate("all_to_all", "all_to_all " + direction + " in node", "intra_node", layer,
                       phase, {inter}, bytes, rate * 3, chunk, chunks);
  }

  int copy(const std::string& name, std::vector<int> after) {
    Op op;
    op.bytes = kTokens * 4;
    op.seconds = 180e-6;
    return add(op, "copy", name, "copy", -1, "forward", std::move(after));
  }

  void host(const std::string& name) {
    Op op;
    op.seconds = 2.4e-3;
    add(op, "host", name, "host", -1, "forward", {});
  }

  int forward_layer(int layer, int last) {
    const int norm = elementwise("layer_norm", "attention layer_norm", layer, "forward", {last});
    const int qkv = gemm("linear", "attention qkv", layer, "forward", {norm}, kWidth, 3 * kWidth);
    const int attention = gemm("attention", "attention", layer, "forward", {qkv}, kWidth, 512);
    const int output =
        gemm("linear", "attention output", layer, "forward", {attention}, kWidth, kWidth);
    const int sum = elementwise("add", "residual", layer, "forward", {output, last}, 3);
    const int second = elementwise("layer_norm", "ffn layer_norm", layer, "forward", {sum});
    const int ffn = layer % 2 == 1 ? forward_experts(layer, second) : forward_dense(layer, second);
    return elementwise("add", "residual", layer, "forward", {ffn, sum}, 3);
  }

  int forward_dense(int layer, int last) {
    const int up = gemm("linear", "ffn up", layer, "forward", {last}, kWidth, kHidden);
    const int gelu = elementwise("gelu", "gelu", layer, "forward", {up}, 8);
    return gemm("linear", "ffn down", layer, "forward", {gelu}, kHidden, kWidth);
  }

  int forward_experts(int layer, int last) {
    const int logits = gemm("linear", "gate logits", layer, "forward", {last}, kWidth, 16);
    const int gate = elementwise("gate", "gate", layer, "forward", {logits}, 0.5);
    const int counts = communicate("exchange_counts", "exchange_counts", "inter_node", layer,
                                   "forward", {gate}, 1024, 1e9);
    const int chunks = shape_.forward_chunks;
    std::vector<int> dispatched, returned;
    for (int c = 0; c < chunks; ++c) {
      const int sent = elementwise("permute", "permute", layer, "forward", {counts}, 2, c, chunks);
      dispatched.push_back(all_to_all("dispatch", layer, "forward", sent, c, chunks));
    }
    for (int c = 0; c < chunks; ++c) {
      const int up = gemm("expert_linear", "expert up", layer, "forward",
                          {dispatched[static_cast<std::size_t>(c)]}, kWidth, kHidden, c, chunks);
      const int gelu = elementwise("gelu", "expert gelu", layer, "forward", {up}, 8, c, chunks);
      const int down = gemm("expert_linear", "expert down", layer, "forward", {gelu}, kHidden,
                            kWidth, c, chunks);
      returned.push_back(all_to_all("combine", layer, "forward", down, c, chunks));
    }
    return elementwise("combine", "combine", layer, "forward", returned, 3);
  }

  // dX first, dW after it: the order of a plain schedule.
  int linear_backward(const std::string& name, int layer, int last, double in, double out) {
    const int dx = gemm("linear_input_gradient", name + " dX", layer, "backward", {last}, in, out);
    gemm("linear_weight_gradient", name + " dW", layer, "backward", {last}, in, out);
    return dx;
  }

  int backward_layer(int layer, int last) {
    const int ffn = layer % 2 == 1 ? backward_experts(layer, last) : backward_dense(layer, last);
    const int norm =
        elementwise("layer_norm_input_gradient", "ffn layer_norm dX", layer, "backward", {ffn}, 3);
    const int output = linear_backward("attention output", layer, norm, kWidth, kWidth);
    const int attention =
        gemm("attention_gradient", "attention", layer, "backward", {output}, kWidth, 1024);
    const int qkv = linear_backward("attention qkv", layer, attention, kWidth, 3 * kWidth);
    const int done = elementwise("layer_norm_input_gradient", "attention layer_norm dX", layer,
                                 "backward", {qkv}, 3);
    reduced_.push_back(communicate("all_reduce", "all_reduce gradients", "inter_node", layer,
                                   "backward", {done}, 4 * kWidth * kWidth * 4, 4e9));
    return done;
  }

  int backward_dense(int layer, int last) {
    const int down = linear_backward("ffn down", layer, last, kHidden, kWidth);
    const int gelu = elementwise("gelu_gradient", "gelu", layer, "backward", {down}, 8);
    return linear_backward("ffn up", layer, gelu, kWidth, kHidden);
  }

  int backward_experts(int layer, int last) {
    const int chunks = shape_.backward_chunks;
    std::vector<int> dispatched, returned;
    for (int c = 0; c < chunks; ++c) {
      const int sent = elementwise("combine_input_gradient", "combine dX", layer, "backward",
                                   {last}, 2, c, chunks);
      dispatched.push_back(all_to_all("dispatch", layer, "backward", sent, c, chunks));
    }
    for (int c = 0; c < chunks; ++c) {
      const int in = dispatched[static_cast<std::size_t>(c)];
      const int down = gemm("expert_linear_input_gradient", "expert down dX", layer, "backward",
                            {in}, kHidden, kWidth, c, chunks);
      const int gelu =
          elementwise("gelu_gradient", "expert gelu", layer, "backward", {down}, 8, c, chunks);
      const int up = gemm("expert_linear_input_gradient", "expert up dX", layer, "backward", {gelu},
                          kWidth, kHidden, c, chunks);
      returned.push_back(all_to_all("combine", layer, "backward", up, c, chunks));
      gemm("expert_linear_weight_gradient", "expert down dW", layer, "backward", {in}, kHidden,
           kWidth, c, chunks);
      gemm("expert_linear_weight_gradient", "expert up dW", layer, "backward", {gelu}, kWidth,
           kHidden, c, chunks);
    }
    const int back = elementwise("permute_gradient", "permute", layer, "backward", returned);
    const int gate = elementwise("gate_gradient", "gate", layer, "backward", {back}, 0.5);
    return linear_backward("gate logits", layer, gate, kWidth, 16);
  }

  StepShape shape_;
  std::vector<Op> ops_;
  std::vector<int> reduced_;
};

}  // namespace

SyntheticStep make_step(const StepShape& shape) {
  const std::vector<Op> ops = Step(shape).build();
  const auto ranks = static_cast<std::size_t>(shape.ranks);
  std::mt19937 random(shape.seed);
  std::normal_distribution<double> spread(0, 1);

  SyntheticStep step;
  std::map<std::pair<std::size_t, std::string>, double> free_s;  // (rank, stream) -> its last end
  std::vector<std::vector<double>> end_s(ops.size(), std::vector<double>(ranks));
  std::vector<double> ready_s(ranks);
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const Op& op = ops[i];
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      ready_s[rank] = free_s[{rank, op.row.stream}];
      for (const int before : op.after) {
        ready_s[rank] = std::max(ready_s[rank], end_s[static_cast<std::size_t>(before)][rank]);
      }
    }
    const double together_s = *std::max_element(ready_s.begin(), ready_s.end());
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      double seconds = op.seconds * (1 + shape.jitter * std::abs(spread(random)));
      if (op.uneven) seconds *= 0.75 + 0.5 * static_cast<double>((rank + 1) % ranks) / shape.ranks;
      // A measured collective begins on each rank when that is ready, and waits for the others.
      const bool waits = op.collective && shape.jitter > 0;
      const double start = op.collective && !waits ? together_s : ready_s[rank];
      const double waiting_s = waits ? together_s - start : 0;
      end_s[i][rank] = free_s[{rank, op.row.stream}] = start + waiting_s + seconds;
      db::Span span{0,       static_cast<int>(rank), op.row.op,
                    start,   waiting_s + seconds,    static_cast<std::int64_t>(op.bytes),
                    op.flops};
      if (op.collective) span.waiting_s = waiting_s;
      step.spans.push_back(span);
      step.duration_s = std::max(step.duration_s, end_s[i][rank]);
    }
    step.ops.push_back(op.row);
    if (op.collective) step.ops.back().group_kind = "expert";
    for (const int before : op.after) step.edges.push_back({0, op.row.op, before});
  }
  for (int rank = 0; rank < shape.ranks; ++rank) step.groups.push_back({0, "expert", rank, 0});
  std::sort(step.spans.begin(), step.spans.end(), [](const db::Span& a, const db::Span& b) {
    return std::pair(a.rank, a.start_s) < std::pair(b.rank, b.start_s);
  });
  return step;
}

}  // namespace viewer
