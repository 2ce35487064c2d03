#include "moe/train/checkpoint/resume.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "moe/errors.h"
#include "moe/model/combination_refusal.h"
#include "moe/model/gates/gates.h"
#include "moe/model/iteration.h"
#include "moe/model/layout_refusal.h"
#include "moe/model/model_key.h"
#include "moe/train/agreement.h"
#include "moe/train/checkpoint/folder.h"
#include "moe/train/checkpoint/names.h"
#include "moe/train/initialize.h"
#include "tests/moe/model/random_model.h"
#include "tests/moe/train/training_case.h"

namespace moe::train_checkpoint_resume_test {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A model of every gate that has all that a key may need beside it.
std::vector<Model> models_of_gates() {
  std::vector<Model> models;
  for (const Gate& gate : gates()) {
    Model& model = models.emplace_back(test::all_moe_model(DType::f64, 1));
    model.gate = gate.name;
    model.capacity_factor = 1;
    model.heads = 4;
    model.head_width = 8;
    model.query_key_norm = QueryKeyNorms::head;
    model.positions = Positions::rotary;
    model.rotary_base = 10;
    model.own["rotary_scaling"] = "yarn";
    model.own["rotary_factor"] = 4.0;
    model.own["rotary_trained_length"] = std::int64_t{16};
    model.own["rotary_slow_turns"] = 0.5;
    model.own["rotary_fast_turns"] = 2.0;
    model.own["window"] = std::int64_t{3};
    model.shared_experts = 1;
    if (gate.facts.scores_tokens && gate.facts.chooser == Chooser::token) {
      model.expert_groups = 4;
      model.best_groups = 1;
    }
    model.learning_rate = 1;
    model.learning_rate_schedule = RateSchedule::linear;
    model.warmup_steps = 2;
    model.decay_steps = 50;
    model.outlier_z_score = 2;
    if (models.size() % 2 == 0) model.optimizer = Optimizer::sgd;
    if (gate.facts.chooser == Chooser::nobody) model.order = "einsum";
    if (!gate.facts.scores_tokens) model.auxiliary_weight = 0;
  }
  Model& latent = models.emplace_back(models.front());
  latent.blocks = 2;
  latent.own["rotary_columns"] = std::int64_t{4};
  latent.own["latent_rank"] = std::int64_t{4};
  latent.own["latent_query_rank"] = std::int64_t{3};
  return models;
}

/// The model with another value of the key that goes with all others; none where few draws find
/// one.
std::optional<Model> with_another(const ModelKey& key, const Model& model, std::mt19937& random) {
  for (int i = 0; i < 200; ++i) {
    const KeyValue value = test::drawn_value(random, key);
    if (value == key.get(key, model) || !test::refusal_of(key, model, value).empty()) continue;
    Model other = model;
    key.set(key, other, value);
    if (value == KeyValue(std::string("dropless"))) other.capacity_groups = 0;
    if (other.decay_steps <= other.warmup_steps) continue;
    if (!layout_refusal(other, Layout{1, 1, 1})) return other;
  }
  return std::nullopt;
}

using See =
    std::function<void(const ModelKey& key, KeyKind kind, const Model& model, const Model& other)>;

/// Every key with another value, in a model of every gate. Returns the keys that were seen.
std::set<std::string_view> each_key(const See& see) {
  std::mt19937 random(4);
  std::set<std::string_view> seen;
  for (const Model& model : models_of_gates()) {
    for (const ModelKey* key : keys_of(model)) {
      const std::optional<Model> other = with_another(*key, model, random);
      if (!other) continue;
      SCOPED_TRACE(model.gate + ": " + std::string(key->name));
      see(*key, std::max(kind_of(*key, model), kind_of(*key, *other)), model, *other);
      seen.insert(key->name);
    }
  }
  return seen;
}

/// What is said of the model that goes on from a checkpoint of iteration 3; "refused: " first where
/// it does not.
std::string said(const Model& before, const Model& model, bool only_evaluates) {
  ResumePoint point;
  point.folder = "kept";
  point.index.iteration = 3;
  point.index.model = before;
  try {
    compare_models(point, model, only_evaluates);
  } catch (const InputError& error) {
    return std::string("refused: ") + error.what();
  }
  std::string text;
  for (const std::string& remark : point.remarks) text += remark + '\n';
  return text;
}

TEST(Resume, DoesWithEveryKeyWhatItsKindSays) {
  const auto seen =
      each_key([](const ModelKey& key, KeyKind kind, const Model& model, const Model& other) {
        const std::string trained = said(model, other, false), evaluated = said(model, other, true);
        const std::string name(key.name);
        if (key.table.empty()) {
          EXPECT_EQ(trained + evaluated, "") << "a name is not compared";
        } else if (kind == KeyKind::tensors) {
          EXPECT_THAT(trained, HasSubstr("refused: kept: is of another model: "));
          EXPECT_EQ(evaluated, trained);
        } else if (kind == KeyKind::function) {
          EXPECT_THAT(trained, AllOf(HasSubstr("refused: kept: is of another model: "),
                                     HasSubstr(name + " = "), HasSubstr("--evaluate-only to see")));
          EXPECT_THAT(evaluated, AllOf(HasSubstr(name + " was "), HasSubstr("another function")));
        } else {
          EXPECT_THAT(trained,
                      AllOf(HasSubstr(name + " was "), HasSubstr("up to iteration 3, and is")));
          EXPECT_EQ(evaluated, trained);
        }
      });
  for (const ModelKey& key : common_keys()) EXPECT_TRUE(seen.contains(key.name)) << key.name;
}

/// Name, rows and columns of all parameters.
std::vector<std::tuple<std::string, std::int64_t, std::int64_t>> parameters_of(const Model& model) {
  const Program program = build_iteration(model, make_groups(1, 1), 0);
  std::vector<std::tuple<std::string, std::int64_t, std::int64_t>> all;
  for (const NamedTensor& one : named_tensors(program)) {
    if (program.parameters[one.parameter].value != one.tensor) continue;
    all.emplace_back(one.name, one.rows, one.columns);
  }
  return all;
}

TEST(Resume, NoTensorDependsOnAKeyThatIsOfAnotherKind) {
  each_key([](const ModelKey&, KeyKind kind, const Model& model, const Model& other) {
    if (kind == KeyKind::tensors) return;
    EXPECT_EQ(parameters_of(other), parameters_of(model));
  });
}

/// The loss without noise on one rank, of parameters and tokens that are always the same.
double loss_of(const Model& model) {
  const Groups groups = make_groups(1, 1);
  const auto world = make_solo_communicator();
  const auto backend = make_cpu_backend(1);
  const Program whole = build_iteration(model, groups, 0);
  RunOptions options;
  options.memory_limit_bytes = 1 << 28;
  Runner runner(whole, groups, *backend, *world, options);
  initialize_parameters(runner, 3);
  const Program& program = runner.program();
  double sum = 0;
  std::vector<std::int32_t> tokens, targets;
  const auto batches = program.tokens.size();
  const auto rows = program.tensors[program.tokens.front()].rows;
  for (std::size_t i = 0; i < batches; ++i) {
    tokens.clear(), targets.clear();
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t place = static_cast<std::int64_t>(i) * rows + row;
      tokens.push_back(static_cast<std::int32_t>(place * 7 % model.vocabulary));
      targets.push_back(static_cast<std::int32_t>(place * 11 % model.vocabulary));
    }
    runner.write(program.tokens[i], std::as_bytes(std::span(tokens)));
    runner.write(program.targets[i], std::as_bytes(std::span(targets)));
  }
  const std::int32_t step = 1;
  runner.write(program.step, std::as_bytes(std::span(&step, 1)));
  runner.reschedule(without_noise(forward_only(whole)));
  runner.set_before_update([&] {
    for (const TensorId loss : runner.program().losses) sum += read_scalar(runner, loss);
    return true;
  });
  runner.iterate();
  return sum;
}

