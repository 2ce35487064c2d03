#include "microbench/gemm.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <stdexcept>
#include <string>

#include "db/console/format_rows.h"
#include "microbench/product_check.h"
#include "microbench/random_values.h"
#include "microbench/table.h"
#include "moe/errors.h"
#include "moe/input/sizes.h"
#include "moe/kernels/view.h"
#include "moe/program/op.h"

namespace microbench {
namespace {

enum class Part { forward, input_gradient, weight_gradient };

struct Shape {
  std::int64_t rows, inputs, outputs;
  int experts;  // 0: a dense linear layer
  int weights() const { return std::max(experts, 1); }
};

/// Rows [begin(e), begin(e + 1)) belong to expert e.
std::int64_t begin_of(const Shape& shape, int expert) {
  return moe::slice_begin(shape.rows, {expert, shape.weights()});
}
struct Sides {  // elements
  std::int64_t x, y, weight, bias;
};

Sides sides(const Shape& s) {
  return {s.rows * s.inputs, s.rows * s.outputs, s.weights() * s.inputs * s.outputs,
          s.weights() * s.outputs};
}

std::string op_name(Part part, bool expert) {
  const std::string base = expert ? "expert_linear" : "linear";
  switch (part) {
    case Part::forward:
      return base;
    case Part::input_gradient:
      return base + "_input_gradient";
    case Part::weight_gradient:
      return base + "_weight_gradient";
  }
  throw std::invalid_argument("gemm: no such part");
}

moe::OpKind op_kind(Part part, int experts) {
  switch (part) {
    case Part::forward:
      if (experts == 0) return moe::Linear{};
      return moe::ExpertLinear{.local_experts = experts};
    case Part::input_gradient:
      if (experts == 0) return moe::LinearInputGradient{};
      return moe::ExpertLinearInputGradient{.local_experts = experts};
    case Part::weight_gradient:
      if (experts == 0) return moe::LinearWeightGradient{};
      return moe::ExpertLinearWeightGradient{.local_experts = experts};
  }
  throw std::invalid_argument("gemm: no such part");
}

const std::vector<Column>& gemm_columns() {
  const auto size = [](const char* name) {
    return Column{name, "", 8, [name](const Result& r) {
                    const auto sizes = nlohmann::json::parse(r.measurement.parameters_json);
                    return std::to_string(sizes.at(name).get<std::int64_t>());
                  }};
  };
  static const std::vector<Column> columns = {
      size("m"),
      size("n"),
      size("k"),
      size("experts"),
      type_column(),
      time_column(),
      {"rate", "(GFLOP/s)", 10, [](const Result& r) {
         return four_digits(r.measurement.flops / r.measurement.time_s / 1e9);
       }}};
  return columns;
}

Result gemm_row(const Bench& bench, Part part, const Shape& shape) {
  Result row;
  row.columns = &gemm_columns();
  db::Measurement& m = row.measurement;
  m.op = op_name(part, shape.experts > 0);
  m.device = bench.device;
  m.dtype = moe::name_of(bench.dtype);
  m.ranks = bench.world.size;
  m.flops = 2.0 * static_cast<double>(shape.rows) * static_cast<double>(shape.inputs) *
            static_cast<double>(shape.outputs);
  const std::int64_t rows_each = shape.rows / shape.weights();
  std::int64_t rows = rows_each, columns = shape.outputs, depth = shape.inputs;
  if (part == Part::input_gradient) columns = shape.inputs, depth = shape.outputs;
  if (part == Part::weight_gradient) rows = shape.inputs, depth = rows_each;
  m.parameters_json =
      fmt::format(R"({{"experts":{},"k":{},"m":{},"n":{}}})", shape.experts, depth, rows, columns);
  return row;
}

std::vector<std::int64_t> buffer_bytes(const Bench& bench, const Shape& shape) {
  const Sides count = sides(shape);
  const int element = moe::bytes_of(bench.dtype), wide = moe::bytes_of(moe::wide_of(bench.dtype));
  // Gradients of weights and biases are wide.
  return {count.x * element, count.y * element, count.weight * wide, count.bias * wide};
}

/// The operands of one product, in a backend's memory.
class Product {
 public:
  Product(const Bench& bench, Part part, const Shape& shape)
      : bench_(bench),
        part_(part),
        shape_(shape),
        of_weights_(part == Part::weight_gradient ? moe::wide_of(bench.dtype) : bench.dtype),
        at_(place(bench, buffer_bytes(bench, shape))) {
    op_.kind = op_kind(part, shape.experts);
    op_.name = op_name(part, shape.experts > 0);
    op_.stream = moe::Stream::compute;
    bound_.op = &op_;
    bind_operands();
    for (int e = 0; e < shape.weights(); ++e) {
      bound_.ranges.push_back({begin_of(shape, e), begin_of(shape, e + 1) - begin_of(shape, e)});
    }
  }
  Product(const Product&) = delete;  // bound_ points at op_
  Product& operator=(const Product&) = delete;

