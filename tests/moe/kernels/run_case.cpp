#include "tests/moe/kernels/run_case.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>
#include <stdexcept>

#include "moe/kernels/bf16.h"
#include "moe/memory/memory_plan.h"

namespace moe::test {
namespace {

constexpr double kBlank = -64;

template <class T>
std::vector<std::byte> to_bytes(const std::vector<double>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  for (std::size_t i = 0; i < values.size(); ++i) {
    const T value = static_cast<T>(static_cast<Wide<T>>(values[i]));
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
  return bytes;
}

std::vector<std::byte> to_bytes(const std::vector<double>& values, DType dtype) {
  switch (dtype) {
    case DType::f32:
      return to_bytes<float>(values);
    case DType::f64:
      return to_bytes<double>(values);
    case DType::bf16:
      return to_bytes<Bf16>(values);
    case DType::i32:
      return to_bytes<std::int32_t>(values);
    case DType::remainder:
      return to_bytes<Bf16Remainder>(values);
  }
  throw std::logic_error("to_bytes: no such dtype");
}

/// The types of the reads and then of the writes of a case whose activations are stored in
/// `stored`.
std::vector<DType> types_of(const KernelCase& kernel, DType stored) {
  const Op op{kernel.kind, {}, {}, kernel.name};
  const OpFacts& facts = facts_of(op);
  std::vector<DType> types;
  const auto add = [&](const std::vector<HostTensor>& tensors, const Operands& operands) {
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      const bool wide = operands.kept(i) == Kept::wide;
      types.push_back(tensors[i].integer     ? DType::i32
                      : tensors[i].remainder ? DType::remainder
                      : wide                 ? wide_of(stored)
                                             : stored);
    }
  };
  add(kernel.reads, facts.reads);
  add(kernel.writes, facts.writes);
  return types;
}

template <class T>
void from_bytes(const std::vector<std::byte>& bytes, std::vector<double>& values) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    values[i] = static_cast<double>(value);
  }
}

std::int64_t padded_bytes(const HostTensor& tensor) {
  const auto bytes = static_cast<std::int64_t>(tensor.values.size() * sizeof(double));
  return (bytes + kAlignment - 1) / kAlignment * kAlignment + kAlignment;
}

/// The masters that the values of a parameter make with their remainders.
std::vector<double> masters(const std::vector<double>& values,
                            const std::vector<std::byte>& remainders) {
  std::vector<double> all(values.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    Bf16Remainder remainder;
    std::memcpy(&remainder, remainders.data() + i * sizeof remainder, sizeof remainder);
    all[i] = float_of(Bf16(static_cast<float>(values[i])), remainder);
  }
  return all;
}

/// The rows of a part of the batch, of operands that are cut along it.
void cut_views(std::vector<View>& views, const Operands& operands, Slice part) {
  for (std::size_t i = 0; i < views.size(); ++i) {
    if (operands.at(i) != Cut::rows && operands.at(i) != Cut::tokens) continue;
    View& view = views[i];
    const std::int64_t begin = slice_begin(view.rows, part);
    view.data = static_cast<std::byte*>(view.data) + begin * view.columns * bytes_of(view.dtype);
    view.rows = slice_end(view.rows, part) - begin;
  }
}

}  // namespace

std::vector<HostTensor> run_case(Backend& backend, const KernelCase& kernel, DType real) {
  std::vector<HostTensor> tensors = kernel.reads;
  tensors.insert(tensors.end(), kernel.writes.begin(), kernel.writes.end());
  std::int64_t bytes = 0;
  for (const HostTensor& tensor : tensors) bytes += padded_bytes(tensor);
  std::byte* at = backend.arena(bytes);

  const std::vector<DType> types = types_of(kernel, real);
  std::vector<View> views;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const HostTensor& tensor = tensors[i];
    if (static_cast<std::int64_t>(tensor.values.size()) != tensor.rows * tensor.columns) {
      throw std::logic_error(kernel.name + ": values do not fill a tensor");
    }
    backend.upload(at, to_bytes(tensor.values, types[i]), Stream::compute);
    views.push_back({at, types[i], tensor.rows, tensor.columns});
    at += padded_bytes(tensor);
  }
  const auto middle = views.begin() + static_cast<std::ptrdiff_t>(kernel.reads.size());
  for (const Step& step : kernel.steps) {
    Op op{kernel.kind, {}, {}, kernel.name};
    op.chunk = step.chunk;
    op.part = step.part;
    BoundOp bound{&op, {views.begin(), middle}, {middle, views.end()}, step.ranges};
    if (!is_whole(step.part)) {
      cut_views(bound.reads, facts_of(op).reads, step.part);
      cut_views(bound.writes, facts_of(op).writes, step.part);
    }
    // As accumulating() in op.h makes of uses.
    std::visit(
        [&](auto& kind) {
          if constexpr (requires { kind.accumulate; }) {
            kind.accumulate = step.accumulate;
            for (std::size_t i = 0; i < bound.writes.size() && step.accumulate; ++i) {
              if (kind.facts.writes.at(i) == Cut::sum) bound.reads.push_back(bound.writes[i]);
            }
          }
        },
        op.kind);
    if (bound.ranges.empty()) bound.ranges = {{0, bound.reads[0].rows}};
    backend.execute(bound);
  }
  std::vector<HostTensor> results = kernel.writes;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const View& view = *(middle + static_cast<std::ptrdiff_t>(i));
    std::vector<std::byte> host(results[i].values.size() * bytes_of(view.dtype));
    backend.download(host, static_cast<const std::byte*>(view.data), Stream::compute);
    if (view.dtype == DType::f64) from_bytes<double>(host, results[i].values);
    if (view.dtype == DType::f32) from_bytes<float>(host, results[i].values);
    if (view.dtype == DType::bf16) from_bytes<Bf16>(host, results[i].values);
    if (view.dtype == DType::i32) from_bytes<std::int32_t>(host, results[i].values);
    if (view.dtype == DType::remainder) results[i].values = masters(results[0].values, host);
  }
  return results;
}