TEST(Resume, KeysOfTrainingDoNotChangeTheFunctionAndThoseOfTheFunctionDo) {
  const std::set<std::string_view> other_batch{"global_batch", "sequence_length"};
  std::map<std::string_view, bool> changes;
  each_key([&](const ModelKey& key, KeyKind kind, const Model& model, const Model& other) {
    if (kind == KeyKind::tensors || other_batch.contains(key.name)) return;
    const bool draws_always = model.gate == "random" && key.name == "seed";
    if (draws_always) return;  // a held-out loss, too
    // Where all scales are alike, as they begin, norms and turns of pairs commute.
    if (key.name == "query_key_norm_turned") return;
    const double before = loss_of(model), after = loss_of(other);
    if (kind == KeyKind::training) {
      EXPECT_NEAR(after, before, 1e-12);
    } else {
      changes[key.name] = changes[key.name] || std::abs(after - before) > 1e-12;
    }
  });
  for (const auto& [name, does] : changes) EXPECT_TRUE(does) << name;
}

TEST(Resume, OfAGateThatTheSeedHasDrawnKeepsTheSeed) {
  Model model = models_of_gates().front(), other = model;
  other.seed = 77;
  EXPECT_EQ(said(model, other, false), "seed was 5 up to iteration 3, and is 77 from there on\n");
  model.gate = other.gate = "hash";
  EXPECT_EQ(said(model, other, false),
            "refused: kept: is of another model: seed = 5 there, 77 here: expected the model that "
            "it is of, --evaluate-only to see what the other computes, or another --checkpoint "
            "folder");
}

