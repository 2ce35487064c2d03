#include "moe/train/initialize.h"

#include <cmath>
#include <numbers>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace moe {
namespace {

std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

/// Uniform in (0, 1].
double unit(std::uint64_t bits) { return static_cast<double>((bits >> 11) + 1) * 0x1p-53; }

std::uint64_t hash_of(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const unsigned char c : name) hash = (hash ^ c) * 0x100000001b3;
  return hash;
}

double initial_value(const Parameter& parameter, std::int64_t columns, std::int64_t seed,
                     std::uint64_t name_hash, std::int64_t element) {
  switch (parameter.initial) {
    case Initial::zero:
      return 0;
    case Initial::one:
      return 1;
    case Initial::normal:
      return parameter.standard_deviation *
             initial_normal(seed, name_hash, whole_element(parameter.shard, columns, element));
  }
  throw std::logic_error("initial_value: no such beginning");
}

template <class T>
void initialize_as(Runner& runner, std::int64_t seed) {
  const Program& program = runner.program();
  std::vector<T> values;
  for (const Parameter& parameter : program.parameters) {
    const Tensor& tensor = program.tensors[parameter.value];
    const std::uint64_t name_hash = hash_of(tensor.name);
    values.resize(static_cast<std::size_t>(tensor.rows * tensor.columns));
    for (std::size_t i = 0; i < values.size(); ++i) {
      values[i] = static_cast<T>(
          initial_value(parameter, tensor.columns, seed, name_hash, static_cast<std::int64_t>(i)));
    }
    runner.write(parameter.value, std::as_bytes(std::span(values)));
    std::fill(values.begin(), values.end(), T{0});
    runner.write(parameter.gradient, std::as_bytes(std::span(values)));
    for (const TensorId state : parameter.optimizer_state) {
      runner.write(state, std::as_bytes(std::span(values)));
    }
  }
}

}  // namespace

double initial_normal(std::int64_t seed, std::uint64_t name_hash, std::int64_t element) {
  const std::uint64_t key = mix(mix(static_cast<std::uint64_t>(seed)) ^ name_hash);
  const std::uint64_t first = mix(key ^ mix(static_cast<std::uint64_t>(element)));
  return std::sqrt(-2 * std::log(unit(first))) * std::cos(2 * std::numbers::pi * unit(mix(first)));
}

void initialize_parameters(Runner& runner, std::int64_t seed) {
  const Program& program = runner.program();
  if (program.tensors[program.parameters.front().value].dtype == DType::f64) {
    initialize_as<double>(runner, seed);
  } else {
    initialize_as<float>(runner, seed);
  }
}

}  // namespace moe
