#include "tests/moe/train/golden_step.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "moe/model/iteration.h"
#include "moe/model/model.h"
#include "moe/model/model_key.h"
#include "moe/run/runner.h"
#include "moe/source_tree.h"

namespace moe::test {
namespace {

using Values = std::map<std::string, std::vector<double>>;  // whole tensors by name

/// One model that make_golden.py has written.
struct Golden {
  std::string name;
  nlohmann::json header;
  std::vector<double> data;

  /// Section `index` of the file, cut into tensors.
  Values section(std::size_t index) const {
    std::size_t length = 0;
    for (const auto& tensor : header["tensors"]) length += size_of(tensor);
    Values values;
    auto at = data.begin() + static_cast<std::ptrdiff_t>(index * length);
    for (const auto& tensor : header["tensors"]) {
      const auto end = at + static_cast<std::ptrdiff_t>(size_of(tensor));
      values[tensor[0].get<std::string>()].assign(at, end);
      at = end;
    }
    return values;
  }
  static std::size_t size_of(const nlohmann::json& tensor) {
    return tensor[1].get<std::size_t>() * tensor[2].get<std::size_t>();
  }
};

Golden load(const std::string& name) {
  const std::string stem = (source_tree() / "tests" / "golden" / name).string();
  Golden result;
  result.name = name;
  result.header = nlohmann::json::parse(std::ifstream(stem + ".json"));
  std::ifstream file(stem + ".bin", std::ios::binary | std::ios::ate);
  result.data.resize(static_cast<std::size_t>(file.tellg()) / sizeof(double));
  file.seekg(0).read(reinterpret_cast<char*>(result.data.data()),
                     static_cast<std::streamsize>(result.data.size() * sizeof(double)));
  if (!file) throw std::runtime_error(stem + ".bin cannot be read");
  return result;
}

struct GoldenCase {
  const Golden& file;
  const nlohmann::json& expected;
};

/// Every case of every file, in a row.
const std::vector<GoldenCase>& all_cases() {
  static const std::vector<Golden> files{
      load("transformer"),  load("mixtral"),         load("relu_shared"),   load("mixtral_shared"),
      load("normed_heads"), load("normed_together"), load("limited"),       load("gated_shared"),
      load("windows"),      load("latent"),          load("narrow_values"), load("expert_choice"),
      load("soft_moe"),     load("factors"),         load("norms_behind")};
  static const std::vector<GoldenCase> cases = [] {
    std::vector<GoldenCase> all;
    for (const Golden& file : files) {
      for (const auto& expected : file.header["cases"]) all.push_back({file, expected});
    }
    return all;
  }();
  return cases;
}

Model model_of(const GoldenCase& golden, DType dtype) {
  const nlohmann::json& sizes = golden.file.header["model"];
  const nlohmann::json& golden_case = golden.expected;
  Model model;
  model.name = golden.file.name;
  model.vocabulary = sizes["vocabulary"];
  model.sequence_length = sizes["sequence_length"];
  model.d_model = sizes["d_model"];
  model.d_hidden = sizes["d_hidden"];
  model.heads = sizes["heads"];
  model.blocks = sizes["blocks"];
  if (sizes.contains("key_value_heads")) model.key_value_heads = sizes["key_value_heads"];
  if (sizes.value("norm", "layer_norm") == "rms_norm") model.norm = Norm::rms_norm;
  if (sizes.value("positions", "learned") == "rotary") model.positions = Positions::rotary;
  model.rotary_base = sizes.value("rotary_base", model.rotary_base);
  if (sizes.value("head", "untied") == "tied") model.head = Head::tied;
  if (sizes.contains("head_width")) model.head_width = sizes["head_width"].get<std::int64_t>();
  const std::string norms = sizes.value("query_key_norm", "none");
  if (norms == "head") model.query_key_norm = QueryKeyNorms::head;
  if (norms == "all") model.query_key_norm = QueryKeyNorms::all;
  if (sizes.contains("normalize_weights")) model.normalize_weights = sizes["normalize_weights"];
  model.weight_factor = sizes.value("weight_factor", 1.0);
  model.gate_bias = sizes.value("gate_bias", false);
  for (const ModelKey& declared : common_keys()) {
    const std::string key(declared.name);
    if (declared.fallback == nullptr || !sizes.contains(key)) continue;
    const nlohmann::json& value = sizes[key];
    if (value.is_boolean()) model.own[key] = value.get<bool>();
    if (value.is_string()) model.own[key] = value.get<std::string>();
    if (value.is_number_integer()) model.own[key] = value.get<std::int64_t>();
    if (value.is_number_float()) model.own[key] = value.get<double>();
  }
  model.shared_expert_gate = sizes.value("shared_expert_gate", false);
  model.expert_groups = sizes.value("expert_groups", 1);
  if (sizes.contains("best_groups")) model.best_groups = sizes["best_groups"].get<int>();
  model.biases = sizes.value("biases", true);
  model.dense_blocks = sizes.value("dense_blocks", 0);
  model.moe_every = sizes["moe_every"];
  model.expert = sizes.value("expert", "gpt");
  if (sizes.value("activation", "gelu") == "relu") model.activation = Activation::relu;
  if (sizes.contains("d_expert")) model.d_expert = sizes["d_expert"].get<std::int64_t>();
  model.shared_experts = sizes.value("shared_experts", 0);
  model.experts = sizes["experts"];
  model.choices = golden_case["choices"];
  model.gate = golden_case.value("gate", model.gate);
  model.order = golden_case.value("order", model.order);
  if (golden_case["capacity_factor"].is_number()) {
    model.capacity_factor = golden_case["capacity_factor"].get<double>();
  }
  model.capacity_groups = sizes["capacity_groups"];
  model.auxiliary_weight = sizes["auxiliary_weight"];
  model.global_batch = sizes["global_batch"];
  model.optimizer =
      golden_case.value("optimizer", "adam") == "sgd" ? Optimizer::sgd : Optimizer::adam;
  model.learning_rate = sizes["learning_rate"];
  model.momentum = sizes["momentum"];
  model.dtype = dtype;
  return model;
}

// --- tensors of a runner, as doubles -------------------------------------------------------------

template <class T>
void write_as(Runner& runner, TensorId tensor, const double* values, std::size_t count) {
  const std::vector<T> converted(values, values + count);
  runner.write(tensor, std::as_bytes(std::span(converted)));
}

template <class T>
void read_as(const Runner& runner, TensorId tensor, double* values, std::size_t count) {
  std::vector<T> stored(count);
  runner.read(tensor, std::as_writable_bytes(std::span(stored)));
  std::copy(stored.begin(), stored.end(), values);
}

void write(Runner& runner, TensorId tensor, const double* values) {
  const Tensor& t = runner.program().tensors[static_cast<std::size_t>(tensor)];
  const auto count = static_cast<std::size_t>(t.rows * t.columns);
  if (t.dtype == DType::i32) write_as<std::int32_t>(runner, tensor, values, count);
  if (t.dtype == DType::f32) write_as<float>(runner, tensor, values, count);
  if (t.dtype == DType::f64) write_as<double>(runner, tensor, values, count);
}

std::vector<double> read(const Runner& runner, TensorId tensor) {
  const Tensor& t = runner.program().tensors[static_cast<std::size_t>(tensor)];
  std::vector<double> values(static_cast<std::size_t>(t.rows * t.columns));
  if (t.dtype == DType::f32) read_as<float>(runner, tensor, values.data(), values.size());
  if (t.dtype == DType::f64) read_as<double>(runner, tensor, values.data(), values.size());
  return values;
}

// --- one training run over ranks that are threads ------------------------------------------------

struct Trained {
  double loss = 0;
  std::vector<double> auxiliary_losses;
  std::int64_t dropped = 0;
  std::vector<int> taken;  // of the first step, token by token: 1 for every expert that has it
  Values gradients;        // of the first step
  Values updated;          // parameters after the last step
};

/// The tensors of one rank.
struct RankTrained {
  Program program;
  Trained part;
};

std::size_t place_in_whole(const Program& program, const Parameter& parameter,
                           std::size_t element) {
  const Tensor& tensor = program.tensors[static_cast<std::size_t>(parameter.value)];
  return static_cast<std::size_t>(
      whole_element(parameter.shard, tensor.columns, static_cast<std::int64_t>(element)));
}

/// The choice of a ChooseTokens: 1 where an expert takes a token.
std::vector<int> taken_by(Backend& backend, const BoundOp& bound) {
  const View& slots = bound.writes[2];
  std::vector<std::int32_t> slot(static_cast<std::size_t>(slots.rows * slots.columns));
  backend.download(std::as_writable_bytes(std::span(slot)),
                   static_cast<const std::byte*>(slots.data), Stream::compute);
  std::vector<int> taken;
  for (const std::int32_t place : slot) taken.push_back(place >= 0);
  return taken;
}

RankTrained train_rank(const Golden& file, const Model& model, const Groups& groups,
                       const MakeBackend& make_backend, Communicator& world) {
  const auto backend = make_backend();
  Runner runner(build_iteration(model, groups, world.rank), groups, *backend, world,
                {.memory_limit_bytes = 16 << 20});
  const Program& program = runner.program();

  const Values start = file.section(0);
  EXPECT_EQ(program.parameters.size(), start.size());
  for (const Parameter& parameter : program.parameters) {
    const Tensor& t = program.tensors[static_cast<std::size_t>(parameter.value)];
    const std::vector<double>& whole = start.at(t.name);
    std::vector<double> part(static_cast<std::size_t>(t.rows * t.columns));
    for (std::size_t i = 0; i < part.size(); ++i) {
      part[i] = whole.at(place_in_whole(program, parameter, i));
    }
    write(runner, parameter.value, part.data());
    const std::vector<double> zeros(static_cast<std::size_t>(t.rows * t.columns));
    for (const TensorId state : parameter.optimizer_state) write(runner, state, zeros.data());
  }
  const auto tokens = file.header["tokens"].get<std::vector<double>>();
  const auto targets = file.header["targets"].get<std::vector<double>>();
  const std::size_t first =
      tokens.size() / static_cast<std::size_t>(groups.ranks) * static_cast<std::size_t>(world.rank);

  Trained part;
  const int steps = file.header["steps"];
  for (int step = 1; step <= steps; ++step) {
    const double number = step;
    write(runner, program.tokens.front(), tokens.data() + first);
    write(runner, program.targets.front(), targets.data() + first);
    write(runner, program.step, &number);
    std::vector<int> taken;
    const AfterOp look = [&](const BoundOp& bound) {
      if (std::holds_alternative<ChooseTokens>(bound.op->kind)) taken = taken_by(*backend, bound);
    };
    const IterationResult result =
        model.gate == "expert_choice" ? runner.iterate_observed(look) : runner.iterate();
    if (step == 1) {
      part.loss = read(runner, program.losses.front())[0];
      for (const TensorId loss : program.auxiliary_losses) {
        part.auxiliary_losses.push_back(read(runner, loss)[0]);
      }
      part.dropped = result.dropped;
      part.taken = taken;
    }
    for (const Parameter& parameter : program.parameters) {
      const std::string& name = program.tensors[static_cast<std::size_t>(parameter.value)].name;
      if (step == 1) part.gradients[name] = read(runner, parameter.gradient);
      if (step == steps) part.updated[name] = read(runner, parameter.value);
    }
  }
  return {program, part};
}

/// Puts a rank's part of a tensor into the whole. What several ranks hold must agree bit for bit.
void gather(std::vector<double>& whole, std::vector<bool>& known, const Program& program,
            const Parameter& parameter, const std::vector<double>& part) {
  for (std::size_t i = 0; i < part.size(); ++i) {
    const std::size_t place = place_in_whole(program, parameter, i);
    if (known.at(place) && whole.at(place) != part[i]) {
      FAIL() << "element " << place << " is " << whole[place] << " and " << part[i];
    }
    whole.at(place) = part[i];
    known[place] = true;
  }
}

Trained train(const Golden& file, const Model& model, const Groups& groups,
              const MakeBackend& make_backend) {
  std::vector<RankTrained> ranks(static_cast<std::size_t>(groups.ranks));
  run_local_ranks(groups.ranks, [&](Communicator& world) {
    ranks[static_cast<std::size_t>(world.rank)] =
        train_rank(file, model, groups, make_backend, world);
  });

  Trained whole = ranks[0].part;
  whole.loss = 0;
  whole.taken.clear();
  std::fill(whole.auxiliary_losses.begin(), whole.auxiliary_losses.end(), 0.0);
  for (const RankTrained& rank : ranks) {
    whole.loss += rank.part.loss;
    whole.taken.insert(whole.taken.end(), rank.part.taken.begin(), rank.part.taken.end());
    for (std::size_t i = 0; i < whole.auxiliary_losses.size(); ++i) {
      whole.auxiliary_losses[i] += rank.part.auxiliary_losses.at(i);
    }
  }
  for (const auto& [name, start] : file.section(0)) {
    SCOPED_TRACE(name);
    for (Values Trained::*values : {&Trained::gradients, &Trained::updated}) {
      std::vector<double> tensor(start.size());
      std::vector<bool> known(start.size());
      for (const RankTrained& rank : ranks) {
        const auto parameter = std::find_if(
            rank.program.parameters.begin(), rank.program.parameters.end(), [&](const auto& p) {
              return rank.program.tensors[static_cast<std::size_t>(p.value)].name == name;
            });
        if (parameter == rank.program.parameters.end()) {
          ADD_FAILURE() << "the Program has no such parameter";
          return whole;
        }
        gather(tensor, known, rank.program, *parameter, (rank.part.*values).at(name));
      }
      EXPECT_EQ(std::count(known.begin(), known.end(), false), 0) << "elements that no rank holds";
      (whole.*values)[name] = std::move(tensor);
    }
  }
  return whole;
}

/// |a - b| / |b| over all elements.
double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  return std::sqrt(difference / norm);
}

}  // namespace