TEST(Resume, KnowsTheCapacityGroupsOfCheckpointsThatDoNotTellThem) {
  const auto root =
      std::filesystem::path(::testing::TempDir()) / ("moelab_resume" + std::to_string(getpid()));
  CheckpointIndex index;
  index.iteration = 2;
  index.model = test::small_model(DType::f32);
  index.model.capacity_factor = 1;
  index.model.capacity_groups = 0;
  index.model.micro_batches = 2;
  index.layout = "dp=2,ep=3,esp=1,tp=2,pp=4";
  const auto folder = checkpoint_folder(root, 2);
  const auto groups = [&] {
    std::filesystem::create_directories(folder);
    std::ofstream(folder / kIndexFile) << to_text(index);
    const int found = find_resume_point(root).value().index.model.capacity_groups;
    std::filesystem::remove_all(root);
    return found;
  };
  EXPECT_EQ(groups(), 12);
  index.model.capacity_groups = 24;
  EXPECT_EQ(groups(), 24);
  index.model.capacity_factor.reset();
  index.model.capacity_groups = 0;
  EXPECT_EQ(groups(), 0) << "dropless";
  index.model.capacity_factor = 1;
  index.layout = "dp=2,ep=3,esp=1,xp=2";
  EXPECT_THROW(groups(), InputError);
  std::filesystem::remove_all(root);
}

TEST(Resume, LeavesCapacityGroupsOpenWhereTheModelDoes) {
  Model before = models_of_gates().front(), model = before;
  model.capacity_groups = 0;
  EXPECT_EQ(said(before, model, false), "") << "taken_groups() tells";
  model.capacity_groups = 4;
  EXPECT_THAT(said(before, model, false), HasSubstr("capacity_groups = 28 there, 4 here"));
  model.capacity_factor.reset();
  EXPECT_THAT(said(before, model, true), HasSubstr("capacity_factor was 1 where the parameters"));
  EXPECT_THAT(said(before, model, true), ::testing::Not(HasSubstr("capacity_groups")));
}

}  // namespace
}  // namespace moe::train_checkpoint_resume_test
