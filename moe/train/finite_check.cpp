#include "moe/train/finite_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "moe/communicator/ranks.h"
#include "moe/errors.h"
#include "moe/kernels/with_type.h"
#include "moe/model/iteration.h"

namespace moe {
namespace {

constexpr int kNowhere = std::numeric_limits<int>::max();
constexpr int kBefore = -1;  ///< a parameter, before the first op

/// The values of one tensor that are not finite.
struct Finding {
  int op = kNowhere;
  TensorId tensor = -1;
  std::int64_t count = 0, of = 0;    ///< values that are not finite, and all values
  std::int64_t row = 0, column = 0;  ///< the place of the first value that is not finite
  double value = 0;
};

template <class T>
void scan(std::span<const std::byte> bytes, std::int64_t columns, Finding& finding) {
  const auto* values = reinterpret_cast<const T*>(bytes.data());
  const auto size = static_cast<std::int64_t>(bytes.size() / sizeof(T));
  finding.of = size;
  for (std::int64_t i = 0; i < size; ++i) {
    if (std::isfinite(static_cast<double>(values[i]))) continue;
    if (finding.count++ > 0) continue;
    finding.row = i / columns;
    finding.column = i % columns;
    finding.value = static_cast<double>(values[i]);
  }
}

void scan(std::span<const std::byte> bytes, DType dtype, std::int64_t columns, Finding& finding) {
  if (dtype == DType::i32 || dtype == DType::remainder) return;
  with_type(dtype, [&](auto type) { scan<decltype(type)>(bytes, columns, finding); });
}

/// Checks every tensor as soon as it is whole: after the last of its slices or steps, before any op
/// reads that. A tensor with windows is checked slice by slice.
class Watch {
 public:
  Watch(const Program& program, Backend& backend, Finding& first)
      : program_(program), backend_(backend), first_(first) {
    for (const Op& op : program.ops) {
      for (const Use& use : op.writes) ++left_[held(use)];
    }
  }

  void after(const BoundOp& bound) {
    const std::lock_guard lock(mutex_);  // ops end on several streams
    const auto index = static_cast<int>(bound.op - program_.ops.data());
    for (std::size_t i = 0; i < bound.writes.size(); ++i) {
      const Use& use = bound.op->writes[i];
      // Slots for replicas may be empty; their parameters are checked at home.
      const Tensor& tensor = program_.tensors[use.tensor];
      if (bound.writes[i].dtype == DType::i32 || tensor.role == Role::replica) continue;
      if (--left_.at(held(use)) > 0) continue;
      if (tensor.pool == Pool::host) continue;
      if (index < first_.op) look(index, use.tensor, bound.writes[i], bound.op->stream);
    }
  }

 private:
  void look(int op, TensorId tensor, const View& view, Stream stream) {
    std::vector<std::byte> bytes(
        static_cast<std::size_t>(view.rows * view.columns * bytes_of(view.dtype)));
    backend_.download(bytes, static_cast<const std::byte*>(view.data), stream);
    Finding finding{op, tensor};
    scan(bytes, view.dtype, view.columns, finding);
    if (finding.count > 0) first_ = finding;
  }

  using Held = std::pair<TensorId, int>;  ///< a tensor, and the slice that its window holds
  Held held(const Use& use) const {
    const bool window = program_.tensors[use.tensor].windows > 1;
    return {use.tensor, window ? use.slice.index : 0};
  }

  const Program& program_;
  Backend& backend_;
  Finding& first_;
  std::mutex mutex_;
  std::map<Held, int> left_;  ///< the number of writes to come in this iteration
};

Finding look_at_parameters(const Runner& runner) {
  for (const Parameter& parameter : runner.program().parameters) {
    const Tensor& tensor = runner.program().tensors[parameter.value];
    std::vector<std::byte> bytes(
        static_cast<std::size_t>(tensor.rows * tensor.columns * bytes_of(tensor.dtype)));
    runner.read(parameter.value, bytes);
    Finding finding{kBefore, parameter.value};
    scan(bytes, tensor.dtype, tensor.columns, finding);
    if (finding.count > 0) return finding;
  }
  return {};
}

std::string in_layer(int layer) {
  return layer < 0 ? "outside the blocks" : fmt::format("in layer {}", layer);
}

/// A parameter's layer is that of its first reader.
int layer_of(const Program& program, TensorId parameter) {
  for (const Op& op : program.ops) {
    for (const Use& use : op.reads) {
      if (use.tensor == parameter) return op.layer;
    }
  }
  return -1;
}

std::string describe(const Program& program, const Finding& finding, int rank) {
  const std::string tensor =
      fmt::format("\"{}\" ({} of {} values, the first {} at row {}, column {})",
                  program.tensors[finding.tensor].name, finding.count, finding.of, finding.value,
                  finding.row, finding.column);
  if (finding.op == kBefore) {
    return fmt::format("it began before, rank {} {}: parameter {} was not finite already", rank,
                       in_layer(layer_of(program, finding.tensor)), tensor);
  }
  const Op& op = program.ops[finding.op];
  return fmt::format("it began on rank {} {}: {} wrote {}", rank, in_layer(op.layer), op.name,
                     tensor);
}

/// A place, and the words for it.
struct Begin {
  std::string text;
  Where where;
};

int layer_of(const Program& program, const Finding& finding) {
  return finding.op == kBefore ? layer_of(program, finding.tensor) : program.ops[finding.op].layer;
}

/// Where the first finding of all ranks is, in the order of the whole Program; for the same op,
/// that of the lowest rank.
Begin first_of_all(const Finding& mine, const Runner& runner, Communicator& world) {
  const bool found = mine.op != kNowhere;
  const std::int32_t place = !found || mine.op == kBefore ? mine.op : runner.whole_op(mine.op);
  std::vector<std::int32_t> places(static_cast<std::size_t>(world.size));
  const CallContext call{.what = "search for values that are not finite"};
  world.all_gather(&place, places.data(), 1, DType::i32, call);
  const auto texts =
      gather_texts(world, found ? describe(runner.program(), mine, world.rank) : "", call);
  std::int32_t layer = found ? layer_of(runner.program(), mine) : 0;
  std::vector<std::int32_t> layers(places.size());
  world.all_gather(&layer, layers.data(), 1, DType::i32, call);
  const auto first = std::min_element(places.begin(), places.end());
  if (*first == kNowhere) {
    return {"run again, every op of the forward pass wrote finite values", {}};
  }
  const auto rank = static_cast<std::size_t>(first - places.begin());
  return {texts[rank], {.layer = layers[rank], .rank = static_cast<int>(rank)}};
}

}  // namespace

void throw_not_finite(Runner& runner, Backend& backend, Communicator& world,
                      const std::string& what) {
  runner.reschedule(forward_only(runner.whole()));
  Finding mine = look_at_parameters(runner);
  runner.set_before_update({});
  Watch watch(runner.program(), backend, mine);
  runner.iterate_observed([&](const BoundOp& bound) { watch.after(bound); });
  const Begin begin = first_of_all(mine, runner, world);
  throw NotFinite(fmt::format("{}; {}", what, begin.text), begin.where);
}

}  // namespace moe
