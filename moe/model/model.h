#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "moe/ops/gate.h"
#include "moe/ops/learning_rate.h"
#include "moe/rows/groups.h"
#include "moe/rows/tensor.h"

namespace moe {

enum class Optimizer : std::uint8_t { adam, adamw, sgd };
enum class Norm : std::uint8_t { layer_norm, rms_norm };
/// What is normed of queries and keys, each by a scale of its own.
enum class QueryKeyNorms : std::uint8_t {
  none,
  head,  ///< every head for itself
  all,   ///< all heads together
};
enum class Positions : std::uint8_t { learned, rotary };
enum class Head : std::uint8_t { untied, tied };  ///< tied: its matrix is the token table
enum class Activation : std::uint8_t { gelu, relu };
/// The rows that ranks send each other in a MoE layer.
enum class ExchangedRows : std::uint8_t {
  irregular,  ///< the copies of tokens that experts keep
  padded,     ///< as many for every rank and expert as its capacity, zeros where there is no copy
};
/// When backward computes the gradients of the weights of experts.
enum class WeightGradientTime : std::uint8_t {
  beside_return,  ///< while the gradients of their inputs travel back
  before_return,  ///< before these leave, as engines do that run backward layer by layer
};
/// The ranks that have whole sequences of the batch.
enum class BatchPer : std::uint8_t {
  rank,
  tp_group,  ///< ranks that share dense matrices, together: each has an equal share of their tokens
};

/// The value of a key of a model file.
using KeyValue = std::variant<bool, std::int64_t, double, std::string>;

/// A decoder-only transformer whose every `moe_every`-th feed-forward network is a mixture of
/// experts, with the batch and the optimizer it is trained with. Read from a TOML file. Each member
/// but `own` has its key in common_keys() (model_key.h).
struct Model {
  std::string name;
  std::int64_t vocabulary = 256;
  std::int64_t sequence_length = 64;
  std::int64_t d_model = 64;
  std::int64_t d_hidden = 256;
  int heads = 4;
  std::optional<int> key_value_heads;      ///< heads of keys and values; none = as many as `heads`
  std::optional<std::int64_t> head_width;  ///< columns of a head; none = d_model / heads
  int blocks = 2;
  Norm norm = Norm::layer_norm;
  double norm_epsilon = 1e-5;
  QueryKeyNorms query_key_norm = QueryKeyNorms::none;
  Positions positions = Positions::learned;
  double rotary_base = 10000;
  Head head = Head::untied;
  bool shard_vocabulary = false;  ///< tp cuts token table, head and loss along the vocabulary
  bool biases = true;    ///< whether linear layers have biases, where their network allows them
  int dense_blocks = 0;  ///< the first blocks, which have no experts whatever moe_every
  int moe_every =
      2;  ///< of the others every moe_every-th has experts, the first ones not; 0 = none
  int experts = 8;
  int choices = 1;                           ///< k of top-k: 1 to experts
  std::string gate = "softmax";              ///< gates/gates.h
  bool gate_bias = false;                    ///< whether its logits have biases
  int expert_groups = 1;                     ///< of experts that follow one another
  std::optional<int> best_groups;            ///< none = all of them
  std::optional<int> group_experts_counted;  ///< none = 2 with sigmoid scores, else 1
  std::optional<bool> normalize_weights;     ///< none = where there are several choices
  double weight_factor = 1;                  ///< of the weights of choices
  std::string order = "sparse";              ///< orders/orders.h
  std::map<std::string, std::string> hooks;  ///< place -> name; hooks/hooks.h
  std::string expert = "gpt";                ///< experts/experts.h; of dense networks too
  Activation activation = Activation::gelu;  ///< the activation of networks that leave it open
  std::optional<std::int64_t> d_expert;      ///< hidden width of an expert; none = d_hidden
  int shared_experts = 0;  ///< experts that every token passes besides those it is routed to
  bool shared_expert_gate = false;        ///< whether a sigmoid of the token weighs them
  std::optional<double> capacity_factor;  ///< none = dropless
  /// Groups of the global batch with a capacity each; 0 = one per rank and micro-batch.
  int capacity_groups = 0;
  Drop drop = Drop::choice;
  ExchangedRows exchange = ExchangedRows::irregular;
  WeightGradientTime weight_gradients = WeightGradientTime::beside_return;
  double auxiliary_weight = 0.01;
  double z_loss_weight = 0;
  /// Values of keys that the gate itself declares; those not set have their defaults.
  std::map<std::string, KeyValue, std::less<>> own;
  std::int64_t global_batch = 8;  ///< sequences per iteration over all ranks
  BatchPer batch_per = BatchPer::rank;
  int micro_batches = 1;  ///< equal parts of the global batch, whose gradients are added up
  Optimizer optimizer = Optimizer::adam;
  double learning_rate = 1e-3;
  std::int64_t warmup_steps = 0;
  std::int64_t decay_steps = 0;
  double least_learning_rate = 0;
  RateSchedule learning_rate_schedule = RateSchedule::constant;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;  ///< of Adam
  std::optional<double> weight_decay;                 ///< none = 0.1 with AdamW, else 0
  double momentum = 0.9;                              ///< of SGD
  bool nesterov = false;
  std::optional<double> clip_norm;  ///< none = gradients are not clipped
  /// Iterations that lie more than this number of standard deviations above the last
  /// `outlier_window` ones make no update; none = all do.
  std::optional<double> outlier_z_score;
  std::int64_t outlier_window = 128;
  std::int64_t seed = 1;
  DType dtype = DType::f32;  ///< key "precision"
};

/// Heads of keys and values.
int key_value_heads(const Model& model);
/// Columns of a head of queries, keys or values.
std::int64_t head_width(const Model& model);
/// True where the weights of a token's experts are their scores over the sum of them. For one
/// choice the share of the only one would be 1, and nothing would be learnt.
bool normalizes_weights(const Model& model);
/// Of `expert_groups`, those that a token's experts may be of.
int best_groups(const Model& model);
/// The best experts of a group whose rankings are added up to the group's.
int group_experts_counted(const Model& model);
/// Hidden width of an expert.
std::int64_t expert_hidden(const Model& model);
double weight_decay(const Model& model);
/// True where the learning rate falls until iteration decay_steps.
bool falls_to_an_end(const Model& model);
/// True where the feed-forward network of the block is a mixture of experts.
bool has_experts(const Model& model, int block);
int blocks_with_experts(const Model& model);

/// Reads `path`, a model file or a config.json of the library transformers
/// (published/read_config.h). Throws InputError "FILE:LINE: key: expected ..., got ..." for what is
/// unknown, missing or out of range. `settings`, texts such as "moe.experts=64", stand above the
/// file.
Model load_model(const std::filesystem::path& path, const std::vector<std::string>& settings = {});
/// The same of a model that was made of `name` as a whole file of it would be read.
Model load_model(const Model& below, const std::string& name,
                 const std::vector<std::string>& settings);
/// A file, or a folder with a config.json, as it stands, or the name of a file in `directory`
/// without its ".toml". Throws InputError listing the names there are.
std::filesystem::path find_input(const std::string& name_or_path,
                                 const std::filesystem::path& directory);
/// Throws Refusal naming the values when the model cannot be divided over these groups, and what
/// would work instead (layout_way_out.h).
void check(const Model& model, const Groups& groups);

}  // namespace moe