  void run() const { bench_.backend.execute(bound_); }

  /// Operands get random values, results values that no product has.
  void fill_all() const {
    for (std::size_t i = 0; i < views_.size(); ++i) {
      if (is_result(i)) {
        fill_constant(bench_.backend, views_[i], std::numeric_limits<double>::quiet_NaN());
      } else {
        fill_random(bench_.backend, views_[i], i);
      }
    }
  }

  /// Runs the product once. Returns how many of its results are wrong, at least
  /// (product_check.h).
  std::int64_t verify() const {
    fill_all();
    run();
    std::vector<std::vector<std::byte>> host;
    for (std::size_t i = 0; i < views_.size(); ++i) {
      host.emplace_back(moe::count_of(views_[i]) * moe::bytes_of(views_[i].dtype));
      bench_.backend.download(host.back(), at_[i], moe::Stream::compute);
    }
    std::int64_t wrong = 0;
    for (int e = 0; e < shape_.weights(); ++e) wrong += wrong_of_expert(host, e);
    return wrong;
  }

 private:
  void bind_operands() {
    const int weights = shape_.weights();
    const moe::View x{at_[0], bench_.dtype, shape_.rows, shape_.inputs};
    const moe::View y{at_[1], bench_.dtype, shape_.rows, shape_.outputs};
    const moe::View weight{at_[2], of_weights_, weights * shape_.inputs, shape_.outputs};
    const moe::View bias{at_[3], of_weights_, weights, shape_.outputs};
    views_ = {x, y, weight, bias};
    switch (part_) {
      case Part::forward:
        bound_.reads = {x, weight, bias}, bound_.writes = {y};
        return;
      case Part::input_gradient:
        bound_.reads = {y, weight}, bound_.writes = {x};
        return;
      case Part::weight_gradient:
        bound_.reads = {x, y}, bound_.writes = {weight, bias};
        return;
    }
  }

  bool is_result(std::size_t buffer) const {
    return std::ranges::any_of(bound_.writes, [&](const moe::View& written) {
      return written.data == views_[buffer].data;
    });
  }

  std::int64_t wrong_of_expert(const std::vector<std::vector<std::byte>>& host, int e) const {
    const auto part = [&](std::size_t buffer, std::int64_t begin, std::int64_t rows) {
      const moe::View& view = views_[buffer];
      const std::int64_t row_bytes = view.columns * moe::bytes_of(view.dtype);
      return HostMatrix{std::span(host[buffer]).subspan(begin * row_bytes, rows * row_bytes),
                        view.dtype, rows, view.columns};
    };
    const auto [begin, rows] = bound_.ranges[e];
    HostMatrix x = part(0, begin, rows), y = part(1, begin, rows);
    HostMatrix weight = part(2, e * shape_.inputs, shape_.inputs);
    const HostMatrix bias = part(3, e, 1);
    switch (part_) {
      case Part::forward:
        return count_wrong_of_product({y, x, weight, bias});
      case Part::input_gradient:
        weight.transposed = true;
        return count_wrong_of_product({x, y, weight});
      case Part::weight_gradient: {
        x.transposed = true;
        // The gradient of the bias is the product of a row of ones with dy.
        const std::vector<float> ones(rows, 1.0f);
        const HostMatrix one{std::as_bytes(std::span(ones)), moe::DType::f32, 1, rows};
        return count_wrong_of_product({weight, x, y}) + count_wrong_of_product({bias, one, y});
      }
    }
    throw std::invalid_argument("gemm: no such part");
  }