KernelCase with_remainder(KernelCase kernel) {
  const std::size_t states = std::holds_alternative<AdamStep>(kernel.kind)  ? 2
                             : std::holds_alternative<SgdStep>(kernel.kind) ? 1
                                                                            : 0;
  if (states == 0) return kernel;
  HostTensor remainder = kernel.writes[0];
  remainder.remainder = true;
  const std::size_t place = 3 + states;  // of reads, where a case names the states
  if (kernel.reads.size() >= place) {
    kernel.reads.insert(kernel.reads.begin() + static_cast<std::ptrdiff_t>(place), remainder);
  }
  kernel.writes.push_back(std::move(remainder));
  return kernel;
}

std::vector<HostTensor> reference(const KernelCase& kernel) {
  const auto backend = make_cpu_backend(1);
  return run_case(*backend, kernel, DType::f64);
}

std::size_t results_of(const KernelCase& kernel) {
  const bool scratch = std::holds_alternative<Attention>(kernel.kind) ||
                       std::holds_alternative<AttentionGradient>(kernel.kind);
  return kernel.writes.size() - (scratch ? 1 : 0);
}

namespace {

void round_stored(std::vector<HostTensor>& tensors, const Operands& operands) {
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (tensors[i].integer || operands.kept(i) != Kept::stored) continue;
    for (double& value : tensors[i].values) value = Bf16(static_cast<float>(value));
  }
}

/// A case in bf16, and the case that has the same numbers in double.
struct CaseInBf16 {
  KernelCase kernel;
  KernelCase exact;
  std::size_t master = 0;  ///< of an update: the write that has the parameter before it is rounded
};

/// Rounds the operands that are stored, and adds those that only bf16 needs.
CaseInBf16 in_bf16(KernelCase kernel) {
  const KernelCase updated = with_remainder(kernel);
  if (updated.writes.size() > kernel.writes.size()) {  // the parameter is what its master rounds to
    return {updated, kernel, kernel.writes.size()};
  }
  const Op op{kernel.kind, {}, {}, kernel.name};
  round_stored(kernel.reads, facts_of(op).reads);
  round_stored(kernel.writes, facts_of(op).writes);
  return {kernel, kernel, 0};
}

}  // namespace

std::vector<std::string> deviations_in_bf16(Backend& backend, const KernelCase& kernel) {
  const CaseInBf16 both = in_bf16(kernel);
  const std::vector<HostTensor> expected = reference(both.exact);
  const std::vector<HostTensor> actual = run_case(backend, both.kernel, DType::bf16);
  const Op op{kernel.kind, {}, {}, kernel.name};
  std::vector<std::string> deviations;
  const auto compare = [&](std::size_t output, std::size_t exact, double limit) {
    const double difference = relative_difference(actual[output].values, expected[exact].values);
    if (difference < limit) return;
    deviations.push_back("output " + std::to_string(output) + " by " + std::to_string(difference));
  };
  for (std::size_t i = 0; i < results_of(both.exact); ++i) {
    compare(i, i, facts_of(op).writes.kept(i) == Kept::wide ? 1e-6 : 0x1p-8);
  }
  if (both.master > 0) compare(both.master, 0, 1e-6);
  return deviations;
}

HostTensor random_tensor(std::int64_t rows, std::int64_t columns, std::uint64_t seed,
                         double scale) {
  std::mt19937_64 random(seed * 1000003 + static_cast<std::uint64_t>(rows * 977 + columns));
  HostTensor tensor{rows, columns};
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    // Numbers that float holds exactly: both precisions start from the same.
    const double unit = static_cast<double>(random() >> 44) / 524288.0 - 1;
    tensor.values.push_back(scale * unit);
  }
  return tensor;
}

HostTensor random_integers(std::int64_t rows, std::int64_t columns, std::uint64_t seed,
                           std::int64_t below) {
  std::mt19937_64 random(seed);
  HostTensor tensor{rows, columns, {}, true};
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    tensor.values.push_back(static_cast<double>(random() % static_cast<std::uint64_t>(below)));
  }
  return tensor;
}

HostTensor sized_like(const HostTensor& tensor) { return blank(tensor.rows, tensor.columns); }

HostTensor blank(std::int64_t rows, std::int64_t columns) {
  return {rows, columns, std::vector<double>(static_cast<std::size_t>(rows * columns), kBlank)};
}

HostTensor blank_integers(std::int64_t rows, std::int64_t columns) {
  HostTensor tensor = blank(rows, columns);
  tensor.integer = true;
  return tensor;
}

double relative_difference(const std::vector<double>& a, const std::vector<double>& b) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    difference += (a.at(i) - b[i]) * (a.at(i) - b[i]);
    norm += b[i] * b[i];
  }
  return norm == 0 ? std::sqrt(difference) : std::sqrt(difference / norm);
}

}  // namespace moe::test