int golden_cases() { return static_cast<int>(all_cases().size()); }

std::string golden_name(int golden_case, const GoldenSetting& setting) {
  const auto& [file, c] = all_cases().at(static_cast<std::size_t>(golden_case));
  return file.name + (c.contains("order") ? "_" + c["order"].get<std::string>() : "") + "_Top" +
         std::to_string(c["choices"].get<int>()) +
         (c["capacity_factor"].is_number() ? "Capacity" : "Dropless") + "Dp" +
         std::to_string(setting.layout.data) + "Ep" + std::to_string(setting.layout.expert) +
         "Esp" + std::to_string(setting.layout.expert_sharded) + "Tp" +
         std::to_string(setting.layout.tensor) + (setting.dtype == DType::f64 ? "F64" : "F32");
}

void expect_golden_step(int golden_case, const GoldenSetting& setting,
                        const MakeBackend& make_backend) {
  const GoldenCase& golden = all_cases().at(static_cast<std::size_t>(golden_case));
  const auto& [file, expected] = golden;
  if (file.name == "normed_together" && setting.layout.tensor > 1) return;  // has no such layout
  const double tolerance = setting.dtype == DType::f64 ? 1e-9 : 1e-5;
  const Trained trained =
      train(file, model_of(golden, setting.dtype), make_groups(setting.layout), make_backend);

  EXPECT_NEAR(trained.loss, expected["loss"].get<double>(), tolerance * trained.loss);
  const auto auxiliary = expected["auxiliary_losses"].get<std::vector<double>>();
  ASSERT_EQ(trained.auxiliary_losses.size(), auxiliary.size());
  for (std::size_t i = 0; i < auxiliary.size(); ++i) {
    EXPECT_NEAR(trained.auxiliary_losses[i], auxiliary[i], tolerance * auxiliary[i]);
  }
  EXPECT_EQ(trained.dropped, expected["dropped"].get<std::int64_t>());
  if (expected.contains("taken")) {
    EXPECT_EQ(trained.taken, expected["taken"].get<std::vector<int>>());
  }
  for (const auto& [name, gradient] : file.section(expected["gradients"])) {
    EXPECT_LT(distance(trained.gradients.at(name), gradient), tolerance) << "gradient of " << name;
  }
  // Adam divides a gradient by its size: in float, rounding where a gradient should be nothing.
  const bool comparable = setting.dtype == DType::f64 || expected.value("optimizer", "") == "sgd";
  if (!expected.contains("updated") || !comparable) return;
  for (const auto& [name, value] : file.section(expected["updated"])) {
    EXPECT_LT(distance(trained.updated.at(name), value), tolerance) << "updated " << name;
  }
}

}  // namespace moe::test