  const Bench& bench_;
  const Part part_;
  const Shape shape_;
  const moe::DType of_weights_;       ///< of weights and biases
  const std::vector<std::byte*> at_;  ///< x, y, weight, bias
  std::vector<moe::View> views_;      ///< the same
  moe::Op op_;
  moe::BoundOp bound_;
};

Case gemm_case(const Bench& bench, Part part, const Shape& shape) {
  const auto product = std::make_shared<const Product>(bench, part, shape);
  const auto run = [product] { product->run(); };
  const auto timed = [run, &bench](int calls) {
    return timed_on_device(bench.backend, moe::Stream::compute, calls, run);
  };
  return {gemm_row(bench, part, shape), [product] { product->fill_all(); }, timed,
          [product] { return product->verify(); }, run};
}

}  // namespace

std::vector<Plan> gemm_plans(const Bench& bench, const GemmSweep& sweep) {
  if (bench.dtype == moe::DType::i32) {
    throw moe::Refusal("gemm", "--dtype i32", "expected f32, f64 or bf16");
  }
  std::vector<Plan> plans;
  for (int experts : {0, sweep.experts}) {
    for (Part part : {Part::forward, Part::input_gradient, Part::weight_gradient}) {
      for (std::int64_t rows : sweep.rows) {
        const Shape shape{rows, sweep.inputs, sweep.outputs, experts};
        plans.push_back({fmt::format("{}/{}x{}x{}", op_name(part, experts > 0), rows, sweep.inputs,
                                     sweep.outputs),
                         [&bench, part, shape] { return gemm_case(bench, part, shape); }});
      }
    }
  }
  return plans;
}

Case linear_case(const Bench& bench, const LinearSizes& sizes) {
  return gemm_case(bench, Part::forward, {sizes.rows, sizes.inputs, sizes.outputs, 0});
}

std::int64_t arena_end(const Bench& bench, const LinearSizes& sizes) {
  return arena_end(bench, buffer_bytes(bench, {sizes.rows, sizes.inputs, sizes.outputs, 0}));
}

Benchmark gemm_benchmark() {
  struct Options {
    std::string rows = "64:4096:x4", inputs = "512", outputs = "2048";
    int experts = 4;
    GemmSweep sweep() const {
      return {moe::parse_sizes(rows), moe::parse_size(inputs), moe::parse_size(outputs), experts};
    }
  };
  const auto options = std::make_shared<Options>();
  const std::vector<BenchmarkOption> own{
      {"--rows", "how many rows a GEMM has, written as --sizes are", &options->rows},
      {"--inputs", "how many columns its input has", &options->inputs},
      {"--outputs", "how many columns its output has", &options->outputs},
      {"--experts", "how many experts share the rows of an expert GEMM",
       NumberWithin{&options->experts, 1, 1 << 20}}};
  const auto check = [options](const CommonOptions& common) {
    const GemmSweep sweep = options->sweep();
    if (sweep.inputs < 1 || sweep.outputs < 1) {
      throw moe::InputError(fmt::format("--inputs {} --outputs {}: expected at least 1 of each",
                                        options->inputs, options->outputs));
    }
    if (*std::min_element(sweep.rows.begin(), sweep.rows.end()) < sweep.experts) {
      throw moe::InputError(fmt::format("--rows {}: expected at least one for each of {} experts",
                                        options->rows, options->experts));
    }
    const auto rows = *std::max_element(sweep.rows.begin(), sweep.rows.end());
    const auto inputs = static_cast<double>(sweep.inputs);
    const auto outputs = static_cast<double>(sweep.outputs);
    const double bytes =
        8 * (static_cast<double>(rows) * (inputs + outputs) + sweep.experts * inputs * outputs);
    if (bytes > static_cast<double>(memory_bytes())) {
      throw moe::InputError(
          fmt::format("--rows {} --inputs {} --outputs {} --experts {}: {:.3g} GiB: expected at "
                      "most {}",
                      rows, options->inputs, options->outputs, options->experts, bytes / 0x1p30,
                      db::format_cell("bytes", memory_bytes())));
    }
    if (common.dtype == moe::DType::i32) {
      throw moe::InputError("--dtype i32: GEMMs are measured with f32, f64 or bf16");
    }
  };
  return {"gemm", own, check, [options](const Bench& bench, const CommonOptions&) {
            return gemm_plans(bench, options->sweep());
          }};
}

}  // namespace microbench
